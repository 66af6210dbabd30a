"""Tokens of other laws: with a covariance, and other in the test data than in training."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.places import all_true, compare
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.core.rows import TENSORS, THEORY, Row, Rows, difference, predicted
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import COLOURS, LIGHT_GREY
from sparsetoken.model.models import Attention, Model, Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.simulation.seeds import seed_of

QUERY, STEPS = Query(0.9, 1.0), TwoSteps(alpha0=2.0, eta_q=25.0)
READOUT = Readout("logistic", ridge=1e-2, alpha1=2.0)
SLOPE = 0.9  # of the shared covariance: neighbouring features of a sample go together
SHIFTED = Readout("logistic", ridge=1e-2, alpha1=4.0)
MODELS = {"attention": Attention(QUERY), "pooled": Pooled()}
"""The classifiers that meet test data of another law, with their readout."""
CLASSIFIERS = {"between": ("attention", "pooled"), "decay": ("attention", "whitened", "pooled")}
"""By what is changed: the size of the covariance that the tokens of a sample share, or the power
by which the eigenvalues of the covariance within samples fall."""
LETTERS = {"between": "size of the shared covariance", "decay": "decay of the spectrum"}
SHIFTS = {"length": "L′", "positive_rate": "π′", "strength": "θ′"}
"""What is changed in the test data."""

SIZES = profiles(
    dimension=Size(250, 1000),
    trials=Size(8, 12),
    between=Size((0.0, 0.25, 0.5, 1.0), (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)),
    decay=Size((0.0, 0.2, 0.4, 0.6), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
    shifted_dimension=Size(400, 1000),
    shifted_trials=Size(8, 32),
    shifts=Size(
        {
            "length": (5, 10, 20, 40, 80),
            "positive_rate": (0.1, 0.5, 0.9),
            "strength": (2.0, 3.5, 6.5, 8.0),
        },
        {
            "length": (5, 7, 10, 14, 20, 28, 40, 57, 80),
            "positive_rate": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
            "strength": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),
        },
    ),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    size = (sizes.dimension / 400) ** 3
    for change, classifiers in CLASSIFIERS.items():
        for i, to in enumerate(getattr(sizes, change)):
            # Classifiers that are compared meet the same samples.
            own = seed_of("token-covariance", change, i, seed)
            for classifier in classifiers:
                place = (change, to, classifier, sizes.dimension)
                yield piece(predict_error, *place, cost=0.1 + 0.13 * size)
                cost = 0.2 * sizes.trials * size
                yield piece(simulate_error, *place, trials=sizes.trials, seed=own, cost=cost)
    for classifier, (change, values) in itertools.product(MODELS, sizes.shifts.items()):
        yield from shift(sizes, classifier, change, values, seed)


def shift(
    sizes: Sizes, classifier: str, change: str, values: Sequence[Any], seed: int
) -> Iterator[Piece]:
    """Plan to predict at the changes that are simulated, and at one between each two."""
    # One seed for a classifier: the same trained ones meet all test data.
    trials = {"trials": sizes.shifted_trials, "seed": seed_of("shifted-test", classifier, seed)}
    middle = [(a + b) / 2 for a, b in itertools.pairwise(values)]
    if change == "length":
        middle = [round(value) for value in middle]
    for to in sorted({*values, *middle}):
        options: dict[str, Any] = {
            "test_problem": dataclasses.replace(PROBLEM, **{change: to}),
            "rows": ("test_error",),
            "at": {"change": change, "to": float(to), "classifier": classifier},
        }
        given = (PROBLEM, MODELS[classifier], SHIFTED)
        yield piece(theory.predict, *given, tolerance=1e-3, cost=0.08, **options)
        if to in values:
            tokens = to if change == "length" else PROBLEM.length
            size = (sizes.shifted_dimension / 400) ** 3
            cost = sizes.shifted_trials * (0.025 * size + 0.001 * tokens)
            options |= {"dimension": sizes.shifted_dimension, "cost": cost, **trials}
            yield piece(simulation.simulate, *given, **options)


def problem_at(change: str, to: float, classifier: str, dimension: int) -> SparseTokenProblem:
    """Return the problem, or that of whitened tokens.

    The eigenvalues within samples have the mean 1. The signal has projections of all sizes on
    the eigenvectors.
    """
    j = np.arange(dimension)
    signal: np.ndarray = np.cos(1.7 * j)
    signal = PROBLEM.strength * signal / np.linalg.norm(signal)
    shared = to * SLOPE ** np.abs(j[:, None] - j) if change == "between" and to else None
    spectrum = (j + 1.0) ** (-to if change == "decay" else 0.0)
    spectrum /= spectrum.mean()
    if classifier == "whitened":
        signal, spectrum = signal / np.sqrt(spectrum), np.ones(dimension)
    strength = float(np.linalg.norm(signal))
    tokens = TokenCovariance(spectrum, shared, signal=signal / strength)
    return dataclasses.replace(PROBLEM, strength=strength, tokens=tokens)


def model_of(change: str, classifier: str) -> Model:
    """Return the model: a given query beside shared effects, else the query of two steps."""
    if classifier == "pooled":
        return Pooled()
    return Attention(QUERY if change == "between" else STEPS)


def predict_error(change: str, to: float, classifier: str, dimension: int) -> list[Row]:
    """Predict in one setting."""
    problem = problem_at(change, to, classifier, dimension)
    prediction = theory.predict(problem, model_of(change, classifier), READOUT, tolerance=1e-3)
    return [predicted(prediction, "test_error", change=change, to=to, classifier=classifier)]


def simulate_error(
    change: str, to: float, classifier: str, dimension: int, trials: int, seed: int
) -> Rows:
    """Measure with real tokens in one setting."""
    problem, model = problem_at(change, to, classifier, dimension), model_of(change, classifier)
    sizes: dict[str, Any] = {"dimension": dimension, "engine": TENSORS, "trials": trials}
    sizes["seed"] = seed
    wanted: dict[str, Any] = {
        "rows": ["test_error"],
        "at": {"change": change, "to": to, "classifier": classifier},
    }
    return piece(simulation.simulate, problem, model, READOUT, **sizes, **wanted).run()


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare in each setting, and judge shared effects and whitening."""
    for row in rows.where("simulated"):
        change, to = row["change"], row["to"]
        if change in SHIFTS:
            claim, place = "shifted-test-law", f"tested at {SHIFTS[change]} = {to:g}"
            key = row["classifier"] == "attention" and to == sizes.shifts[change][-1]
        else:
            claim, place = "covariance-learned-error", f"{LETTERS[change]} {to:g}"
            key = to == getattr(sizes, change)[-1]
        where = f"{place}, d = {{dimension}}"
        yield compare(claim, rows.where(THEORY), row, "{classifier}", where, "to", key=key)
    measured = f"measured, d = {sizes.dimension}"
    pooled, attention = (
        [difference(row, line[0]) for row in line[1:]]
        for line in (measured_along(rows, "between", name) for name in ("pooled", "attention"))
    )
    where = f"{measured}, three standard errors"
    yield _clear("shared-effects", "larger rise", pooled, attention, where)
    # At the steeper half of the spectra: the effect vanishes as they become flat.
    plain, whitened = (measured_along(rows, "decay", c) for c in ("attention", "whitened"))
    steep = len(plain) // 2
    where = f"{measured}, decay ≥ {sizes.decay[steep]:g}"
    yield _clear("whitening", "lower error", plain[steep:], whitened[steep:], where)


def _clear(
    claim: str, quantity: str, larger: list[Row], smaller: list[Row], where: str
) -> Comparison:
    """Judge whether differences of measured numbers are positive by three standard errors."""
    gaps = [difference(a, b) for a, b in zip(larger, smaller, strict=True)]
    true = [gap.value > 3 * gap.error for gap in gaps]
    return all_true(claim, quantity, true, gaps, where, key=True)


def measured_along(rows: Rows, change: str, classifier: str) -> list[Row]:
    """Return the measured errors of a classifier along a change."""
    simulated = rows.where("simulated", change=change, classifier=classifier)
    return [row for _, row in simulated.along("to")]


def _panel(rows: Rows, change: str, label: str, ticks: Sequence[float] = ()) -> Panel:
    looks = {
        "attention": ("attention", "attention"),
        "whitened": ("attention, whitened tokens", "vectorized"),
        "pooled": ("pooled", "pooled"),
    }
    errors = rows.where(quantity="test_error", change=change)
    lines = [
        Curve(name, COLOURS[colour], errors.where(classifier=classifier))
        for classifier, (name, colour) in looks.items()
        if classifier in errors.distinct("classifier")
    ]

    def trained(axes: Axes) -> None:
        """Draw a grey line at the problem trained on."""
        if change in SHIFTS:
            axes.axvline(getattr(PROBLEM, change), color=LIGHT_GREY, lw=1.2, zorder=1)

    y = Axis("test error" * (change in ("between", "length")), low=0.0)
    return Panel("to", Axis(label, ticks), y, lines, also=trained)


def draw_covariances(rows: Rows) -> Plot:
    """Draw the test errors against shared effects and against the decay of a spectrum."""
    between = _panel(rows, "between", "size of the shared covariance")
    decay = _panel(rows, "decay", "decay exponent of the eigenvalues")
    return curves([between, decay], 8.4, 3.7)


def draw_tested(rows: Rows) -> Plot:
    """Draw a panel for each change of the test data."""
    panels = [
        _panel(rows, "length", "L′, tokens of a test sample", ticks=(5, 10, 20, 40, 80)),
        _panel(rows, "positive_rate", "π′, rate of positives at test"),
        _panel(rows, "strength", "θ′, strength at test"),
    ]
    return curves(panels, 9.6, 3.7)


FIGURES = {"token_covariance": draw_covariances, "shifted_test": draw_tested}

EXPERIMENT = Experiment("token-covariance", SIZES, work, judge, FIGURES)
