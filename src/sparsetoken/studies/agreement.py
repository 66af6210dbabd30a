"""Agreement: theory against real tokens over models, covariances, networks and tasks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sparsetoken.figures.palette import BLACK, CYCLE, GREY, PALE, RED, WINE
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    DIFFERENCE,
    LARGEST_Z,
    NO_SHIFT,
    SHIFTS,
    TENSORS,
    Claim,
    Comparison,
    Number,
    all_true,
    averaged,
    compare,
    detectable,
    largest_z,
    predicted,
    to_one_sample,
)
from sparsetoken.studies.settings import (
    BETWEEN,
    COVARIANCE,
    DECAY,
    FIT,
    MINIMUM,
    REUSE,
    RIDGELESS,
    SHIFTED,
    Setting,
    columns_of,
    reused,
    split,
    table,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import listed, pm

LAST = 5
"""Steps of a fit whose change counts as a numerical error."""
EDGE = 5.0
"""Of z in the figure; what lies beyond is drawn there."""
COLOURS = (*CYCLE, WINE, RED, GREY, BLACK)
"""Of the claims."""


class Agreement(Study):
    """Theory against real tokens over problems, models, covariances, networks and tasks."""

    name, title = "agreement", "Every model, network and task against real tokens"
    claims = (
        Claim(
            COVARIANCE,
            "For every model and convex loss, and tokens of any covariance, with or without an "
            "effect shared by the tokens of a sample whose covariance commutes with it, the saddle "
            "point gives test error, training loss, training error and AUC.",
        ),
        Claim(
            "shared-effects",
            "An effect shared by the tokens of a sample raises the test error of mean pooling more "
            "than that of attention.",
        ),
        Claim(
            "whitening",
            "For tokens with a decaying spectrum, whitening lowers the test error of attention "
            "with the query of two steps.",
        ),
        Claim(
            SHIFTED,
            "The predicted readout also gives test error and AUC under distribution shift: other "
            "lengths, other rates of positives, other signal strengths.",
        ),
        Claim(
            RIDGELESS,
            "Without a ridge the training loss vanishes below the load that can be fitted exactly "
            "and is positive above it; the limits of interpolation and of the largest margin give "
            "the test error.",
        ),
        Claim(
            "network-descent",
            "Under gradient descent on all weights of softmax attention with one or two heads, "
            "gated attention, self-attention and mean pooling, test error, training loss and the "
            "fraction of bags with a signal whose most attended token holds one have exact limits.",
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
            "With the same data for query and readout, D0 = D1, test error and query cosine also "
            "have exact limits: those of a single descent, the two steps and then the fit, on one "
            "data set.",
        ),
        Claim(
            "reuse-or-splitting",
            "Using all samples for both query and readout gives a smaller test error than "
            "splitting them evenly between the two.",
        ),
    )
    sizes = profiles(
        dimension=Size(250, 1000),
        trials=Size(12, 24),
        covariances=Size(
            {BETWEEN: (0.25, 0.5, 1.0), DECAY: (0.6,)},
            {BETWEEN: (0.1, 0.25, 0.5, 1.0, 2.0), DECAY: (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)},
        ),
        shifted=Size(
            {"length": (5, 40), "positive_rate": (0.1, 0.9), "strength": (2.0, 8.0)},
            {
                "length": (5, 20, 40, 80),
                "positive_rate": (0.05, 0.2, 0.8, 0.95),
                "strength": (1.0, 3.0, 6.0, 8.0),
            },
        ),
        descended=Size(300, 800),
        descended_trials=Size(6, 24),
        steps=Size(10, 20),
        task_steps=Size(8, 12),
        replicas=Size(3, 16),
        minimised_trials=Size(12, 24),
        alphas=Size((1.0, 4.0), (0.5, 1.0, 2.0, 4.0, 8.0)),
        samples=Size(600, 1600),
        reused_trials=Size(20, 40),
    )
    paper = "More covariances and test distributions, larger dimensions and more trials."
    caption = (
        "Measured with real tokens. Left: test errors (of numbers, the squared error), mean and "
        "one standard error, against the theory. Right: z of all comparisons, claim by claim in "
        "the order of the table; grey: where a comparison holds."
    )

    def theory(self, at: Sizes) -> Calls:
        return {row.place: row.theory for row in table(at)}

    def simulation(self, at: Sizes, seed: int) -> Calls:
        calls = {}
        for row in table(at):
            # Rows that are compared with one another meet the same samples.
            own = (row.claim, row.where) if row.paired else row.place
            calls[row.place] = partial(row.simulation, seed=seed_of("agreement", *own, seed))
        return calls

    def judge(self, run: Run) -> Iterator[Comparison]:
        for row in table(run.at):
            yield from self._row(run, row)
        yield from self._orders(run)
        yield from self._splitting(run)

    def _row(self, run: Run, row: Setting) -> Iterator[Comparison]:
        result = run.theory[row.place]
        for step in row.steps or (None,):
            where = row.where if step is None else f"{row.where}, step {step}"
            for quantity in columns_of(row, result):
                found = run.measured(row.place, quantity, step)
                if quantity == "training_error":
                    samples = row.simulation.args[2].alpha1 * found.dimension
                    found = to_one_sample(found, samples)
                theory = self._known(run, row, quantity, step)
                name = "cosine" if quantity == "cosine_q" else quantity
                # The finite-size effect of overlaps was not measured: all counts.
                place: dict[str, Any] = {"shift": SHIFTS.get(name, NO_SHIFT)}
                if quantity == "attended":
                    # What is not attended is an error of a kind, off as a test error is.
                    place = {"shift": SHIFTS["test_error"], "size": 1 - theory.value}
                place |= {"curve": row.curve, "where": where, "key": quantity == "test_error"}
                if quantity in row.bounds:
                    place |= {"shift": NO_SHIFT, "bound": row.bounds[quantity](result)}
                yield compare(row.claim, name, theory, found, **place)

    def _known(self, run: Run, row: Setting, quantity: str, step: int | None) -> Number:
        """Return what is predicted, of a fit by descent with what its last steps still change."""
        result = run.theory[row.place]
        known = predicted(result if step is None else result.isel(step=step), quantity)
        if row.claim != REUSE or step is None:
            return known
        before = predicted(result.isel(step=step - LAST), quantity)
        error = math.hypot(known.error, known.value - before.value)
        return dataclasses.replace(known, error=error)

    def _place(self, run: Run, change: str, to: float, classifier: str) -> tuple[str, str, str]:
        return COVARIANCE, classifier, f"{change} {to:g}, d = {run.at.dimension}"

    def _error(self, run: Run, change: str, to: float, classifier: str) -> Number:
        return run.measured(self._place(run, change, to, classifier), "test_error")

    def _gap(self, run: Run, change: str, to: float, *classifiers: str) -> Number:
        """Return the mean difference of the test errors of two classifiers on the same samples."""
        above, below = (
            run.simulated[self._place(run, change, to, name)].trials.test_error
            for name in classifiers
        )
        return averaged(above - below, dimension=run.at.dimension)

    def _orders(self, run: Run) -> Iterator[Comparison]:
        """Judge differences of measured numbers by three standard errors."""
        changes = run.at.covariances
        few, most = changes[BETWEEN][0], changes[BETWEEN][-1]
        gap, less = (self._gap(run, BETWEEN, to, "pooled", "attention") for to in (most, few))
        rise = gap - less
        where = f"from {few:g} to {most:g}: pooled rises by {pm(rise, 4)} more"
        true = [rise.value > 3 * rise.error]
        yield all_true("shared-effects", "larger rise", true, [rise], where=where, key=True)
        # The effect vanishes as the spectra become flat.
        steep = [to for to in changes[DECAY] if to >= 0.3]
        gaps = [self._gap(run, DECAY, to, "attention", "whitened") for to in steep]
        true = [gap.value > 3 * gap.error for gap in gaps]
        where = f"decay {listed(steep)}: lower by {'; '.join(pm(gap, 4) for gap in gaps)}"
        yield all_true("whitening", "lower error", true, gaps, where=where, key=True)

    def _splitting(self, run: Run) -> Iterator[Comparison]:
        """Compare one data set with the four stages on as many samples."""
        claim, gains = "reuse-or-splitting", []
        for once, halves in zip(reused(run.at), split(run.at), strict=True):
            known = self._known(run, once, "test_error", 2 + FIT)
            found = run.measured(once.place, "test_error", 2 + FIT)
            fresh = predicted(run.theory[halves.place], "test_error")
            gains.append(known - fresh)
            found -= run.measured(halves.place, "test_error")
            # A difference of two test errors is off at finite d by as much as the larger one.
            place: dict[str, Any] = {"shift": DIFFERENCE, "size": fresh.value}
            place |= {"curve": "one data set − split", "where": halves.where}
            yield compare(claim, "test_error", gains[-1], found, **place)
        true = [gain.value < -3 * gain.error for gain in gains]
        where = f"n/d = {listed(run.at.alphas)}, three errors"
        yield all_true(claim, "smaller", true, gains, where=where, curve="theory", key=True)

    def setting(self, at: Sizes) -> str:
        return (
            f"Readouts: d = {at.dimension}, {at.trials} trials. All models among isotropic tokens; "
            "then L = 10, R = 1, π = 0.5, θ = 5, logistic loss, λ = 0.01, α₁ = 2 with tokens that "
            "share N(0, b · 0.9^{|i−j|}) within their sample and a given query (s = 0.9, k = 1), "
            "or with eigenvalues that decay as a power of their index, with mean 1, and the query "
            "of two steps (α₀ = 2); the signal has projections of all sizes on the eigenvectors. "
            "Test data of another law: trained with α₁ = 4 on isotropic tokens. Without a ridge: "
            "the square loss around α₁ = 1, where exact fits differ by rounding, below 10^{−12}; "
            "hinge and logistic around their capacity of 2.64 (L = 4, θ = 2), simulated with a "
            "ridge of 10^{−6}. Below capacity the loss that this ridge can cost does not count, "
            "and the direction of the logistic readout is not compared.\n\n"
            f"Descents on all weights: d = {at.descended}, {at.descended_trials} trials, n/d = 2, "
            f"{at.steps} steps from random weights, after half of them and at the end; with two "
            "signals of θ = 5, L = 5 and n/d = 8, a bag is positive if it holds both. The tasks "
            f"are those of sparsetoken.tasks, {at.task_steps} steps. The theory has {at.replicas} "
            "replicas, whose spread is its error.\n\n"
            "Minima over all weights: L-BFGS on the same objective as the theory, from weights "
            f"with the signal, {at.minimised_trials} trials.\n\n"
            f"One data set: the two steps and then {FIT} steps with momentum that bring the "
            f"readout near its minimum, all on the same {at.samples} samples, n/d = "
            f"{listed(at.alphas)}; what the last {LAST} steps still change is a part of the error. "
            f"Split evenly: the four stages on as many samples. {at.reused_trials} trials of both."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        judged = [c for c in comparisons if c.engine == TENSORS]
        few, *_, most = run.at.covariances[BETWEEN]
        steep = run.at.covariances[DECAY][-1]
        pooled, attention = (
            [pm(self._error(run, BETWEEN, to, name), 3) for to in (few, most)]
            for name in ("pooled", "attention")
        )
        plain, whitened = (
            pm(self._error(run, DECAY, steep, name), 3) for name in ("attention", "whitened")
        )
        return (
            f"Over {len(table(run.at))} settings, {len(judged)} comparisons with real tokens have "
            f"a largest |z| of {largest_z(judged):.1f}; half of them would fail if the theory were "
            f"off by {100 * detectable(judged):.1f} %.\n\n"
            f"From a shared covariance of {few:g} to one of {most:g} the measured test error of "
            f"mean pooling goes from {pooled[0]} to {pooled[1]}, that of attention from "
            f"{attention[0]} to {attention[1]}: softmax weights are invariant to what all tokens "
            f"of a sample share. With the steepest spectrum attention reaches {plain}, and "
            f"{whitened} on whitened tokens: directions of high variance bias the query."
        )

    def draw(self, run: Run) -> Figure:
        figure, (left, right) = plot.panels(2, 10.4, 4.4)
        start, names = 0, [claim.name for claim in self.claims]
        judged = [c for c in self.judge(run) if np.isfinite(c.z)]
        right.axhspan(-LARGEST_Z, LARGEST_Z, color=PALE, lw=0)
        left.plot((0.004, 1.0), (0.004, 1.0), color=BLACK, lw=0.8, label="_equal")
        for name in (name for name in names if any(c.claim == name for c in judged)):
            some = [c for c in judged if c.claim == name]
            look: dict[str, Any] = {"color": COLOURS[names.index(name)], "ms": 4}
            errors = [c for c in some if c.quantity == "test_error" and c.theory > 0]
            known, found, error = (
                [getattr(c, field) for c in errors]
                for field in ("theory", "measured", "standard_error")
            )
            left.errorbar(known, found, yerr=error, fmt="D", label=name, **look)
            place = np.arange(start, start + len(some))
            z = np.clip([c.z for c in some], -EDGE, EDGE)
            right.plot(place, z, "D", label=f"_{name}", **look)
            start += len(some) + 2
        left.set(xscale="log", yscale="log", xlabel="predicted test error", ylabel="measured")
        right.set(xlabel="comparison", ylabel="z", ylim=(-1.1 * EDGE, 1.1 * EDGE))
        return plot.finish(figure, columns=4)
