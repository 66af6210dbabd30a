"""What theory and simulation return: one Status, one Outcome."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, NamedTuple

from sparsetoken.results.display import flat, frame, html
from sparsetoken.stages import Query


class StatusCode(enum.StrEnum):
    """How a computation ended."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "max_iterations"
    TOLERANCE_NOT_REACHED = "tolerance_not_reached"
    NO_LIMIT = "no_limit"
    DISAGREES = "disagrees"  # with what was measured


class Status(NamedTuple):
    """How a computation ended and, if it fell short, what to try."""

    code: StatusCode
    remedy: str = ""

    @property
    def converged(self) -> bool:
        """Whether the result can be used."""
        return self.code is StatusCode.CONVERGED

    def __str__(self) -> str:
        return f"{self.code}: {self.remedy}" if self.remedy else str(self.code)


@dataclasses.dataclass(frozen=True)
class Result:
    """What every result offers: its numbers by name, as a dict and as a table."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and the status by column, such as bias or test_error."""
        return flat(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of one row."""
        return frame([self.to_dict()])

    def _repr_html_(self) -> str:
        return html([self.to_dict()], getattr(self, "advice", ()))


@dataclasses.dataclass(frozen=True)
class Alignment(Result):
    """The query after two gradient steps.

    Attributes
    ----------
    cosine : float
        s_q = <q2, xi> / |q2|; 0 if q2 = 0.
    overlap : float
        <q2, xi>.
    norm : float
        |q2|.
    sharpness : float
        k = beta |q2|.
    readout_cosine : float
        <w1, xi> / |w1|, of the readout after its first step; 0 if w1 = 0.
    rate : float
        C in |s_q| = 1 - C/alpha0 + o(1/alpha0); nan where the query does not align.
    status : Status
    advice : tuple of str
        What to know of the query, with a remedy.
    """

    cosine: float
    overlap: float
    norm: float
    sharpness: float
    readout_cosine: float
    rate: float
    status: Status
    advice: tuple[str, ...] = ()

    @property
    def query(self) -> Query:
        """The query as (cosine, sharpness)."""
        return Query(max(-1.0, min(1.0, self.cosine)), self.sharpness)


@dataclasses.dataclass(frozen=True)
class Overlaps:
    """A trained readout (w, b) in the frame of query and signal.

    Attributes
    ----------
    query : float
        w_1 = <w, q/|q|>; 0 for models without a query.
    orthogonal : float
        w_2 = <w, e_2>, e_2 the part of xi orthogonal to q, normalised.
        For models without a query, e_2 = xi. For ``vectorized`` it is
        <W, 1 xi^T> / sqrt(L).
    noise : float
        nu, the length of the rest of w.
    bias : float
        b.
    """

    query: float
    orthogonal: float
    noise: float
    bias: float


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one trained classifier is worth.

    The common ground of theory and simulation. Simulations use the same class for
    one trial, for means over trials and for their standard errors.

    Attributes
    ----------
    test_error : float
        P(y sign(score) < 0) on new data.
    training_loss : float
        Mean loss over D1, without the ridge term.
    training_error : float
        Share of D1 on the wrong side.
    auc : float
        Area under the ROC curve on new data.
    overlaps : Overlaps
    """

    test_error: float
    training_loss: float
    training_error: float
    auc: float
    overlaps: Overlaps


@dataclasses.dataclass(frozen=True)
class Prediction(Outcome, Result):
    """An outcome predicted by theory.

    Attributes
    ----------
    susceptibility : float
        chi, by which the score of a training sample answers a pull: its step is chi C^2.
        It is 0 at infinite alpha1 and, at ridge 0, infinite up to the interpolation
        threshold.
    numerical_error : float
        Standard error of `test_error` from independent scrambles of the nodes.
    residual : float
        Length of the last Newton step, relative to the unknowns.
    iterations : int
        Newton steps in all.
    status : Status
    query : Query or None
        The query that the model worked with.
    advice : tuple of str
        What to know of that query, with a remedy: that it turns away from the signal, is so
        blunt that attention is pooling, or loses to pooling; and of the ridge, where the limit
        holds only at dimensions far above 1000.
    """

    susceptibility: float
    numerical_error: float
    residual: float
    iterations: int
    status: Status
    query: Query | None = None
    advice: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Capacity(Result):
    """The number of samples per dimension below which D1 is linearly separable.

    Attributes
    ----------
    capacity : float
        alpha* = n1 / d.
    numerical_error : float
        Standard error of the capacity from independent scrambles of the nodes.
    residual : float
        Length of the last Newton step, relative to the unknowns.
    iterations : int
        Newton steps in all.
    status : Status
    advice : tuple of str
        What to know of the query that the training finds, with a remedy.
    """

    capacity: float
    numerical_error: float
    residual: float
    iterations: int
    status: Status
    advice: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Simulation(Result):
    """Trials of one finite-dimensional experiment.

    Attributes
    ----------
    trials : tuple of Outcome
        One for each trial, in order.
    queries : tuple of Query or None
        The query that each trial worked with; None for models without one.
    readout_cosines : tuple of float
        <w1, xi> / |w1| of each trial.
    mean, standard_error : Outcome
        Over trials; standard errors are nan for a single trial.
    status : Status
    """

    trials: tuple[Outcome, ...]
    queries: tuple[Query | None, ...]
    readout_cosines: tuple[float, ...]
    mean: Outcome
    standard_error: Outcome
    status: Status

    def to_dict(self) -> dict[str, Any]:
        """Return means by column, their standard errors as NAME_error, and the status."""
        means, errors = flat(self.mean), flat(self.standard_error)
        deviations = {f"{name}_error": value for name, value in errors.items()}
        return {
            **means,
            **deviations,
            "status": str(self.status.code),
            "message": self.status.remedy,
        }
