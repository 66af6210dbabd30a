"""What descents need to know about a task."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.concepts import ConceptProblem
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.task import Latent, Task, check_classes, check_task
from sparsetoken.model.tokens import TokenLaw

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = ["Problem", "TaskLaw", "law_for_loss", "law_of"]

Problem = SparseTokenProblem | ConceptProblem | Task


@dataclasses.dataclass(frozen=True)
class TaskLaw:
    """A task whose fields are numbers, by its latent variables and targets.

    Parameters
    ----------
    bags : ConceptProblem or Task
        A `SparseTokenProblem` is a `ConceptProblem` of one signal.
    directions : tuple of str
        Their names; "" is that of the only signal.
    outputs : int
        Scores of the network.
    tokens : TokenLaw
    metric : "error" or callable
        What the test error is the mean of; None stands for the loss.
    classes : bool
        Whether the targets of a `Task` must be classes.
    """

    bags: ConceptProblem | Task
    directions: tuple[str, ...]
    outputs: int
    tokens: TokenLaw
    metric: Any = "error"
    classes: bool = False

    @property
    def length(self) -> int:
        """Tokens in a bag."""
        return self.bags.length

    @property
    def rates(self) -> tuple[float, ...]:
        """Probabilities of the kinds of bags, of which theory follows equal numbers."""
        return (1.0,) if isinstance(self.bags, Task) else self.bags.rates

    @property
    def sees_noise(self) -> bool:
        """Whether targets depend on the noise along the directions."""
        return isinstance(self.bags, Task)

    @property
    def shuffled(self) -> bool:
        """Whether tokens stand in a random order, which `of_each_kind` leaves out."""
        return isinstance(self.bags, ConceptProblem)

    @property
    def uniforms(self) -> int:
        """How many uniform numbers make a bag; 0 where a generator does."""
        return self.bags.uniforms if isinstance(self.bags, Task) else 0

    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: Float[np.ndarray, "n k"] | None = None
    ) -> Latent:
        """Draw so many bags of each kind, one kind after the other."""
        if isinstance(self.bags, Task):
            return self.bags.latent(size, rng, u)
        return self.bags.of_each_kind(size)

    def sample(self, n: int, rng: np.random.Generator, shuffled: bool = True) -> Latent:
        """Draw n independent bags; the order of the tokens of a `Task` is part of them."""
        if isinstance(self.bags, Task):
            return self.bags.latent(n, rng)
        return self.bags.latent(n, rng, shuffled)

    def targets(self, latent: Latent, Z: Float[np.ndarray, "n L P"]) -> np.ndarray:
        """Return the targets of bags with projections Z on the directions."""
        return self._coded(self.bags.targets(latent, Z))

    def some_targets(self) -> np.ndarray:
        """Return targets at which a loss is tried."""
        if isinstance(self.bags, Task):
            return self._coded(check_task(self.bags))
        return self._coded(np.array(self.bags.labels))

    def _coded(self, y: np.ndarray) -> np.ndarray:
        """Return checked targets; two classes are -1 and 1, more are integers."""
        if isinstance(self.bags, ConceptProblem):
            return 2.0 * y - 1 if self.outputs == 1 else y
        if self.classes:
            check_classes(y, self.outputs)
        return y


def law_of(problem: Any) -> TaskLaw:
    """Return the law of a task whose fields are numbers, or raise `InvalidInput`."""
    if isinstance(problem, Task):
        fields = problem.directions, problem.outputs, problem.tokens, problem.metric
        law = TaskLaw(problem, *fields, problem.metric == "error")
        law.some_targets()  # tries the functions
        return law
    if isinstance(problem, ConceptProblem):
        names = problem.directions if len(problem.directions) > 1 else ("",)
        K = problem.classes
        return TaskLaw(problem, names, 1 if K == 2 else K, problem.tokens)
    if not isinstance(problem, SparseTokenProblem):
        legal = "a SparseTokenProblem, a ConceptProblem or a Task"
        remedy = "Write st.SparseTokenProblem(length=10), for example."
        raise InvalidInput("problem", legal, problem, remedy)
    pi, theta, R, L = problem.letters
    bags = ConceptProblem(L, [theta], [[R], [0]], [pi, 1 - pi], [1, 0])
    return TaskLaw(bags, ("",), 1, problem.tokens)


def law_for_loss(law: TaskLaw, loss: Any) -> TaskLaw:
    """Return the law of a task with a metric, and with classes where the loss asks for them.

    Raises
    ------
    InvalidInput
        If a built-in loss is not one of such targets.
    """
    _require_loss(law, loss)
    if not law.sees_noise:
        return law
    classes = law.classes or not getattr(loss, "real_labels", True)
    return dataclasses.replace(law, metric=law.metric or loss, classes=classes)


def _require_loss(law: TaskLaw, loss: Any) -> None:
    from sparsetoken.losses import Loss

    if not isinstance(loss, Loss):
        return
    y = law.some_targets()
    if law.outputs == 1 and (y.ndim > 1 or not (loss.real_labels or np.isin(y, (-1, 1)).all())):
        got = f"{loss.name}, with targets of another kind"
        remedy = (
            "Numbers of shape (n,) need loss='square'. The loss of a Descent may also be a "
            "function of (score, y)."
        )
        if y.ndim == 1 and np.isin(y, (0, 1)).all():
            remedy = "For two classes write 2 * y - 1 in place of y."
        raise InvalidInput("loss of targets that are not -1 or 1", "square", got, remedy)
    if law.outputs > 1 and loss.name != "logistic":
        remedy = (
            "Logistic is then cross-entropy. The loss of a Descent may also be a function of the K "
            "scores and the class."
        )
        raise InvalidInput("loss of K > 2 classes", "logistic", loss.name, remedy)
