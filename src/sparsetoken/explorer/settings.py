"""What can be moved on the page: the parameters, their ranges, and the values they describe."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparsetoken.validation import InvalidInput, choice, integer, real

if TYPE_CHECKING:
    from sparsetoken.models import Model
    from sparsetoken.problem import SparseTokenProblem
    from sparsetoken.stages import JointDescent, Query, Readout, TwoSteps
    from sparsetoken.tokens import TokenLaw

DIMENSION = 100
"""Of tokens with a covariance, which have a size of their own."""
LOSSES = ("logistic", "square", "hinge", "squared_hinge")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One control of the page.

    Parameters
    ----------
    name, label, symbol : str
    default : number or str
    low, high : float
        Legal values are in [low, high].
    group : str
        The part of the form.
    log : bool
        Whether the slider is logarithmic.
    whole : bool
        Whether values are integers.
    choices : tuple of str
        The words of a parameter that is no number.
    help : str
        A sentence on what it does.
    """

    name: str
    label: str
    symbol: str
    default: float | str
    low: float = 0.0
    high: float = 0.0
    group: str = "Task"
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()
    help: str = ""

    def checked(self, value: Any) -> Any:
        """Return a legal value, or raise `InvalidInput`."""
        if self.choices:
            return choice(self.name, value, self.choices)
        if self.whole:
            return integer(self.name, value, int(self.low), int(self.high))
        return real(self.name, value, self.low, self.high)


_QUERY, _READOUT, _TOKENS, _DESCENT = "Query", "Readout", "Tokens", "Descent on all weights"
PARAMETERS: tuple[Parameter, ...] = (
    Parameter("length", "tokens in a bag", "L", 10, 2, 100, whole=True, log=True,
            help="More tokens hide the informative ones better."),
    Parameter("informative", "informative tokens", "R", 1, 1, 20, whole=True,
            help="How many tokens of a positive bag carry the signal."),
    Parameter("strength", "signal strength", "θ", 5.0, 0, 12,
            help="Length of the signal; noise has the standard deviation 1 in each direction."),
    Parameter("positive_rate", "rate of positives", "π", 0.5, 0.02, 0.98,
            help="Chance that a bag is positive."),
    Parameter("alpha1", "labels for the readout", "n₁/d", 2.0, 0.25, 10, group=_READOUT, log=True,
            help="Labelled bags per dimension; the mark in the learning curves."),
    Parameter("loss", "loss", "ℓ", "logistic", group=_READOUT, choices=LOSSES,
              help="Of the query's steps and of the readout."),
    Parameter("ridge", "ridge", "λ", 1e-2, 1e-5, 10, group=_READOUT, log=True,
            help="Penalty of the readout."),
    Parameter("query", "where the query comes from", "", "two_steps", group=_QUERY,
              choices=("two_steps", "given"),
              help="Found by two gradient steps on other data, or given."),
    Parameter("alpha0", "labels for the query", "n₀/d", 1.0, 0.05, 100, group=_QUERY, log=True,
            help="Labelled bags per dimension that the two steps see."),
    Parameter("eta_w", "step of the readout", "η_w", 0.5, 0, 10, group=_QUERY),
    Parameter("eta_b", "step of the bias", "η_b", 0.5, 0, 30, group=_QUERY),
    Parameter("eta_q", "step of the query", "η_q", 25.0, 0, 100, group=_QUERY),
    Parameter("beta", "inverse temperature", "β", 1.0, 0.05, 10, group=_QUERY, log=True),
    Parameter("cosine", "cosine of query and signal", "s", 0.9, -1, 1, group=_QUERY),
    Parameter("sharpness", "sharpness of the softmax", "k", 1.0, 0, 10, group=_QUERY),
    Parameter("spectrum", "decay of the spectrum", "a", 0.0, 0, 1, group=_TOKENS,
            help="Eigenvalue j of the tokens' covariance is proportional to j^-a; d = 100."),
    Parameter("bag_effect", "effect shared by a bag", "c", 0.0, 0, 4, group=_TOKENS,
            help="Variance that all tokens of a bag share, relative to that within a bag."),
    Parameter("descent_steps", "steps", "T", 12, 1, 30, whole=True, group=_DESCENT),
    Parameter("descent_eta_w", "step of the readout", "η_w", 1.0, 0, 10, group=_DESCENT),
    Parameter("descent_eta_q", "step of the query", "η_q", 4.0, 0, 30, group=_DESCENT),
)  # fmt: skip
_BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


class Settings:
    """Values of all parameters.

    Parameters
    ----------
    values : mapping of str to number or str
        By the name of the parameter; those left out have their defaults.

    Raises
    ------
    InvalidInput
        If a name is unknown, a value is outside its range, or R > L.

    Examples
    --------
    >>> from sparsetoken.explorer import Settings
    >>> Settings({"strength": 3.0}).problem().strength
    3.0
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        for name in values:
            choice("name of a parameter", name, _BY_NAME)
        self.values: dict[str, Any] = {
            name: parameter.checked(values.get(name, parameter.default))
            for name, parameter in _BY_NAME.items()
        }
        if self["informative"] > self["length"]:
            legal = f"at most L = {self['length']}"
            raise InvalidInput("informative (R)", legal, self["informative"])

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def replace(self, **changes: Any) -> Settings:
        """Return settings with other values of some parameters."""
        return Settings({**self.values, **changes})

    @property
    def isotropic(self) -> bool:
        """Whether the noise of the tokens is the same in all directions."""
        return self["spectrum"] == 0 and self["bag_effect"] == 0

    def problem(self) -> SparseTokenProblem:
        """Return the problem."""
        from sparsetoken.problem import SparseTokenProblem

        return SparseTokenProblem(
            length=self["length"],
            informative=self["informative"],
            strength=self["strength"],
            positive_rate=self["positive_rate"],
            tokens=_tokens(self["spectrum"], self["bag_effect"]),
        )

    def query(self) -> Query | TwoSteps:
        """Return the query that is given, or the steps that find it."""
        from sparsetoken.stages import Query

        if self["query"] == "given":
            return Query(self["cosine"], self["sharpness"])
        return self.steps(self["alpha0"])

    def steps(self, alpha0: float) -> TwoSteps:
        """Return the two steps on so many samples per dimension."""
        from sparsetoken.stages import TwoSteps

        sizes = (self[name] for name in ("eta_w", "eta_b", "eta_q", "beta", "loss"))
        return TwoSteps(alpha0, *sizes)

    def model(self, name: str) -> Model:
        """Return the model of this name with its query."""
        from sparsetoken.models import make_model

        return make_model(name, self.query())

    def readout(self, alpha1: float) -> Readout:
        """Return the readout on so many samples per dimension."""
        from sparsetoken.stages import Readout

        return Readout(self["loss"], self["ridge"], alpha1)

    def descent(self) -> JointDescent:
        """Return the descent on all weights, on n1/d samples per dimension."""
        from sparsetoken.stages import JointDescent

        return JointDescent(
            alpha=self["alpha1"],
            steps=self["descent_steps"],
            eta_w=self["descent_eta_w"],
            eta_q=self["descent_eta_q"],
            beta=self["beta"],
            loss=self["loss"],
        )


@functools.lru_cache(maxsize=16)
def _tokens(spectrum: float, bag_effect: float) -> TokenLaw:
    """Return the law of the tokens: eigenvalues j^-a of mean 1, shared by a bag c times."""
    import numpy as np

    from sparsetoken.tokens import Isotropic, TokenCovariance

    if spectrum == 0 and bag_effect == 0:
        return Isotropic()
    within = np.arange(1, DIMENSION + 1) ** -spectrum
    within /= within.mean()
    between = bag_effect * within if bag_effect > 0 else None
    signal = np.full(DIMENSION, DIMENSION**-0.5)
    return TokenCovariance(within, between, signal=signal)
