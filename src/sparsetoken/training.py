"""The training: two gradient steps find a query, a convex problem fits the readout."""

from __future__ import annotations

import dataclasses
import json

from sparsetoken.losses import Loss, get_loss
from sparsetoken.validation import LARGEST_LOAD, LARGEST_VALUE, read_json, real

__all__ = ["FourStageTraining", "Query"]


@dataclasses.dataclass(frozen=True)
class Query:
    """What the theory needs to know of a frozen query q.

    Parameters
    ----------
    cosine : float
        s = <q, xi> / |q|, in [-1, 1].
    sharpness : float
        k = beta |q| >= 0, the effective inverse temperature of the softmax.

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """

    cosine: float
    sharpness: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "cosine", real("cosine", self.cosine, -1.0, 1.0))
        object.__setattr__(self, "sharpness", real("sharpness", self.sharpness, 0.0))


@dataclasses.dataclass(frozen=True)
class FourStageTraining:
    """Two gradient steps on D0 give the query; a ridge fit on D1 gives the readout.

    From w = 0, b = 0, q = 0: a step on (w, b); a step on q; then, with q frozen, the
    minimum over (w, b) of ``(1/n1) sum_i l(y_i, <w, f_i> + b) + (ridge/2) |w|^2``.

    Parameters
    ----------
    alpha0 : float
        n0 / d in (0, 1e9], samples of D0 per dimension.
    eta_w, eta_b, eta_q : float
        Step sizes in [0, 1e6] of readout, bias and query.
    beta : float
        Inverse temperature of the softmax, in (0, 1e6].
    loss : Loss or str
        The loss of all stages, or its name: square, logistic, hinge, squared_hinge,
        or the name of a loss of your own (see `sparsetoken.losses.CustomLoss`).
    ridge : float
        lambda >= 0 of stage 4. The bias is not penalised. 0 stands for the limit
        lambda -> 0+: with data that can be fitted exactly, the shortest readout that does
        (least norm, or largest margin).

    Raises
    ------
    InvalidInput
        If a value is outside its range or the loss is unknown.
    """

    alpha0: float = 2.0
    eta_w: float = 0.5
    eta_b: float = 0.5
    eta_q: float = 1.0
    beta: float = 1.0
    loss: Loss = dataclasses.field(default_factory=lambda: get_loss("logistic"))
    ridge: float = 1e-2

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("alpha0", real("alpha0 (n0/d)", self.alpha0, 0.0, LARGEST_LOAD, open_low=True))
        for name in ("eta_w", "eta_b", "eta_q"):
            put(name, real(name, getattr(self, name), 0.0, LARGEST_VALUE))
        put("beta", real("beta", self.beta, 0.0, LARGEST_VALUE, open_low=True))
        put("loss", get_loss(self.loss))
        put("ridge", real("ridge (lambda)", self.ridge, 0.0))

    def to_json(self) -> str:
        """Return the training as one JSON object; `from_json` reads it back.

        The loss is written by name. A loss of one's own must exist (be constructed)
        before it can be read back.
        """
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return json.dumps({**fields, "loss": self.loss.name})

    @classmethod
    def from_json(cls, text: str) -> FourStageTraining:
        """Read a training that `to_json` wrote."""
        return cls(**read_json(cls, text))
