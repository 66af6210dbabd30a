"""Trained weights from which another training starts, perhaps on another task."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsetoken.base.validation import InvalidInput, reals
from sparsetoken.model.base import Latent, Problem

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = [
    "Course",
    "Previous",
    "WithPrevious",
    "course_of",
    "places",
    "previous_of",
    "signal_cosines",
]

_ROUNDING = 1e-9  # of eigenvalues that are at least 0


class Course(NamedTuple):
    """The end of a training, with all that led to it.

    Attributes
    ----------
    problem : Problem
    trained : Descent, OnePass or Minimum
    position : float, optional
        Of the weights along the trajectory: a step or a time.
    columns, weights : tuple of str
        Names of the columns of U and of the further weights.
    overlaps, gram, c : nested tuples
        U^T xi_p of shape (m, P), U^T U, and the further weights.
    status : str
        How their computation ended.
    """

    problem: Problem
    trained: Any
    position: float | None
    columns: tuple[str, ...]
    weights: tuple[str, ...]
    overlaps: tuple[tuple[float, ...], ...]
    gram: tuple[tuple[float, ...], ...]
    c: tuple[float, ...]
    status: str

    def __repr__(self) -> str:
        return f"<weights after {type(self.trained).__name__} on {type(self.problem).__name__}>"


def course_of(given: Any) -> Course:
    """Return the weights of a trajectory after its last step, or of a minimum.

    Raises
    ------
    InvalidInput
        If it is another result, there are several points, or weights are no numbers.
    """
    if getattr(given, "origin", None) is None:
        legal = "norms of columns, or what st.descend or st.minimize has found"
        raise InvalidInput("start", legal, type(given).__name__)
    along = [dim for dim in given.dims if dim in ("step", "time")]
    if [*given.dims] != along:
        raise InvalidInput("start", "of one point", given.dims, "Take one, as trajectory[0].")
    given = given.isel(**dict.fromkeys(along, -1))
    at, (problem, trained) = given.weights, given.origin
    if not np.isfinite(at.gram).all():
        remedy = "Take an earlier step, as trajectory.isel(step=3), or lower its rates."
        raise InvalidInput("weights of the start", "numbers", "nan, as it diverged", remedy)
    position = next(
        (float(given.coords[name]) for name in ("step", "time") if name in given.coords), None
    )
    overlaps, gram = (tuple(map(tuple, x.tolist())) for x in (at.overlaps, at.gram))
    names, c = (at.names, at.weight_names), tuple(at.c.tolist())
    return Course(problem, trained, position, *names, overlaps, gram, c, str(given.status))


def places(trained: tuple[str, ...], names: tuple[str, ...]) -> list[int]:
    """Return where trained columns or weights are among others, -1 for what is not.

    A name without a number is that of the first one, as of a single head among several.
    """
    known = [name if name in names else f"{name}1" for name in trained]
    return [names.index(name) if name in names else -1 for name in known]


def signal_cosines(given: Any) -> tuple[tuple[float, ...], ...] | None:
    """Return cosines of the signals of a task with those of another, as rows."""
    if given is None:
        return None
    cosines = np.asarray(reals("signal_cosines", given, -1.0, 1.0), dtype=float)
    if cosines.ndim not in (0, 2):
        legal = "a number, or a matrix: signals of this task x signals of the one before"
        raise InvalidInput("signal_cosines", legal, given)
    return tuple(map(tuple, np.atleast_2d(cosines).tolist()))


class Previous(NamedTuple):
    """The task before, as the signals of another one see it.

    Its signals are xi = cosines^T xi' + beside eta, with the signals xi' of the other task and as
    many orthonormal directions eta beside them.
    """

    task: Problem
    cosines: Float[np.ndarray, "P' P"]
    beside: Float[np.ndarray, "P P"]

    def overlaps(self, overlaps: Float[np.ndarray, "... m P'+P"]) -> Float[np.ndarray, "... m P"]:
        """Return overlaps with its signals, of overlaps with the other signals and eta."""
        own = len(self.cosines)
        return overlaps[..., :own] @ self.cosines + overlaps[..., own:] @ self.beside


def previous_of(task: Problem, course: Course, given: Any) -> Previous:
    """Return the task of a course, as the signals of another task see it.

    Raises
    ------
    InvalidInput
        If cosines are missing, have another shape or belong to no directions, or tokens are not
        isotropic.
    """
    before, P = course.problem, (len(task.directions), len(course.problem.directions))
    for one in (before, task):
        if one.tokens.dimension is not None:
            legal = "isotropic where a start was trained"
            raise InvalidInput("tokens", legal, one.tokens)
    if given is None or np.shape(given) != P:
        legal = f"a matrix of shape {P}: signals of this task x signals of the one before"
        legal = "a number, the cosine of both signals" if P == (1, 1) else legal
        raise InvalidInput("signal_cosines", legal, given)
    cosines = np.array(given)
    values, vectors = np.linalg.eigh(np.eye(P[1]) - cosines.T @ cosines)
    if values[0] < -_ROUNDING:
        legal = "cosines that orthonormal signals can have: no singular value above 1"
        raise InvalidInput("signal_cosines", legal, cosines.tolist())
    beside = (vectors * np.sqrt(np.where(values > _ROUNDING, values, 0.0))) @ vectors.T
    return Previous(before.for_loss(course.trained.loss), cosines, beside)


@dataclasses.dataclass(frozen=True)
class WithPrevious(Problem):
    """A task with further directions, on which no token and no target depends."""

    task: Problem
    more: int

    def __post_init__(self) -> None:
        # A frozen value has fields of its own alone; these are those of the task.
        for name in ("length", "tokens", "outputs", "metric", "rates", "sees_noise", "shuffled"):
            object.__setattr__(self, name, getattr(self.task, name))
        object.__setattr__(self, "uniforms", self.task.uniforms)
        further = tuple(f"previous{p}" for p in range(self.more))
        object.__setattr__(self, "directions", (*self.task.directions, *further))

    def _padded(self, latent: Latent) -> Latent:
        s = latent["coefficients"]
        none = np.zeros((*s.shape[:2], self.more))
        return {**latent, "coefficients": np.concatenate([s, none], axis=2)}

    def latent(self, n: int, rng: np.random.Generator) -> Latent:
        """Draw the latent variables of n bags."""
        return self._padded(self.task.latent(n, rng))

    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: Float[np.ndarray, "n k"] | None = None
    ) -> Latent:
        """Draw so many bags of each kind, one kind after the other."""
        return self._padded(self.task.of_each_kind(size, rng, u))

    def targets(self, latent: Latent, Z: Float[np.ndarray, "n L P"]) -> np.ndarray:
        """Return the targets of the task."""
        own = Z[..., : len(self.task.directions)] if Z.ndim == 3 else Z
        return self.task.targets(latent, own)

    def some_targets(self) -> np.ndarray:
        """Return targets at which a loss is tried."""
        return self.task.some_targets()
