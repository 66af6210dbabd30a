"""What descents need to know about a task."""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.concepts import ConceptProblem, holders, sample_places
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.task import Latent, Task, check_classes, check_task
from sparsetoken.model.tokens import Isotropic, TokenLaw

if TYPE_CHECKING:
    from jaxtyping import Float, Int

__all__ = ["KindsLaw", "Problem", "TaskLaw", "law_of"]

Problem = SparseTokenProblem | ConceptProblem | Task


@dataclasses.dataclass(frozen=True)
class TaskLaw(abc.ABC):
    """A task whose fields are numbers, by its latent variables and targets.

    Latent variables have the ``coefficients`` of the directions in the tokens, and where they
    matter the ``scale`` of their noise and which tokens are ``located``, as those of a `Task`.

    Parameters
    ----------
    length : int
    directions : tuple of str
        Their names; "" is that of the only signal.
    rates : tuple of float
        Probabilities of the kinds of bags, of which theory follows equal numbers.
    outputs : int
        Scores of the network.
    tokens : TokenLaw
    metric : "error" or callable
        What the test error is the mean of; None stands for the loss.
    """

    length: int
    directions: tuple[str, ...]
    rates: tuple[float, ...]
    outputs: int
    tokens: TokenLaw
    metric: Any = "error"

    sees_noise: ClassVar[bool]
    """Whether targets depend on the noise along the directions."""

    shuffled: ClassVar[bool]
    """Whether the tokens of a bag stand in a random order, which `of_each_kind` leaves out."""

    @property
    def uniforms(self) -> int:
        """How many uniform numbers make a bag; 0 where a generator does."""
        return 0

    @abc.abstractmethod
    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: Float[np.ndarray, "n k"] | None = None
    ) -> Latent:
        """Draw so many bags of each kind, one kind after the other."""

    @abc.abstractmethod
    def sample(self, n: int, rng: np.random.Generator, shuffled: bool = True) -> Latent:
        """Draw n independent bags."""

    @abc.abstractmethod
    def targets(self, latent: Latent, Z: Float[np.ndarray, "n L P"]) -> np.ndarray:
        """Return the targets of bags with projections Z on the directions; classes are integers."""

    @abc.abstractmethod
    def some_targets(self) -> np.ndarray:
        """Return targets at which a loss is tried."""


@dataclasses.dataclass(frozen=True)
class KindsLaw(TaskLaw):
    """Kinds of bags that hold known numbers of the signals; the target is that of the kind."""

    strengths: tuple[float, ...] = ()
    patterns: tuple[tuple[int, ...], ...] = ()
    labels: tuple[int, ...] = ()

    sees_noise, shuffled = False, True

    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: np.ndarray | None = None
    ) -> Latent:
        """Return bags with their signals in the first tokens."""
        kinds = np.repeat(np.arange(len(self.rates)), size)
        return self._latent(kinds, holders(self.length, self.patterns)[kinds])

    def sample(self, n: int, rng: np.random.Generator, shuffled: bool = True) -> Latent:
        """Draw the kinds of bags, and the places of their signals."""
        return self._latent(
            *sample_places(self.length, self.patterns, self.rates, n, rng, shuffled)
        )

    def _latent(self, kinds: Int[np.ndarray, " n"], held: Int[np.ndarray, "n L"]) -> Latent:
        P = len(self.strengths)
        of_signal = np.diag((*self.strengths, 0.0))[:, :P]  # the last one of no signal, -1
        y = self.some_targets()[kinds]
        return {"coefficients": of_signal[held], "located": held >= 0, "y": y}

    def targets(self, latent: Latent, Z: np.ndarray) -> np.ndarray:
        """Return the targets of the kinds."""
        return latent["y"]

    def some_targets(self) -> np.ndarray:
        """Return the target of each kind: -1 or 1 of two classes, else the class."""
        labels = np.array(self.labels)
        return 2.0 * labels - 1 if self.outputs == 1 else labels


@dataclasses.dataclass(frozen=True)
class OwnLaw(TaskLaw):
    """The functions of a `Task`."""

    task: Any = None  # a Task; fields of the base have defaults
    classes: bool = False

    sees_noise, shuffled = True, False

    @property
    def uniforms(self) -> int:
        """How many uniform numbers make a bag."""
        return int(self.task.uniforms)

    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: np.ndarray | None = None
    ) -> Latent:
        """Draw bags, of one kind."""
        return self.task.latent(size, rng, u)

    def sample(self, n: int, rng: np.random.Generator, shuffled: bool = True) -> Latent:
        """Draw bags, whose order is part of them."""
        return self.task.latent(n, rng)

    def targets(self, latent: Latent, Z: np.ndarray) -> np.ndarray:
        """Return what the user's function returns, classes where they must be."""
        y: np.ndarray = self.task.targets(latent, Z)
        if self.classes:
            check_classes(y, self.outputs)
        return y

    def some_targets(self) -> np.ndarray:
        """Return the targets of the bags at which the task was tried."""
        y = check_task(self.task)
        if self.classes:
            check_classes(y, self.outputs)
        return y


def law_of(problem: Any) -> TaskLaw:
    """Return the law of a task whose fields are numbers, or raise `InvalidInput`."""
    if isinstance(problem, Task):
        law = OwnLaw(
            problem.length,
            problem.directions,
            (1.0,),
            problem.outputs,
            problem.tokens,
            problem.metric,
            problem,
            problem.metric == "error",
        )
        law.some_targets()  # tries the functions
        return law
    if isinstance(problem, ConceptProblem):
        names = tuple(str(p + 1) for p in range(len(problem.strengths)))
        return KindsLaw(
            problem.length,
            names if len(names) > 1 else ("",),
            problem.rates,
            1 if problem.classes == 2 else problem.classes,
            Isotropic(),
            strengths=problem.strengths,
            patterns=problem.patterns,
            labels=problem.labels,
        )
    if not isinstance(problem, SparseTokenProblem):
        legal = "a SparseTokenProblem, a ConceptProblem or a Task"
        remedy = "Write st.SparseTokenProblem(length=10), for example."
        raise InvalidInput("problem", legal, problem, remedy)
    pi, theta, R, L = problem.letters
    return KindsLaw(
        L,
        ("",),
        (pi, 1 - pi),
        1,
        problem.tokens,
        strengths=(theta,),
        patterns=((R,), (0,)),
        labels=(1, 0),
    )
