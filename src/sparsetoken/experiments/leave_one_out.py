"""Leave-one-out from one fit, against refits and against the predicted test error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import fit_power
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.core.rows import CONVERGED, REDUCED, THEORY, Row, Rows, averaged
from sparsetoken.experiments.core.rules import against_value, compare, fraction_true, report_only
from sparsetoken.figures.curves import LOADS, Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLUE, GREEN, GREY, VERMILION
from sparsetoken.losses import Loss, get_loss
from sparsetoken.model.models import Attention
from sparsetoken.model.stages import Query, Readout
from sparsetoken.numerics.erm import ReadoutFit
from sparsetoken.numerics.leave_one_out import leave_one_out
from sparsetoken.numerics.newton_readout import Iterate, newton
from sparsetoken.results import StatusCode
from sparsetoken.simulation.seeds import seed_of

QUERY, RIDGE = Query(0.9, 1.0), 1e-2
ALPHA1 = 2.0
"""The setting of refits with single samples held out."""
LOSSES = {"square": VERMILION, "logistic": BLUE, "squared_hinge": GREEN}
"""Their colours."""
CURVED = ("logistic", "squared_hinge")
"""The losses whose leave-one-out scores are not exact."""
REFIT_TOLERANCE = 1e-9
ROUNDING = 1e-8
"""Of a leave-one-out score where the surrogate is exact: the tolerance of the fits."""
SURROGATE, ESTIMATE = "leave-one-out-surrogate", "leave-one-out-estimates-test-error"

SIZES = profiles(
    # Refits are (d, training sets, samples left out of each). There are so many loads on a line
    # of theory between two that are estimated, from `trials` training sets each.
    refits=Size(
        ((50, 40, 25), (100, 24, 12), (200, 12, 12), (400, 12, 14)),
        ((50, 160, 50), (100, 80, 50), (200, 60, 50), (400, 40, 50), (800, 16, 25)),
    ),
    dimension=Size(250, 1000),
    trials=Size(40, 80),
    between=Size(1, 3),
    alphas=(0.5, 1.0, 2.0, 4.0),
    key=(2.0,),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work; all losses use the same training sets."""
    loads = list(sizes.alphas)
    for a, b in itertools.pairwise(sizes.alphas):
        loads += [a * (b / a) ** (i / (sizes.between + 1)) for i in range(1, sizes.between + 1)]
    for loss in LOSSES:
        rate = 0.2 if loss == "logistic" else 0.05
        yield piece(predict, loss, tuple(sorted(loads)), cost=rate * len(loads))
        for i, (d, sets, samples) in enumerate(sizes.refits):
            own = seed_of("leave-one-out", "refit", i, seed)
            cost = sets * samples * 0.015 * (d / 400) ** 2
            yield piece(refit, loss, d, sets, samples, own, cost=cost)
        d, trials = sizes.dimension, sizes.trials
        for i, alpha1 in enumerate(sizes.alphas):
            own = seed_of("leave-one-out", "estimate", i, seed)
            cost = trials * 0.01 * alpha1 * (d / 250) ** 2.3
            yield piece(estimate, loss, alpha1, d, trials, own, cost=cost)


def predict(loss: str, loads: tuple[float, ...]) -> Iterator[Row]:
    """Predict test error, AUC and training error at all loads."""
    for alpha1 in loads:
        prediction = theory.predict(PROBLEM, Attention(QUERY), Readout(loss, RIDGE, alpha1))
        error, status = float(prediction.numerical_error), str(prediction.status.code)
        for name in ("test_error", "auc", "training_error"):
            value, at = float(getattr(prediction, name)), {"loss": loss, "alpha1": alpha1}
            yield Row(THEORY, name, value, error, at, status=status)


def draw_set(
    alpha1: float, d: int, seed: int, trial: int
) -> tuple[Float[np.ndarray, "n d"], Int[np.ndarray, " n"]]:
    """Return the features and labels of a training set."""
    return simulation.draw_training_set(
        PROBLEM, Attention(QUERY), alpha1, dimension=d, seed=seed, trial=trial
    )


def refit(loss: str, d: int, sets: int, samples: int, seed: int) -> Iterator[Row]:
    """Compare leave-one-out scores, and those of the fit itself, with scores of refits."""
    errors, changes, converged = [], [], True
    for trial in range(sets):
        F, y = draw_set(ALPHA1, d, seed, trial)
        approximate = leave_one_out(F, y, get_loss(loss), RIDGE)
        left = np.random.default_rng((seed, trial)).choice(len(y), samples, replace=False)
        again = [without(i, F, y, get_loss(loss), approximate.fit) for i in left]
        scores = np.array([score for score, _ in again])
        errors.append(approximate.scores[left] - scores)
        changes.append(approximate.fit.scores[left] - scores)
        converged &= approximate.converged and all(ended for _, ended in again)
    for name, differences in (("surrogate_error", errors), ("change", changes)):
        squares = np.concatenate(differences) ** 2
        root = math.sqrt(squares.mean())
        error = float(np.std(squares, ddof=1)) / math.sqrt(len(squares)) / (2 * root)
        roots = tuple(float(np.sqrt(np.mean(some**2))) for some in differences)
        status = _status(converged)
        yield Row("refits", name, root, error, {"loss": loss}, REDUCED, d, sets, status, roots)


def without(
    i: int, F: Float[np.ndarray, "n d"], y: Int[np.ndarray, " n"], loss: Loss, fit: ReadoutFit
) -> tuple[float, bool]:
    """Fit all samples but one, from the fit to all; return its score and whether it converged."""
    n, others = len(y), np.arange(len(y)) != i
    centre, labels = F[others].mean(axis=0), y[others]
    start = Iterate(fit.w, fit.b + centre @ fit.w, fit.scores[others])
    end, residual, _ = newton(
        F[others] - centre,
        lambda z: loss.slope(labels, z),
        lambda z: loss.curvature(labels, z),
        RIDGE * n / (n - 1),
        start,
        REFIT_TOLERANCE,
        100,
    )
    return float((F[i] - centre) @ end.w + end.b), residual <= REFIT_TOLERANCE


def _status(converged: bool) -> str:
    return CONVERGED if converged else str(StatusCode.MAX_ITERATIONS)


def estimate(loss: str, alpha1: float, d: int, trials: int, seed: int) -> list[Row]:
    """Estimate test error and AUC of `trials` training sets by leaving out each sample.

    The spread is the standard deviation of the estimates of the test error over training sets, in
    units of the binomial error that each states.
    """
    drawn = (draw_set(alpha1, d, seed, trial) for trial in range(trials))
    estimates = [leave_one_out(F, y, get_loss(loss), RIDGE) for F, y in drawn]
    at: dict[str, Any] = {"loss": loss, "alpha1": alpha1, "series": "estimated"}
    at |= {"dimension": d, "engine": REDUCED}
    at["status"] = _status(all(one.converged for one in estimates))
    errors = averaged([one.test_error for one in estimates], **at)
    stated = float(np.mean([one.standard_error for one in estimates]))
    spread = float(np.std(errors.values, ddof=1)) / stated if stated > 0 else math.nan
    error = spread / math.sqrt(2 * (trials - 1))
    return [
        errors,
        averaged([one.auc for one in estimates], "auc", **at),
        errors.but(quantity="spread", value=spread, error=error, values=()),
    ]


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare leave-one-out scores with refits, and the estimates with the theory."""
    for loss, errors in rows.where("refits", "surrogate_error").by("loss"):
        if loss not in CURVED:
            found = max(row.value for row in errors), errors, f"{named(loss)}, largest over d"
            given: dict[str, Any] = {"curve": loss, "expected": 0.0, "allowance": ROUNDING}
            yield against_value(SURROGATE, "surrogate_error", *found, key=True, **given)
            continue
        power, first = power_of(errors), errors[0].dimension
        where = f"{named(loss)}, d = {first} to {power.dimension}"
        shrinks = [power.value + 3 * power.error < 0]
        own = {"curve": loss, "where": where}
        yield fraction_true(SURROGATE, "error shrinks", shrinks, errors, **own, key=True)
        yield report_only(SURROGATE, power, **own)
    for row in rows.where("estimated"):
        if row.quantity != "spread":
            place = ("{loss}", f"{named(row['loss'])}, α₁ = {{alpha1:g}}", "alpha1")
            key = row["alpha1"] in sizes.key
            yield compare(ESTIMATE, rows.where(THEORY), row, *place, key=key)


def power_of(errors: Sequence[Row]) -> Row:
    """Return the power of d that errors at several dimensions follow."""
    known = ((row.dimension, row.value, row.error) for row in errors)
    power, status = fit_power(*zip(*known, strict=True)), _status(Rows(errors).converged)
    changes = {**power._asdict(), "trials": sum(row.trials for row in errors), "status": status}
    behind = Rows(errors).trial_sets
    return errors[-1].but(quantity="power of d", **changes, values=(), behind=behind)


def named(loss: str) -> str:
    """Return the name of a loss for readers."""
    return f"{loss.replace('_', ' ')} loss"


def draw(rows: Rows) -> Plot:
    """Draw errors against d (left), and estimated and exact test error (right)."""
    refits = rows.where("refits")
    scores: list[Curve] = []
    signs: list[Curve] = []
    for loss, colour in LOSSES.items():
        of = rows.where(loss=loss)
        if loss in CURVED:
            errors, changes = of.where("refits", "surrogate_error"), of.where("refits", "change")
            scores.append(Curve(named(loss), colour, errors, marker="o-"))
            scores.append(Curve("", colour, changes, marker="o:"))
        signs.append(Curve(named(loss), colour, of.where(quantity="test_error"), marker="o"))
        signs.append(Curve("", colour, of.where(quantity="training_error"), "--"))
    x, y = Axis("d", sorted(refits.distinct("dimension"))), Axis("root mean square", log=True)
    title = f"difference of scores from refits, α₁ = {ALPHA1:g}"
    left = Panel("dimension", x, y, scores, title)
    x, y = Axis("α₁ = n₁ / d", ticks=LOADS), Axis("error", low=0.0)
    right = Panel("alpha1", x, y, signs, "fraction of wrong signs")
    marks = {
        "leave-one-out": {"color": GREY, "ls": "none", "marker": "o", "mec": "white"},
        "change by holding out": {"color": GREY, "ls": ":"},
        "test error, exact": {"color": GREY},
        "training error, exact": {"color": GREY, "ls": "--"},
    }
    return curves([left, right], 9.6, 4.3, columns=4, marks=marks)


EXPERIMENT = Experiment("leave-one-out", SIZES, work, judge, {"leave_one_out": draw})
