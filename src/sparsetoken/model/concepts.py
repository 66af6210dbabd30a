"""A task with several signals and kinds of bags."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.parameters import Range, parameter, value
from sparsetoken.base.validation import (
    LARGEST_VALUE,
    InvalidInput,
    holds_truth_values,
    integer,
    real,
)
from sparsetoken.model.base import Latent, Problem
from sparsetoken.model.tokens import Isotropic

if TYPE_CHECKING:
    from jaxtyping import Int

__all__ = ["ConceptProblem"]

_ROUNDING = 1e-9


def _numbers(name: str, low: float, high: float, *, open_low: bool = False) -> Any:
    def checked(given: Any) -> tuple[float, ...]:
        entries = _entries(name, given)
        return tuple(real(f"entry of {name}", x, low, high, open_low=open_low) for x in entries)

    return checked


def _entries(name: str, given: Any) -> list[Any]:
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.ndim != 1 or not array.size or holds_truth_values(given):
        raise InvalidInput(name, "a sequence of numbers", given)
    entries: list[Any] = array.tolist()
    return entries


def _patterns(given: Any) -> tuple[tuple[int, ...], ...]:
    try:
        rows = [_entries("patterns", row) for row in given]
    except TypeError:
        rows = []
    if not rows:
        legal = "a sequence of one row for each kind of bag"
        raise InvalidInput("patterns", legal, given, "Write [[0, 0], [1, 1]], for example.")
    return tuple(tuple(integer("entry of patterns", x, 0) for x in row) for row in rows)


def _rates(given: Any) -> tuple[float, ...]:
    rates = _numbers("rates", 0.0, 1.0, open_low=True)(given)
    total = math.fsum(rates)
    if abs(total - 1) > _ROUNDING:
        raise InvalidInput("rates", "probabilities that add up to 1", f"a sum of {total:g}")
    return tuple(rate / total for rate in rates)


def _labels(given: Any) -> tuple[int, ...]:
    return tuple(integer("entry of labels", x, 0) for x in _entries("labels", given))


@value
class ConceptProblem(Problem):
    """A task with several signals, and kinds of bags that contain some of them.

    ``X_l = sum_p theta_p s_lp xi_p + z_l`` with orthonormal signals xi_p and z_l ~ N(0, I). A bag
    of kind k holds signal p in ``patterns[k][p]`` tokens, no token holds two, and their places are
    uniform. Kinds of one label are one class.

    See Also
    --------
    sparsetoken.SparseTokenProblem : The task with one signal.
    sparsetoken.Descent : Descent on all weights of any network.

    Examples
    --------
    Two signals that must meet: the bag is positive if it holds both.

    >>> import sparsetoken as st
    >>> both = st.model.ConceptProblem(
    ...     length=5,
    ...     strengths=[5.5, 3.5],
    ...     patterns=[[1, 1], [0, 0], [1, 0], [0, 1]],
    ...     rates=[0.4, 0.2, 0.2, 0.2],
    ...     labels=[1, 0, 0, 0],
    ... )
    >>> both.classes
    2
    """

    length: int = parameter("tokens in a bag", "L", whole=True, range=Range(least=1))
    strengths: Any = parameter(
        "strength of each signal",
        r"\theta",
        find=_numbers("strengths", 0.0, LARGEST_VALUE),
        kind="sequence of floats",
    )
    patterns: Any = parameter(
        "how many tokens hold each signal, a row for each kind of bag",
        find=_patterns,
        kind="sequence of rows of integers",
    )
    rates: Any = parameter(
        "probability of each kind; they add up to 1",
        r"\pi",
        find=_rates,
        kind="sequence of floats",
    )
    labels: Any = parameter(
        "class of each kind, from 0 to K - 1. As targets two classes are -1 and 1",
        find=_labels,
        kind="sequence of integers",
    )

    tokens = Isotropic()
    shuffled = True

    def _check_together(self) -> None:
        signals, kinds = len(self.strengths), len(self.patterns)
        for row in self.patterns:
            if len(row) != signals:
                legal = f"rows of {signals} numbers, one for each of the strengths"
                raise InvalidInput("patterns", legal, row)
            if sum(row) > self.length:
                remedy = "No token holds two signals."
                raise InvalidInput("sum of a row of patterns", f"<= {self.length}", row, remedy)
        for name in ("rates", "labels"):
            given = getattr(self, name)
            if len(given) != kinds:
                legal = f"a sequence of {kinds} numbers, one for each row of patterns"
                raise InvalidInput(name, legal, given)
        if set(self.labels) != set(range(max(self.labels) + 1)) or self.classes < 2:
            legal = "classes 0, 1, ... of which each occurs, two or more"
            raise InvalidInput("labels", legal, self.labels)

    @property
    def classes(self) -> int:
        """The number of classes, K."""
        return max(self.labels) + 1

    @property
    def outputs(self) -> int:  # type: ignore[override]
        """The scores of a network: one for two classes, else one for each."""
        return 1 if self.classes == 2 else self.classes

    @property
    def directions(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the signals, which are their numbers; "" is that of the only one."""
        P = len(self.strengths)
        return tuple(str(p + 1) for p in range(P)) if P > 1 else ("",)

    def latent(self, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw the latent variables of n bags, one of which is their target ``y``."""
        kinds = rng.choice(len(self.rates), size=n, p=self.rates)
        held = self._held(kinds)
        order = np.argsort(rng.random(held.shape), axis=1)
        return self._latent(kinds, np.take_along_axis(held, order, axis=1))

    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """Return so many bags of each kind, one kind after the other.

        Their first tokens hold the first signal, then the second, and so on.
        """
        kinds = np.repeat(np.arange(len(self.rates)), size)
        return self._latent(kinds, self._held(kinds))

    def _held(self, kinds: Int[np.ndarray, " n"]) -> Int[np.ndarray, "n L"]:
        """Return the signal that each token holds, -1 for none; signals come first."""
        held = np.full((len(self.patterns), self.length), -1)
        for row, counts in zip(held, self.patterns, strict=True):
            row[: sum(counts)] = np.repeat(np.arange(len(counts)), counts)
        return held[kinds]

    def _latent(
        self, kinds: Int[np.ndarray, " n"], held: Int[np.ndarray, "n L"]
    ) -> dict[str, np.ndarray]:
        of_signal = np.diag((*self.strengths, 0.0))[:, :-1]  # the last one of no signal, -1
        y = self.some_targets()[kinds]
        return {"coefficients": of_signal[held], "informative": held >= 0, "y": y}

    def targets(self, latent: Latent, Z: np.ndarray) -> np.ndarray:
        """Return the targets, which depend on no projection."""
        return latent["y"]

    def some_targets(self) -> np.ndarray:
        """Return the target of each kind: its class, of two classes -1 and 1."""
        y = np.array(self.labels)
        return 2.0 * y - 1 if self.classes == 2 else y
