"""The table of settings that theory and real tokens are compared in.

A new model, network or task of the package needs a row here.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.model import networks
from sparsetoken.model.concepts import ConceptProblem
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.model.training import stem_of
from sparsetoken.studies.compare import TENSORS
from sparsetoken.studies.study import Sizes

PROBLEM = st.SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
GIVEN, STEPS = st.Query(0.9, 1.0), st.TwoSteps(alpha0=2.0, eta_q=25.0)
READOUT = st.Readout("logistic", ridge=1e-2, alpha1=2.0)
READOUTS = ("test_error", "training_loss", "training_error", "auc")
ACCURACY = 1e-3  # of predictions
TOLERANCE = 0.5  # of trajectories, whose stated errors are a part of z


@dataclasses.dataclass(frozen=True)
class Setting:
    """A row of the table.

    Attributes
    ----------
    claim, curve, where : str
        As of `Comparison`.
    theory, simulation : partial
        Calls, the latter without its seed.
    quantities : sequence of str
        Columns of both results that are compared.
    steps : sequence of int
        Of a descent, after which they are compared.
    bounds : mapping
        Of quantities: functions of the result of the theory, which return a difference up to which
        none counts.
    paired : bool
        Whether it is compared with other rows of the same `where`, and shares their samples.
    """

    claim: str
    curve: str
    where: str
    theory: partial[Any]
    simulation: partial[Any]
    quantities: Sequence[str]
    steps: Sequence[int] = ()
    bounds: Mapping[str, Callable[[Any], float]] = dataclasses.field(default_factory=dict)
    paired: bool = False

    @property
    def place(self) -> tuple[str, str, str]:
        """What tells the row from all others."""
        return self.claim, self.curve, self.where


def readout(
    at: Sizes,
    place: tuple[str, str, str],
    given: tuple[st.SparseTokenProblem, Any, st.Readout],
    quantities: Sequence[str] = READOUTS,
    *,
    simulated: st.Readout | None = None,
    test_problem: st.SparseTokenProblem | None = None,
    **row: Any,
) -> Setting:
    """Return a row of a readout on frozen features; the simulation may have another readout."""
    problem, model, found = given
    size: dict[str, Any] = {"dimension": at.dimension, "trials": at.trials, "engine": TENSORS}
    tested: dict[str, Any] = {"test_problem": test_problem}
    # Where tokens have a dimension, the query of two steps is known there.
    stepped = isinstance(getattr(model, "query", None), st.TwoSteps)
    own = {"dimension": problem.tokens.dimension} if stepped else {}
    theory = partial(st.predict, problem, model, found, tolerance=ACCURACY, **tested, **own)
    simulation = partial(st.simulate, problem, model, simulated or found, **size, **tested)
    return Setting(*place, theory, simulation, quantities, **row)


COVARIANCE, SHIFTED, RIDGELESS = "covariance-learned-error", "shifted-test-law", "ridgeless-limit"


def models(at: Sizes) -> Iterator[Setting]:
    """Yield all models among isotropic tokens."""
    rows = (
        (st.Attention(GIVEN), (6, 1, 3.0, 0.4), "logistic", 0.05, 2.0),
        (st.Attention(STEPS), (5, 2, 3.0, 0.5), "square", 0.1, 1.5),
        (st.model.HardAttention(GIVEN), (6, 2, 3.0, 0.4), "squared_hinge", 0.1, 1.5),
        (st.Elementwise(GIVEN, "relu"), (6, 1, 3.0, 0.5), "logistic", 0.05, 2.0),
        (st.Elementwise(STEPS, "tanh"), (4, 2, 3.0, 0.6), "hinge", 0.1, 1.5),
        (st.Pooled(), (4, 1, 4.0, 0.3), "logistic", 0.05, 2.0),
        (st.Vectorized(), (3, 1, 4.0, 0.4), "square", 0.2, 4.0),
    )
    for model, letters, loss, ridge, alpha1 in rows:
        found = " two steps" * isinstance(getattr(model, "query", None), st.TwoSteps)
        where = f"{loss}, λ = {ridge:g}, α₁ = {alpha1:g}, d = {at.dimension}"
        given = st.SparseTokenProblem(*letters), model, st.Readout(loss, ridge, alpha1)
        yield readout(at, (COVARIANCE, f"{model.name}{found}", where), given)


BETWEEN, DECAY = "shared covariance", "decay of the spectrum"
CLASSIFIERS = {
    BETWEEN: {"attention": st.Attention(GIVEN), "pooled": st.Pooled()},
    DECAY: {
        "attention": st.Attention(STEPS),
        "whitened": st.Attention(STEPS),
        "pooled": st.Pooled(),
    },
}
"""By what is changed: the size of the covariance that the tokens of a sample share, or the power
by which the eigenvalues of the covariance within samples fall."""
SLOPE = 0.9  # of the shared covariance: neighbouring features of a sample go together


def signal_of(dimension: int) -> np.ndarray:
    """Return a unit vector with projections of all sizes on the eigenvectors."""
    signal: np.ndarray = np.cos(1.7 * np.arange(dimension))
    return signal / np.linalg.norm(signal)


@functools.lru_cache(maxsize=64)
def problem_at(change: str, to: float, classifier: str, dimension: int) -> st.SparseTokenProblem:
    """Return the problem, or that of whitened tokens.

    The eigenvalues within samples have the mean 1.
    """
    j, signal = np.arange(dimension), PROBLEM.strength * signal_of(dimension)
    shared = to * SLOPE ** np.abs(j[:, None] - j) if change == BETWEEN and to else None
    spectrum = (j + 1.0) ** (-to if change == DECAY else 0.0)
    spectrum /= spectrum.mean()
    if classifier == "whitened":
        signal, spectrum = signal / np.sqrt(spectrum), np.ones(dimension)
    strength = float(np.linalg.norm(signal))
    tokens = TokenCovariance(spectrum, shared, signal=signal / strength)
    return dataclasses.replace(PROBLEM, strength=strength, tokens=tokens)


def covariances(at: Sizes) -> Iterator[Setting]:
    """Yield tokens of other covariances."""
    for change, classifiers in CLASSIFIERS.items():
        for to, (name, model) in itertools.product(at.covariances[change], classifiers.items()):
            where = f"{change} {to:g}, d = {at.dimension}"
            given = problem_at(change, to, name, at.dimension), model, READOUT
            yield readout(at, (COVARIANCE, name, where), given, paired=True)


SHIFTS_OF_TESTS = {"length": "L′", "positive_rate": "π′", "strength": "θ′"}
"""What is changed in the test data."""


def shifted_tests(at: Sizes) -> Iterator[Setting]:
    """Yield test data of another law than that of the training."""
    models = {"attention": st.Attention(GIVEN), "pooled": st.Pooled()}
    trained = dataclasses.replace(READOUT, alpha1=4.0)
    for change, values in at.shifted.items():
        for to, (name, model) in itertools.product(values, models.items()):
            where = f"{SHIFTS_OF_TESTS[change]} = {to:g}, d = {at.dimension}"
            other = dataclasses.replace(PROBLEM, **{change: to})
            given = PROBLEM, model, trained
            quantities = ("test_error", "auc")
            yield readout(at, (SHIFTED, name, where), given, quantities, test_problem=other)


SMALL = 1e-6
"""The ridge that stands for 0 where a simulation needs one."""


def ridgeless(at: Sizes) -> Iterator[Setting]:
    """Yield readouts without a ridge, below and above the loads that they fit exactly."""
    models = {"attention": st.Attention(GIVEN), "pooled": st.Pooled()}
    both = ("test_error", "training_loss")
    for load, (name, model) in itertools.product((0.5, 0.8, 1.25, 2.0), models.items()):
        where = f"square, λ = 0, α₁ = {load:g}, d = {at.dimension}"
        bounds = {"training_loss": _rounding} if load < 1 else {}
        given = PROBLEM, model, st.Readout("square", 0.0, load)
        yield readout(at, (RIDGELESS, name, where), given, both, bounds=bounds)
    problem, queried = st.SparseTokenProblem(4, 1, 2.0, 0.5), st.Attention(st.Query(0.8, 1.0))
    # The capacity is 2.64: below it both losses vanish, and hinge finds the largest margin, to
    # which logistic turns too slowly for a comparison.
    for loss, load, quantities, bounds in (
        ("hinge", 2.0, both, {"training_loss": _price_of_hinge}),
        ("logistic", 2.0, both[1:], {"training_loss": _price_of_logistic}),
        ("hinge", 3.6, both, {}),
        ("logistic", 3.6, both, {}),
    ):
        where = f"{loss}, λ = 0 (simulated {SMALL:g}), α₁ = {load:g}, d = {at.dimension}"
        given = problem, queried, st.Readout(loss, 0.0, load)
        own = st.Readout(loss, SMALL, load)
        place = (RIDGELESS, "attention", where)
        yield readout(at, place, given, quantities, bounds=bounds, simulated=own)


def _rounding(result: Any) -> float:
    """Return what an exact fit in float64 leaves of the training loss."""
    return 1e-12


def _price_of_hinge(result: Any) -> float:
    """Return a bound on the training loss that a ridge of `SMALL` costs below capacity.

    The fit is no worse than the readout of margin 1.
    """
    w = result.overlaps
    return 0.5 * SMALL * float(w.query**2 + w.orthogonal**2 + w.noise**2)


def _price_of_logistic(result: Any) -> float:
    """Return the same of the logistic loss, which is below exp(-c) at c times that readout."""
    c = math.log(1 / SMALL)
    return SMALL + c**2 * _price_of_hinge(result)


NETWORKS: dict[str, tuple[Any, dict[str, float], float]] = {
    "mean pooling": (networks.Pooled(), {"w": 0.7}, 8.0),
    "softmax": (networks.Softmax(), {"q": 0.5, "w": 0.2}, 2.0),
    "two heads": (networks.Softmax(heads=2), {"q": 0.9, "w": 0.2}, 3.5),
    "gated, 2 units": (networks.Gated(hidden=2), {"v": 0.35, "g": 2.8, "w": 0.2}, 3.0),
    "self-attention": (networks.SelfAttention(rank=1), {"Q": 0.12, "K": 5.2, "V": 0.4}, 1.9),
}
"""With step sizes of the columns and of the further weights near those of the least test error."""
OVERLAP = 0.1
"""Of queries with a signal at the start, with two signals by turns, and of self-attention: a
symmetry that the limit keeps, and every finite dimension breaks, is then broken in both."""
BOTH = ConceptProblem(
    5, (5.0, 5.0), [[1, 1], [0, 0], [1, 0], [0, 1]], [0.4, 0.2, 0.2, 0.2], [1, 0, 0, 0]
)
"""A bag is positive if it holds both of two signals."""


def _overlaps(column: str) -> tuple[float, float]:
    """Return the overlaps of a column at the start, of odd queries with the first signal."""
    if column[0] in "wV":
        return 0.0, 0.0
    return (OVERLAP, 0.0) if int(column[1:] or 1) % 2 else (0.0, OVERLAP)


OVERLAPS = "overlaps"
"""Stands for the overlap of each column that is largest in the end."""


def descended(
    at: Sizes,
    claim: str,
    curve: str,
    where: str,
    problem: Any,
    descent: st.Descent,
    quantities: Sequence[str],
) -> Setting:
    """Return a row of a descent, compared half way and at its end."""
    steps = (descent.steps // 2, descent.steps)
    size = {"dimension": at.descended, "trials": at.descended_trials, "at": list(steps)}
    theory = partial(st.theory.descend, problem, descent, replicas=at.replicas, tolerance=TOLERANCE)
    simulation = partial(st.simulation.descend, problem, descent, **size)
    where = f"{where}, n/d = {descent.alpha:g}, d = {at.descended}"
    return Setting(claim, curve, where, theory, simulation, quantities, steps)


def descents(at: Sizes) -> Iterator[Setting]:
    """Yield networks trained by descent on all weights, and softmax attention on all tasks."""
    d = at.descended
    tokens = TokenCovariance(np.ones(d), np.full(d, 0.5), signal=signal_of(d))
    shared = dataclasses.replace(PROBLEM, tokens=tokens)
    places: list[tuple[str, Any, str, float]]
    places = [("one sparse token", PROBLEM, name, 2.0) for name in NETWORKS]
    places += [("bag effects", shared, name, 2.0) for name in ("softmax", "gated, 2 units")]
    places += [("two signals", BOTH, name, 8.0) for name in ("softmax", "two heads")]
    for task, problem, name, alpha in places:
        network, rates, rate_c = NETWORKS[name]
        given: dict[str, Any] = {"rates": rates, "rate_c": rate_c}
        if problem is BOTH:
            given = {"rates": {stem: 0.25 if stem == "w" else 1.0 for stem in rates}, "rate_c": 4.0}
        if problem is BOTH or name == "self-attention":
            signals = 1 + (problem is BOTH)
            columns = network.column_names(outputs=1)
            given["start_overlaps"] = np.array([_overlaps(c)[:signals] for c in columns])
        descent = st.Descent(network, alpha=alpha, steps=at.steps, **given)
        attended = () if name == "mean pooling" else ("attended",)
        quantities = ("test_error", "training_loss", *attended)
        yield descended(at, "network-descent", name, task, problem, descent, quantities)
    for task, (problem, loss, q, w, c, overlaps) in TASKS.items():
        network = networks.Softmax()
        stems = {stem_of(column) for column in network.column_names(outputs=1)}
        descent = st.Descent(
            network,
            alpha=2.0,
            steps=at.task_steps,
            rates={stem: w if stem == "w" else q for stem in stems},
            rate_c=c,
            start={stem: 0.3 if stem == "w" else 0.5 for stem in stems},
            start_overlaps={stem: {} if stem == "w" else overlaps for stem in stems},
            loss=loss,
        )
        quantities = ("test_error", "training_loss", OVERLAPS)
        yield descended(at, "task-descent", task, "softmax", problem, descent, quantities)


TASKS: dict[str, tuple[Any, str, float, float, float, dict[str, float]]] = {
    "single location": (
        st.tasks.single_location_regression(), "square", 1.5, 0.27, 0.3, {"place": 0.3}
    ),
    "needle with a value": (st.tasks.needle_with_value(), "logistic", 2.0, 0.8, 0.5, {}),
    "position": (st.tasks.position(), "square", 1.2, 0.22, 0.45, {}),
    "meeting concepts": (st.tasks.meeting_concepts(), "logistic", 1.0, 0.3, 1.0, {}),
    "majority": (st.tasks.majority(), "logistic", 0.7, 0.5, 0.3, {"sign": 0.3}),
}  # fmt: skip
"""With the loss, the step sizes of query, readout and further weights, and overlaps of the query
at the start."""


MINIMUM = "joint-minimum"
MINIMA: dict[str, tuple[Any, Any, str, float]] = {
    "softmax": (st.SparseTokenProblem(4, 1, 4.0, 0.5), networks.Softmax(), "logistic", 3.0),
    "mean pooling": (st.SparseTokenProblem(5, 2, 3.0, 0.4), networks.Pooled(), "logistic", 1.5),
    "softmax, a number": (
        st.tasks.single_location_regression(4), networks.Softmax(), "square", 4.0
    ),
}  # fmt: skip
"""Minima over all weights: the problem, the network, the loss and n/d. The ridge is 0.1."""


def minima(at: Sizes) -> Iterator[Setting]:
    """Yield minima over all weights, which L-BFGS finds from weights with the signal."""
    for curve, (problem, network, loss, alpha) in MINIMA.items():
        minimum = st.Minimum(network, alpha=alpha, ridge=0.1, loss=loss)
        size = {"dimension": at.descended, "trials": at.minimised_trials, "start": "informed"}
        theory = partial(st.minimize, problem, minimum, starts=("informed",))
        simulation = partial(st.simulation.minimize, problem, minimum, **size)
        where = f"{loss}, λ = 0.1, n/d = {alpha:g}, d = {at.descended}"
        quantities = ("test_error", "training_loss", "objective")
        yield Setting(MINIMUM, curve, where, theory, simulation, quantities)


FIT = 36
"""Steps of the readout after the two steps: it is then near its minimum, see `one_data_set`."""


def one_data_set(alpha: float) -> st.Descent:
    """Return the two steps and then the fit of the readout, all on the same samples.

    The fit is gradient descent with momentum on the objective of `Readout`. The square root of
    the product of step size and ridge, 4 and 0.01, is the rate of descent with the best momentum,
    so that 36 steps reduce the remainder by e^-7. The bias has no ridge and the smallest curvature,
    the mean slope of the sigmoid over samples that are nearly all fitted; its steps are larger once
    the first have passed.
    """
    eta = [1.0] * 4 + [4.0] * (FIT - 4)
    return st.Descent(
        alpha=alpha,
        steps=2 + FIT,
        rates={"w": [0.5, 0.0, *eta], "q": [0.0, 25.0, *[0.0] * FIT]},
        rate_c=[0.5, 0.0, *eta[:8], *[32.0] * (FIT - 8)],
        start=0.0,
        momentum=[0.0, 0.0, 0.0, *[0.7] * (FIT - 1)],
        decay={"w": READOUT.ridge, "q": 0.0},
    )


REUSE = "reuse-of-data"


def reused(at: Sizes) -> Iterator[Setting]:
    """Yield query and readout found on the same samples, as many in each setting."""
    for alpha in at.alphas:
        descent, dimension = one_data_set(alpha), round(at.samples / alpha)
        size = {"descended": dimension, "descended_trials": at.reused_trials}
        own = Sizes(**{**vars(at), **size})
        row = descended(own, REUSE, "one data set", "two steps, then the fit", PROBLEM, descent, ())
        yield dataclasses.replace(row, quantities=("test_error", "cosine_q"), steps=(2 + FIT,))


SPLIT = "attention two steps, split evenly"


def split(at: Sizes) -> Iterator[Setting]:
    """Yield the four stages on the same samples, half of them for the query."""
    for alpha in at.alphas:
        steps, found = st.TwoSteps(alpha / 2, eta_q=25.0), st.Readout(alpha1=alpha / 2)
        size = {"dimension": round(at.samples / alpha), "trials": at.reused_trials}
        own = Sizes(**{**vars(at), **size})
        where = f"α₀ = α₁ = {alpha / 2:g}, d = {own.dimension}"
        given = PROBLEM, st.Attention(steps), found
        yield readout(own, (COVARIANCE, SPLIT, where), given)


def table(at: Sizes) -> list[Setting]:
    """Return all rows."""
    kinds = (models, covariances, shifted_tests, ridgeless, descents, minima, reused, split)
    return [row for kind in kinds for row in kind(at)]


def columns_of(row: Setting, result: Any) -> list[str]:
    """Return the columns that are compared."""
    names = [name for name in row.quantities if name != OVERLAPS]
    if OVERLAPS in row.quantities:
        columns = [name for name in result.columns() if name.startswith("overlap_")]
        own = [name for name in columns if not name.endswith("_se")]
        overlaps = np.abs(result.weights.overlaps[-1])
        best = zip(np.reshape(own, overlaps.shape), overlaps.argmax(axis=1), strict=True)
        names += [str(some[place]) for some, place in best]
    return names
