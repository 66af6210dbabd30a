"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.finite_dimension import NO_SHIFT, SHIFTS
from sparsetoken.experiments.ridgeless.jobs import Profile
from sparsetoken.experiments.ridgeless.rows import (
    Distance,
    Divergence,
    Load,
    Margin,
    SimulatedLoad,
    SimulatedMargin,
    SimulatedSusceptibility,
)
from sparsetoken.experiments.ridgeless.work import LINE, MARGIN, RATIO, RIDGES, SMALL, SQUARE
from sparsetoken.experiments.rows import Rows, one, select, series
from sparsetoken.experiments.rules import compare, judge, share

THRESHOLD, PEAK = "interpolation-threshold", "interpolation-peak"
DIVERGES, DIRECTION = "susceptibility-diverges", "direction-to-max-margin"
ZERO, POSITIVE = "zero-loss-below-capacity", "positive-loss-above-capacity"
CLAIMS = (
    Claim(
        THRESHOLD,
        "Without a ridge the square loss fits every label below n1 = number of weights "
        "(α₁ = 1, or L for vectorized), and leaves a positive training loss above.",
    ),
    Claim(
        PEAK,
        "Without a ridge the test error of the square loss peaks at the threshold; a ridge "
        "takes the peak away.",
    ),
    Claim(
        DIVERGES,
        "The susceptibility χ diverges as 1/|α₁ − 1| above the threshold and as 1/λ below it.",
    ),
    Claim(ZERO, "Below capacity the training loss of hinge and logistic vanishes as λ → 0."),
    Claim(
        POSITIVE, "Above capacity the training loss of hinge and logistic stays positive as λ → 0."
    ),
    Claim(
        DIRECTION, "Below capacity the readout tends to the direction of largest margin as λ → 0."
    ),
)


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    found = []
    for row in select(rows, SimulatedLoad):
        found += _at_load(_predicted(rows, row), row)
    for model in ("attention", "pooled"):
        found += _peak(model, select(rows, Load, model=model))
        found += _divergence(one(rows, Divergence, model=model))
    found += [
        _susceptibility(_predicted(rows, row), row) for row in select(rows, SimulatedSusceptibility)
    ]
    for near in select(rows, SimulatedMargin):
        found += _at_ratio(one(rows, Margin, loss=near.loss, ratio=near.ratio, ridge=0.0), near)
    return [*found, *_direction(rows)]


def _predicted(rows: Rows, row: SimulatedLoad | SimulatedSusceptibility) -> Load:
    return one(rows, Load, model=row.model, ridge=row.ridge, load=row.load)


def _at_load(theory: Load, row: SimulatedLoad) -> list[Comparison]:
    """Judge the test error and, without a ridge, the training loss."""
    where = f"n₁ = {row.load:g} × weights, λ = {row.ridge:g}"
    place = partial(judge, curve=row.model, where=where, x=row.load, group="load")
    key = row.ridge == 0 and row.load in (0.8, 1.25)
    found = [place(PEAK, "test_error", theory.test_error, row.test_error, key=key)]
    if row.ridge == 0:
        losses = ("training_loss", theory.training_loss, row.training_loss)
        # Below the threshold an exact fit, in float64.
        of_loss: dict[str, Any] = {"shift": NO_SHIFT, "bound": 1e-12} if row.load < 1 else {}
        found.append(place(THRESHOLD, *losses, **of_loss, key=row.load in (0.5, 2.0)))
    return found


def _peak(model: str, line: Sequence[Load]) -> list[Comparison]:
    """Judge by neighbours on the line of theory that it has a peak, and none with a ridge."""
    free = [row for row in line if row.ridge == 0]
    right = _steps([row for row in free if 0.5 <= row.load < 1], lambda step: step > 0)
    right += _steps([row for row in free if row.load > 1], lambda step: step < 0)
    smooth = [row for row in line if row.ridge == RIDGES[-1] and row.load >= 0.5]
    # Neighbours may differ by less than the theory's own tolerance.
    falls = _steps(smooth, lambda step: step < LINE)
    return [
        share(
            PEAK,
            "rises to the threshold, falls after it",
            right,
            curve=model,
            where="share of neighbours, n₁ from 0.5 to 8 × weights",
            converged=all(row.test_error.converged for row in free),
            key=True,
        ),
        share(
            PEAK,
            "falls throughout with a ridge",
            falls,
            curve=model,
            where=f"share of neighbours, λ = {RIDGES[-1]:g}",
            converged=all(row.test_error.converged for row in smooth),
        ),
    ]


def _steps(line: Sequence[Load], true: Callable[[float], bool]) -> list[bool]:
    """Say of the step of test error from each load to the next whether it is as expected."""
    errors = [error.value for _, error in series(line, "load", "test_error")]
    return [true(b - a) for a, b in itertools.pairwise(errors)]


def _divergence(row: Divergence) -> list[Comparison]:
    return [
        compare(
            DIVERGES,
            "(α₁ − 1) χ",
            curve=row.model,
            where=f"α₁ = {row.near:g}, λ = 0, against the mean of 1/C²",
            expected=row.limit.value,
            found=row.above.value,
            # The next order in alpha1 - 1 = 0.001, with a factor of a few, and the nodes.
            allowance=0.005 * row.limit.value,
            error=row.limit.error,
            converged=row.above.converged,
            key=True,
        ),
        compare(
            DIVERGES,
            "λ χ",
            curve=row.model,
            where=f"α₁ = {row.far:g}, λ = {SMALL:g}, against 1/α₁ − 1",
            expected=1 / row.far - 1,
            found=row.below.value,
            # First order in λ, times a mean of 1/C² of at most 10 and a factor of a few.
            allowance=100 * SMALL,
            converged=row.below.converged,
        ),
    ]


def _susceptibility(theory: Load, row: SimulatedSusceptibility) -> Comparison:
    # The mean of an inverse Wishart matrix has n1 - d - 2 where its limit has n1 - d; beyond
    # that the spread is taken to be that of test errors.
    c = SHIFTS["test_error"]._replace(mean=2 / (row.load - 1) if row.ridge == 0 else 0.0)
    return judge(
        DIVERGES,
        "susceptibility",
        theory.susceptibility,
        row.susceptibility,
        curve=row.model,
        where=f"α₁ = {row.load:g}, λ = {row.ridge:g}",
        x=row.load,
        group="load",
        shift=c,
    )


def _at_ratio(theory: Margin, row: SimulatedMargin) -> list[Comparison]:
    """Judge the training loss and, for the hinge loss below capacity, the test error."""
    place = partial(judge, curve=row.loss, x=row.ratio, group="capacity")
    where, key = f"α₁ = {row.ratio:g} α*", row.ratio in (0.75, 1.25)
    losses = ("training_loss", theory.training_loss, row.training_loss)
    if row.ratio > 1:
        return [place(POSITIVE, *losses, where=where, key=key)]
    price = _price(row.loss, theory.length)
    found = [place(ZERO, *losses, where=where, shift=NO_SHIFT, bound=price, key=key)]
    if row.loss == "hinge":
        errors = ("test_error", theory.test_error, row.test_error)
        where += ", hinge, against the largest margin"
        found.append(place(DIRECTION, *errors, where=where, key=row.ratio == RATIO))
    return found


def _price(loss: str, length: float) -> float:
    """Return a bound on the training loss that a ridge of `SMALL` costs below capacity.

    The fit is no worse than c times the readout of margin 1: hinge with c = 1, and logistic
    with c = log(1/ridge), whose loss is below exp(-c).
    """
    if loss == "hinge":
        return 0.5 * SMALL * length**2
    c = math.log(1 / SMALL)
    return SMALL + 0.5 * SMALL * (c * length) ** 2


def turning(rows: Rows) -> tuple[list[Margin], Margin]:
    """Return the predicted logistic readouts by rising ridge, and that of largest margin."""
    logistic = select(rows, Margin, loss="logistic", ratio=RATIO)
    followed = sorted((row for row in logistic if row.ridge), key=lambda row: row.ridge)
    return followed, one(rows, Margin, loss="hinge", ratio=RATIO, ridge=0.0)


def _direction(rows: Rows) -> list[Comparison]:
    (last, before, *_), limit = turning(rows)
    short, long = 1 / last.length, 1 / before.length
    gap = last.test_error.value - before.test_error.value
    distances = series(select(rows, Distance), "ridge", "distance")
    falls = [a.value < b.value for (_, a), (_, b) in itertools.pairwise(distances)]
    return [
        compare(
            DIRECTION,
            "test_error",
            curve="logistic",
            where=f"theory at λ = {before.ridge:g} and {last.ridge:g}, extrapolated to 1/|w| = 0",
            expected=limit.test_error.value,
            found=last.test_error.value + gap * short / (long - short),
            # The gap falls as 1/|w|, with corrections of relative size 1/log(1/ridge) < 0.1 to it.
            allowance=0.1 * abs(last.test_error.value - limit.test_error.value),
            error=limit.test_error.error,
            converged=all(row.test_error.converged for row in (last, before, limit)),
            key=True,
        ),
        share(
            DIRECTION,
            "1 − cosine with the largest margin falls",
            falls,
            curve="logistic",
            where=f"measured on the same D1, share of steps down to λ = {distances[0][0]:g}",
            engine="reduced",
        ),
    ]


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the peak, the divergence, the losses around the capacity and the direction."""
    free = {"model": "attention", "ridge": 0.0}
    computed = {(c.claim, c.curve, c.quantity): c for c in comparisons if not c.trials}
    return {
        "square": SQUARE,
        "margin": MARGIN,
        "ratio": RATIO,
        "top": max(select(rows, Load, **free), key=lambda row: row.test_error.value),
        "simulated": max(select(rows, SimulatedLoad, **free), key=lambda r: r.test_error.value),
        "chi": computed[DIVERGES, "attention", "(α₁ − 1) χ"],
        "capacity": turning(rows)[1].capacity,
        "losses": [c for c in comparisons if c.key and c.claim in (ZERO, POSITIVE)],
        "extrapolated": computed[DIRECTION, "logistic", "test_error"],
        "turned": series(select(rows, Distance), "ridge", "distance"),
    }
