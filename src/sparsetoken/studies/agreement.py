"""Agreement: theory against real tokens over models, covariances, networks and tasks."""

from __future__ import annotations

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
    NO_SHIFT,
    SHIFTS,
    TENSORS,
    Claim,
    Comparison,
    Number,
    all_true,
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

COLOURS = (*CYCLE, WINE, RED, GREY)
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
            "Without a ridge, the limits of interpolation and of the largest margin give test "
            "error and training loss below and above the load that can be fitted exactly.",
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
            {BETWEEN: (0.25, 0.5, 1.0), DECAY: (0.3, 0.6)},
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
        steps=Size(12, 20),
        task_steps=Size(8, 12),
        replicas=Size(3, 16),
        alphas=Size((1.0, 2.0, 4.0), (0.5, 1.0, 2.0, 4.0, 8.0)),
        samples=Size(600, 1600),
    )
    paper = "More covariances and test distributions, larger dimensions and more trials."
    caption = (
        "Measured with real tokens. Left: test errors, mean and one standard error, against "
        "the theory. Right: z of all comparisons, claim by claim in the order of the table; grey: "
        "within three standard errors."
    )

    def theory(self, at: Sizes) -> Calls:
        return {row.place: row.theory for row in table(at)}

    def simulation(self, at: Sizes, seed: int) -> Calls:
        calls = {}
        for row in table(at):
            # Classifiers that are compared meet the same samples.
            own = seed_of("agreement", row.claim, row.where, seed)
            calls[row.place] = partial(row.simulation, seed=own)
        return calls

    def judge(self, run: Run) -> Iterator[Comparison]:
        for row in table(run.at):
            if row.claim in {claim.name for claim in self.claims}:
                yield from self._row(run, row)
        yield from self._orders(run)
        yield from self._splitting(run)

    def _row(self, run: Run, row: Setting) -> Iterator[Comparison]:
        result = run.theory[row.place]
        for step in row.steps or (None,):
            known = result if step is None else result.isel(step=step)
            where = row.where if step is None else f"{row.where}, step {step}"
            for quantity in columns_of(row, result):
                found = run.measured(row.place, quantity, step)
                if quantity == "training_error":
                    samples = row.simulation.args[2].alpha1 * found.dimension
                    found = to_one_sample(found, samples)
                theory = predicted(known, quantity)
                name = "cosine" if quantity == "cosine_q" else quantity
                # The finite-size effect of overlaps was not measured: all counts.
                place: dict[str, Any] = {"shift": SHIFTS.get(name, NO_SHIFT)}
                if quantity == "attended":
                    # What is not attended is an error of a kind, off as a test error is.
                    place = {"shift": SHIFTS["test_error"], "size": 1 - theory.value}
                place |= {"curve": row.curve, "where": where, "key": quantity == "test_error"}
                if quantity in row.bounds:
                    place |= {"shift": NO_SHIFT, "bound": row.bounds[quantity]}
                yield compare(row.claim, name, theory, found, **place)

    def _error(self, run: Run, change: str, to: float, classifier: str) -> Number:
        where = f"{change} {to:g}, d = {run.at.dimension}"
        return run.measured((COVARIANCE, classifier, where), "test_error")

    def _orders(self, run: Run) -> Iterator[Comparison]:
        """Judge differences of measured numbers by three standard errors."""
        at, changes = run.at, run.at.covariances
        few, most = changes[BETWEEN][0], changes[BETWEEN][-1]
        rises = {
            name: self._error(run, BETWEEN, most, name) - self._error(run, BETWEEN, few, name)
            for name in ("pooled", "attention")
        }
        gap = rises["pooled"] - rises["attention"]
        where = f"measured, from {few:g} to {most:g}, three standard errors"
        true = [gap.value > 3 * gap.error]
        yield all_true("shared-effects", "larger rise", true, [gap], where=where, key=True)
        # The effect vanishes as the spectra become flat.
        steep = [to for to in changes[DECAY] if to >= 0.3]
        gaps = [
            self._error(run, DECAY, to, "attention") - self._error(run, DECAY, to, "whitened")
            for to in steep
        ]
        true = [gap.value > 3 * gap.error for gap in gaps]
        where = f"measured, d = {at.dimension}, decay ≥ {steep[0]:g}"
        yield all_true("whitening", "lower error", true, gaps, where=where, key=True)

    def _splitting(self, run: Run) -> Iterator[Comparison]:
        """Compare one data set with the four stages on as many samples."""
        claim, gains = "reuse-or-splitting", []
        for once, halves in zip(reused(run.at), split(run.at), strict=True):
            known = predicted(run.theory[once.place].isel(step=2 + FIT), "test_error")
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
            "the square loss around α₁ = 1, hinge and logistic around their capacity of 2.87 "
            "(L = 4, θ = 2).\n\n"
            f"Descents on all weights: d = {at.descended}, {at.descended_trials} trials, n/d = 2, "
            f"{at.steps} steps from random weights, after half of them and at the end; with two "
            "signals of θ = 5, L = 5 and n/d = 8, a bag is positive if it holds both. The tasks "
            f"are those of sparsetoken.tasks, {at.task_steps} steps. The theory has {at.replicas} "
            "replicas, whose spread is its error.\n\n"
            f"One data set: the two steps and then {FIT} steps that bring the readout to its "
            f"minimum, all on the same {at.samples} samples; split evenly: the four stages on as "
            "many."
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
        right.axhspan(-3, 3, color=PALE, lw=0)
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
            right.plot(place, [c.z for c in some], "D", label=f"_{name}", **look)
            start += len(some) + 2
        left.set(xscale="log", yscale="log", xlabel="predicted test error", ylabel="measured")
        right.set(xlabel="comparison", ylabel="z", ylim=(-5, 5))
        return plot.finish(figure, columns=4)
