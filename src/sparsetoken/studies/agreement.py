"""Agreement: theory against real tokens over models, covariances, networks and tasks."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sparsetoken.figures.palette import BLACK, CYCLE, GREY, LIGHT_GREY, RED, WINE
from sparsetoken.studies.claims import (
    LARGEST_Z,
    TENSORS,
    Claim,
    Number,
    all_true,
    judged,
    predicted,
    row,
    to_infinity,
)
from sparsetoken.studies.descent_settings import (
    ALPHAS,
    FIT,
    MINIMUM,
    REUSE,
    minima,
    network_descents,
    reused,
    split,
    task_descents,
)
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.readout_settings import (
    BETWEEN,
    CHANGES,
    DECAY,
    RIDGELESS,
    SHIFTED,
    SMALL,
    covariances,
    models,
    ridgeless,
    shifted_tests,
)
from sparsetoken.studies.settings import COVARIANCE, READOUT, Setting, columns_of
from sparsetoken.studies.study import Call, Experiment, Run, Study, means, measured, where_of

LAST = 5
"""Steps of a fit whose change counts as a numerical error."""
EDGE = 5.0
"""Of z in the figure; what lies beyond is drawn there."""
ERRORS, Z = "test error, predicted and measured", "z of all comparisons"
EQUAL, LIMIT = "equal", f"|z| = {LARGEST_Z:g}"
CLAIMS = (
    Claim(
        COVARIANCE,
        "For every model and convex loss, and tokens of any covariance, with or without an effect "
        "shared by the tokens of a sample whose covariance commutes with it, the saddle point "
        "gives test error, training loss, training error and AUC.",
    ),
    Claim(
        "shared-effects",
        "An effect shared by the tokens of a sample raises the test error of mean pooling more "
        "than that of attention.",
    ),
    Claim(
        "whitening",
        "For tokens with a decaying spectrum, whitening lowers the test error of attention with "
        "the query of two steps.",
    ),
    Claim(
        SHIFTED,
        "The predicted readout also gives test error and AUC under distribution shift: other "
        "lengths, other rates of positives, other signal strengths.",
    ),
    Claim(
        RIDGELESS,
        "Without a ridge the training loss vanishes below the load that can be fitted exactly and "
        "is positive above it; the limits of interpolation and of the largest margin give the "
        "test error.",
    ),
    Claim(
        "network-descent",
        "Under gradient descent on all weights of softmax attention with one or two heads, gated "
        "attention, self-attention and mean pooling, test error, training loss and the fraction "
        "of bags with a signal whose most attended token holds one have exact limits.",
    ),
    Claim(
        "task-descent",
        "For any target that depends on tokens through a few directions, a class or a number, "
        "test error, training loss and overlaps with the directions have exact limits under "
        "gradient descent on all weights.",
    ),
    Claim(
        MINIMUM,
        "The minimum over all weights of the regularised loss has exact limits where replica "
        "symmetry holds: test error, training loss and objective of softmax attention and mean "
        "pooling, for a class and for a number.",
    ),
    Claim(
        REUSE,
        "With the same data for query and readout, D0 = D1, test error and query cosine also have "
        "exact limits: those of a single descent, the two steps and then the fit, on one data set.",
    ),
    Claim(
        "reuse-or-splitting",
        "Using all samples for both query and readout gives a smaller test error than splitting "
        "them evenly between the two.",
    ),
)


class Agreement(Study):
    """Theory against real tokens over problems, models, covariances, networks and tasks."""

    name, title = "agreement", "Every model, network and task against real tokens"
    setting = (
        "All models on isotropic tokens; tokens of other covariances, with a signal that has "
        "projections of all sizes on the eigenvectors, and tests of another law, with "
        f"{READOUT.loss.name} loss, L = 10, R = 1, π = 0.5 and θ = 5; readouts without a ridge, of "
        f"{SMALL:g} where a simulation needs one; descents on all weights; minima over all weights "
        f"from weights with the signal; the two steps and then {FIT} steps of the readout on one "
        "data set, against two of half its size."
    )
    caption = (
        "Left, test errors with real tokens (of numbers, the squared error) against the predicted "
        "ones; right, z of all comparisons claim by claim in the order of the table, cut off at "
        f"{EDGE:g}."
    )
    claims = CLAIMS
    panels = (
        Panel(ERRORS, "predicted", "measured", log={"x": (), "y": ()}),
        Panel(Z, "comparison", "z", limits={"ylim": (-1.1 * EDGE, 1.1 * EDGE)}),
    )
    looks = {
        claim.name: Look(colour, marker="D")
        for claim, colour in zip(CLAIMS, (*CYCLE, WINE, RED, GREY, BLACK), strict=True)
    } | {
        EQUAL: Look(BLACK, label=""),
        LIMIT: Look(LIGHT_GREY, "--"),
    }

    def theory(self, scale: int) -> Mapping[Any, Call]:
        return {place: theory for place, (theory, _) in _pairs().items()}

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        return {
            place: dataclasses.replace(one, trials=one.trials * scale)
            for place, (_, one) in _pairs().items()
        }

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        compared = [*_compared(run), *_vanishing(run), *_orders(run), *_splitting(run)]
        yield from compared
        yield from _drawn(judged(compared))


def table() -> list[Setting]:
    """Return all settings."""
    kinds = (
        models, covariances, shifted_tests, ridgeless,
        network_descents, task_descents, minima, reused, split,
    )  # fmt: skip
    return [setting for kind in kinds for setting in kind()]


def _pairs() -> dict[Any, tuple[Call, Experiment]]:
    """Return theory and experiment at each place."""
    return {place: pair for one in table() for place, pair in one.pairs.items()}


def _compared(run: Run) -> Iterator[dict[str, Any]]:
    """Compare the quantities of all settings."""
    for one in table():
        result = run.theory[[*one.pairs][-1]]
        for step, quantity in itertools.product(one.steps or (None,), columns_of(one, result)):
            if not (one.vanishing and quantity == "training_loss"):
                yield row(
                    *_numbers(run, one, quantity, step),
                    claim=one.claim,
                    curve=one.curve,
                    quantity="cosine" if quantity == "cosine_q" else quantity,
                    where=_where(one, step),
                    key=quantity == "test_error",
                )


def _where(one: Setting, step: int | None = None) -> str:
    """Return a place for readers."""
    sizes = where_of([d for _, experiment in one.pairs.values() for d in experiment.dimensions])
    return f"{one.where}, {sizes}" if step is None else f"{one.where}, step {step}, {sizes}"


def _numbers(run: Run, one: Setting, quantity: str, step: int | None) -> tuple[Number, Number]:
    """Return what is predicted and measured.

    Where tokens have a dimension, so has the theory: the difference is extrapolated.
    """
    known = [_known(run, one, place, quantity, step) for place in one.pairs]
    found = [_found(run, one, place, quantity, step) for place in one.pairs]
    if len(known) == 1:
        return known[0], found[0]
    gap = to_infinity([m - t for m, t in zip(found, known, strict=True)])
    limit = known[-1]
    return Number(limit.value, converged=limit.converged), dataclasses.replace(
        gap, value=limit.value + gap.value
    )


def _known(run: Run, one: Setting, place: Any, quantity: str, step: int | None) -> Number:
    """Return what is predicted, of a fit by descent with what its last steps still change."""
    result = run.theory[place]
    known = predicted(result if step is None else result.isel(step=step), quantity)
    if one.claim != REUSE or step is None:
        return known
    before = predicted(result.isel(step=step - LAST), quantity)
    return dataclasses.replace(known, error=math.hypot(known.error, known.value - before.value))


def _found(run: Run, one: Setting, place: Any, quantity: str, step: int | None) -> Number:
    some = run.simulated[place]
    samples = some.experiment.call.args[2].alpha1 if quantity == "training_error" else 0.0
    return measured(quantity, some, step=step, samples=samples)


def _vanishing(run: Run) -> Iterator[dict[str, Any]]:
    """Judge that vanishing training losses are no more than rounding or a ridge can leave."""
    true, used = [], []
    for one in table():
        if one.vanishing:
            (place,) = one.pairs
            # At small dimensions some sets below that load cannot be fitted exactly.
            used.append(means("training_loss", run.simulated[place])[-1])
            true.append(used[-1].value <= one.vanishing(run.theory[place]))
    where = f"{len(true)} settings below the load that can be fitted exactly, at the largest d"
    yield all_true(true, used, claim=RIDGELESS, quantity="training loss vanishes", where=where)


def _higher(run: Run, change: str, to: float, *classifiers: str) -> Number:
    """Return by how much the first of two test errors is higher on the same samples."""
    trials = [run.simulated[COVARIANCE, name, f"{change} {to:g}", 1] for name in classifiers]
    return measured(lambda above, below: above.test_error - below.test_error, *trials)


def _orders(run: Run) -> Iterator[dict[str, Any]]:
    """Judge differences of measured numbers by three standard errors."""
    few, most = (_higher(run, BETWEEN, CHANGES[BETWEEN][i], "pooled", "attention") for i in (0, -1))
    steepest = CHANGES[DECAY][-1]
    for claim, quantity, gap in (
        ("shared-effects", "larger rise of pooled", most - few),
        ("whitening", "lower if whitened", _higher(run, DECAY, steepest, "attention", "whitened")),
    ):
        where = f"d = {gap.dimension}, by {gap.value:.4f} ± {gap.error:.4f}"
        given = {"claim": claim, "quantity": quantity, "where": where, "key": True}
        yield all_true([gap.value > 3 * gap.error], [gap], **given)


def _splitting(run: Run) -> Iterator[dict[str, Any]]:
    """Compare one data set with the four stages on as many samples."""
    gains, given = [], {"claim": "reuse-or-splitting"}
    for once, halves in zip(reused(), split(), strict=True):
        known, found = _numbers(run, once, "test_error", once.steps[0])
        fresh, measured_fresh = _numbers(run, halves, "test_error", None)
        gains.append(known - fresh)
        place = {"curve": "one data set − split", "where": _where(halves)}
        yield row(gains[-1], found - measured_fresh, quantity="test_error", **place, **given)
    true = [gain.value < -3 * gain.error for gain in gains]
    where = f"n/d = {' and '.join(f'{alpha:g}' for alpha in ALPHAS)}, three errors"
    yield all_true(true, gains, quantity="smaller", curve="theory", where=where, key=True, **given)


def _drawn(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield test errors and z claim by claim, in the colours of the claims."""
    for x in (0.004, 1.0):
        yield row(x, x=x, panel=ERRORS, curve=EQUAL)
    scored, start = frame[frame.z.notna() & (frame.claim != "")], 0
    for claim, some in scored.groupby("claim", sort=False):
        errors = some[(some.quantity == "test_error") & (some.theory > 0)]
        for one in errors.itertuples():
            found = Number(one.measured, one.standard_error, TENSORS, one.dimension, one.trials)
            found = dataclasses.replace(found, converged=bool(one.converged))
            yield row(None, found, x=one.theory, panel=ERRORS, curve=claim)
        for x, z in enumerate(np.clip(some.z, -EDGE, EDGE), start):
            yield row(None, Number(z, engine=TENSORS), x=x, panel=Z, curve=claim)
        start += len(some) + 2
    for z in (LARGEST_Z, math.nan, -LARGEST_Z):  # two lines: nothing is drawn at nan
        for x in (0, start):
            yield row(z, x=x, panel=Z, curve=LIMIT)
