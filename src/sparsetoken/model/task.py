"""A task of one's own: any target that depends on tokens through a few directions."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.parameters import Range, parameter, value, version_of_functions
from sparsetoken.base.validation import InvalidInput, integer, one_line, require_hashable
from sparsetoken.losses import Loss
from sparsetoken.model.base import Latent, Problem
from sparsetoken.model.tokens import Isotropic, TokenDistribution, check_signals, token_distribution

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = ["Task"]

MOST_DIRECTIONS = 64
_BAGS = 1024  # drawn to try the functions of a task


def _function(name: str, arguments: str) -> Callable[[Any], Any]:
    def checked(given: Any) -> Any:
        if not callable(given):
            raise InvalidInput(f"{name} of a task", f"a function of ({arguments})", given)
        require_hashable(f"{name} of a task", given, arguments)
        return given

    return checked


def _metric(given: Any) -> Any:
    if given is None or given == "error" or isinstance(given, Loss):
        return given
    if isinstance(given, str):
        legal = '"error", a function of (output, y), or None for the loss'
        raise InvalidInput("metric of a task", legal, given)
    return _function("metric", "output, y")(given)


def _directions(given: Any) -> tuple[str, ...]:
    if isinstance(given, Sequence) and not isinstance(given, str):
        names = tuple(given)
    else:
        count = integer("directions of a task", given, 1, MOST_DIRECTIONS)
        names = tuple(str(p + 1) for p in range(count))
    words = all(isinstance(n, str) and (n.isidentifier() or n.isdigit()) for n in names)
    if not (words and 0 < len(names) == len(set(names)) <= MOST_DIRECTIONS):
        legal = f"up to {MOST_DIRECTIONS} words that differ, or their number"
        raise InvalidInput("directions of a task", legal, given)
    return names


@value
class Task(Problem):
    """A task whose target is any function of a few projections of the tokens.

    ``X_l = sum_p coefficients_lp xi_p + scale_l z_l`` with orthonormal directions xi_p and noise
    z_l of the given law. The coefficients and scales are functions of latent variables that
    `draw` returns; the target is a function of them and of the projections
    ``Z_lp = <X_l, xi_p>``, their noise included: a class, a number or a vector.

    `draw` and `target` are written with NumPy, for n independent bags at once, and depend on
    nothing but their arguments: where something that they refer to has changed, define them anew,
    and the task. What `draw` returns has ``coefficients`` of shape (n, L, P);
    ``scale`` of shape (n, L), 1 by default; ``informative`` of shape (n, L), true for the tokens
    that attention should find; and any other arrays whose first axis is the bag.

    See Also
    --------
    sparsetoken.descend : The trajectory of gradient descent on a task.
    sparsetoken.model.ConceptProblem : Several signals and kinds of bags.
    sparsetoken.SparseTokenProblem : The task of the four stages.

    Examples
    --------
    Single-location regression: the target is what one token carries along a second direction.

    >>> import numpy as np
    >>> import sparsetoken as st
    >>> def draw(n, rng):
    ...     coefficients = np.zeros((n, 6, 2))
    ...     coefficients[:, 0, 0] = 3.0
    ...     return {"coefficients": coefficients}
    >>> def target(latent, Z):
    ...     return Z[:, 0, 1]
    >>> task = st.Task(6, ["place", "value"], draw, target)
    >>> X, y = task.sample(5, np.eye(2, 50), np.random.default_rng(0))
    >>> X.shape, bool(np.allclose(y, X[:, 0, 1]))
    ((5, 6, 50), True)
    """

    length: int = parameter("tokens in a bag", "L", whole=True, range=Range(least=1))
    directions: Any = parameter(
        f"names of the directions xi_p, or their number P, at most {MOST_DIRECTIONS}",
        find=_directions,
        kind="int or sequence of str",
    )
    draw: Any = parameter(
        "maps (n, rng), or uniform numbers u of shape (n, uniforms) if there are any, to the "
        "latent variables of n bags",
        find=_function("draw", "n, rng"),
        kind="callable",
    )
    target: Any = parameter(
        "maps the latent variables and Z of shape (n, L, P) to the targets of n bags. Two classes "
        "are -1 and 1, more are the integers 0, ..., K - 1",
        find=_function("target", "latent, Z"),
        kind="callable",
    )
    metric: Any = parameter(
        'what `test_error` is the mean of on new bags: "error" for the share in a wrong class, a '
        "function of (output, y) of one bag written with jax.numpy, a loss, or by default that of "
        "the training",
        default=None,
        choices=("error",),
        find=_metric,
        kind='"error", callable or Loss, optional',
    )
    outputs: int = parameter(
        "scores of the network", "K", default=1, whole=True, range=Range(least=1, most=64)
    )
    tokens: TokenDistribution = parameter(
        "distribution of the noise z_l",
        default=Isotropic(),
        find=token_distribution,
        kind="Isotropic or TokenCovariance",
    )
    uniforms: int = parameter(
        "numbers k, uniform in (0, 1), of which `draw` makes a bag. The theory spreads them "
        "evenly, and then needs fewer replicas than with random ones",
        default=0,
        whole=True,
        range=Range(least=0, most=256),
    )
    likelihood: Any = parameter(
        "maps (y, latent, Z) of n bags to the probability density of targets y of shape (n,), "
        "given the latent variables and Z, all further noise integrated out. The Bayes-optimal "
        "error of targets that are real numbers needs it",
        default=None,
        find=_function("likelihood", "y, latent, Z"),
        kind="callable, optional",
    )
    version: str | int = version_of_functions()

    def _check_together(self) -> None:
        check_signals(self.tokens, self.directions)

    sees_noise = True

    def latent(
        self, n: int, rng: np.random.Generator, u: Float[np.ndarray, "n k"] | None = None
    ) -> dict[str, np.ndarray]:
        """Draw the latent variables of n bags, of given uniform numbers if there are any.

        Raises
        ------
        InvalidInput
            If `draw` raises, or returns what a task has no use for.
        """
        if self.uniforms and u is None:
            u = rng.random((n, self.uniforms))
        given = _called("draw", self.draw, *((u,) if self.uniforms else (n, rng)))
        if not isinstance(given, Mapping) or "coefficients" not in given:
            legal = "a mapping of arrays, one of them `coefficients`"
            raise InvalidInput("what draw of a task returns", legal, given)
        bags, tokens = (n,), (n, self.length)
        shapes = {"coefficients": (*tokens, len(self.directions)), "scale": tokens}
        shapes["informative"] = tokens
        latent = {}
        for name, entry in given.items():
            array = np.asarray(entry)
            shape = shapes.get(name, (*bags, *array.shape[1:]))
            title = f"{name} that draw of a task returns"
            latent[name] = _numbers(title, array, shape, f"for {n} bags")
        if "scale" in latent and (latent["scale"] < 0).any():
            got = float(latent["scale"].min())
            raise InvalidInput("scale that draw of a task returns", "numbers >= 0", got)
        latent["coefficients"] = latent["coefficients"].astype(float)
        return latent

    def targets(self, latent: Latent, Z: Float[np.ndarray, "n L P"]) -> np.ndarray:
        """Return the targets of bags with given latent variables and projections.

        Raises
        ------
        InvalidInput
            If `target` raises, or returns no numbers for these bags.
        """
        y = np.asarray(_called("target", self.target, latent, Z))
        legal = f"with an entry for each of {len(Z)} bags"
        y = _numbers("target of a task", y, (len(Z), *y.shape[1:]), legal)
        if self.metric == "error" or not getattr(self.metric, "real_labels", True):
            check_classes(y, self.outputs)
        return y.astype(float) if self.outputs == 1 else y

    def density(
        self, y: Float[np.ndarray, " n"], latent: Latent, Z: Float[np.ndarray, "n L P"]
    ) -> Float[np.ndarray, " n"]:
        """Return the density of targets, given the latent variables and projections of their bags.

        Raises
        ------
        InvalidInput
            If the task has no `likelihood`, or it raises or returns no densities.
        """
        if self.likelihood is None:
            legal = "a function of (y, latent, Z) where targets are real numbers"
            remedy = (
                "Give Task(..., likelihood=f) the density of y given the latent variables and Z. "
                "The targets need noise of their own."
            )
            raise InvalidInput("likelihood of a task", legal, None, remedy)
        given = np.asarray(_called("likelihood", self.likelihood, y, latent, Z))
        name = "what likelihood of a task returns"
        density = _numbers(name, given, y.shape, f"for {len(y)} targets").astype(float)
        if (density < 0).any():
            raise InvalidInput(name, "densities >= 0", float(density.min()))
        return density

    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: Float[np.ndarray, "n k"] | None = None
    ) -> Latent:
        """Draw bags, which are of one kind."""
        return self.latent(size, rng, u)

    def some_targets(self) -> np.ndarray:
        """Return the targets of a few bags; raise `InvalidInput` unless the functions are pure."""
        return check_task(self)

    def for_loss(self, loss: Any) -> Task:
        """Return the task with the loss for its metric if it has none.

        Raises
        ------
        InvalidInput
            If a built-in loss is not one of such targets.
        """
        super().for_loss(loss)
        if isinstance(loss, Loss) and not loss.real_labels:
            check_classes(self.some_targets(), self.outputs)
        return self if self.metric is not None else dataclasses.replace(self, metric=loss)


def _called(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the value of a user's function, which may not write to its arguments."""
    try:
        return function(*map(_read_only, arguments))
    except InvalidInput:
        raise
    except Exception as error:  # whatever the function raises
        remedy = f"It failed at {_described(*arguments)}."
        legal = "a function that returns a value and leaves its arguments as they are"
        raise InvalidInput(f"{name} of a task", legal, one_line(error), remedy) from error


def _read_only(given: Any) -> Any:
    if isinstance(given, np.ndarray):
        view = given.view()
        view.flags.writeable = False
        return view
    return {n: _read_only(x) for n, x in given.items()} if isinstance(given, Mapping) else given


def _described(*arguments: Any) -> str:
    words = []
    for given in arguments:
        if isinstance(given, Mapping):
            words += [f"{name} of shape {np.shape(entry)}" for name, entry in given.items()]
        elif isinstance(given, np.ndarray):
            words.append(f"an array of shape {given.shape}")
        elif isinstance(given, int):
            words.append(f"n = {given}")
    return ", ".join(words)


def _numbers(name: str, array: np.ndarray, shape: tuple[int, ...], legal: str) -> np.ndarray:
    """Return an array, or raise `InvalidInput` unless it has finite numbers and a shape."""
    if array.dtype.kind not in "biuf":
        raise InvalidInput(name, "real numbers", f"an array of type {array.dtype}")
    if array.shape != shape:
        raise InvalidInput(name, f"of shape {shape} {legal}", f"shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidInput(name, "finite numbers", "nan or inf")
    return array


@functools.lru_cache(maxsize=64)
def check_task(task: Task) -> np.ndarray:
    """Return the targets of a few bags; raise `InvalidInput` unless the functions are pure.

    The same random numbers must give the same bags, and a bag must have the same target whatever
    other bags stand beside it.
    """

    def drawn() -> dict[str, np.ndarray]:
        return task.latent(_BAGS, np.random.default_rng(0))

    latent, again = drawn(), drawn()
    same = latent.keys() == again.keys()
    if not (same and all(np.array_equal(latent[name], again[name]) for name in latent)):
        remedy = "Take random numbers from rng alone." if not task.uniforms else "Use u alone."
        got = "different bags of the same random numbers"
        raise InvalidInput("draw of a task", "a function of its arguments alone", got, remedy)
    noise = np.random.default_rng(1).standard_normal(latent["coefficients"].shape)
    Z = latent["coefficients"] + latent.get("scale", np.ones(1))[..., None] * noise
    y = task.targets(latent, Z)
    for some in (slice(None), slice(0, _BAGS // 2), slice(1, None)):
        part = task.targets({name: entry[some] for name, entry in latent.items()}, Z[some])
        if not np.allclose(part, y[some], rtol=1e-9, atol=1e-12):
            legal = "a function of the latent variables and Z of each bag alone"
            got = "other targets when called again or with other bags beside"
            raise InvalidInput("target of a task", legal, got)
    if task.uniforms:
        u = np.random.default_rng(2).random((_BAGS, task.uniforms))
        rng = np.random.default_rng(0)
        whole, half = (task.latent(len(some), rng, some) for some in (u, u[1::2]))
        if not all(np.allclose(half[name], whole[name][1::2]) for name in whole):
            legal = "a function of the row of u of each bag alone"
            raise InvalidInput("draw of a task", legal, "other bags with other rows beside")
    return y


def check_classes(y: np.ndarray, K: int) -> None:
    """Raise `InvalidInput` unless targets are -1 and 1 of one score, else 0, ..., K - 1."""
    classes = (-1, 1) if K == 1 else range(K)
    whole = K == 1 or y.dtype.kind in "iu"
    if y.ndim > 1 or not whole or not np.isin(y, classes).all():
        legal = "-1 and 1" if K == 1 else f"integers 0, ..., {K - 1}"
        other = np.append(y[~np.isin(y, classes)], np.nan)[0] if y.ndim == 1 else np.nan
        got = f"an array of type {y.dtype} and shape {y.shape}" if np.isnan(other) else other
        remedy = 'The metric "error" and losses of classes, as logistic, ask for them.'
        raise InvalidInput("target of a task", legal, got, remedy)
