"""A task with several signals and kinds of bags."""

from __future__ import annotations

import dataclasses
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
from sparsetoken.model.task_law import Bags, Latent, TaskLaw
from sparsetoken.model.tokens import Isotropic, TokenLaw

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


def _labels(given: Any) -> tuple[int, ...]:
    return tuple(integer("entry of labels", x, 0) for x in _entries("labels", given))


@value
class ConceptProblem(Bags):
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
        find=_numbers("rates", 0.0, 1.0, open_low=True),
        kind="sequence of floats",
    )
    labels: Any = parameter(
        "class of each kind, from 0 to K - 1",
        find=_labels,
        kind="sequence of integers",
    )

    tokens = Isotropic()

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
        if abs(sum(self.rates) - 1) > _ROUNDING:
            raise InvalidInput(
                "rates", "probabilities that add up to 1", f"a sum of {sum(self.rates):g}"
            )
        if set(self.labels) != set(range(max(self.labels) + 1)) or self.classes < 2:
            legal = "classes 0, 1, ... of which each occurs, two or more"
            raise InvalidInput("labels", legal, self.labels)

    @property
    def classes(self) -> int:
        """The number of classes, K."""
        return max(self.labels) + 1

    @property
    def directions(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the signals, which are their numbers."""
        return tuple(str(p + 1) for p in range(len(self.strengths)))

    def law(self) -> TaskLaw:
        """Return what descents need to know about the task."""
        return LawOfConcepts(self, self.tokens)

    def latent(
        self, n: int, rng: np.random.Generator, shuffled: bool = True
    ) -> dict[str, np.ndarray]:
        """Draw the latent variables of n bags, one of which is their class ``y``.

        Tokens that are not shuffled hold the first signal, then the second, and so on.
        """
        kinds = rng.choice(len(self.rates), size=n, p=np.array(self.rates) / sum(self.rates))
        held = self._held(kinds)
        if shuffled:
            order = np.argsort(rng.random(held.shape), axis=1)
            held = np.take_along_axis(held, order, axis=1)
        return self._latent(kinds, held)

    def of_each_kind(self, size: int) -> dict[str, np.ndarray]:
        """Return so many bags of each kind, one kind after the other, signals first."""
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
        y = np.array(self.labels)[kinds]
        return {"coefficients": of_signal[held], "located": held >= 0, "y": y}

    def targets(self, latent: Latent, Z: np.ndarray) -> np.ndarray:
        """Return the classes, which depend on no projection."""
        return latent["y"]


@dataclasses.dataclass(frozen=True)
class LawOfConcepts(TaskLaw):
    """The law of bags of some kinds, among tokens of a law."""

    bags: ConceptProblem
    tokens: TokenLaw

    metric = "error"
    shuffled = True

    @property
    def length(self) -> int:  # type: ignore[override]
        return self.bags.length

    @property
    def directions(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.bags.directions if len(self.bags.directions) > 1 else ("",)

    @property
    def outputs(self) -> int:  # type: ignore[override]
        K = self.bags.classes
        return 1 if K == 2 else K

    @property
    def rates(self) -> tuple[float, ...]:  # type: ignore[override]
        rates: tuple[float, ...] = self.bags.rates
        return rates

    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: np.ndarray | None = None
    ) -> Latent:
        return self.bags.of_each_kind(size)

    def sample(self, n: int, rng: np.random.Generator, shuffled: bool = True) -> Latent:
        return self.bags.latent(n, rng, shuffled)

    def targets(self, latent: Latent, Z: np.ndarray) -> np.ndarray:
        return self._coded(self.bags.targets(latent, Z))

    def some_targets(self) -> np.ndarray:
        return self._coded(np.array(self.bags.labels))

    def _coded(self, y: np.ndarray) -> np.ndarray:
        return 2.0 * y - 1 if self.outputs == 1 else y
