"""Experiments from work to words, each at a small size, and numbers whose change fails a claim."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.rows import Row, Rows


class Wrong(NamedTuple):
    """A claim, the rows that are changed, and how; other claims that hold nevertheless."""

    claim: str
    chosen: dict[str, Any]
    change: Callable[[float], float]
    error: float | None = None
    spared: tuple[str, ...] = ()


class Case(NamedTuple):
    """Small sizes, what the words say, what fails, and which comparisons hold at this size.

    Words may be made of the rows. Figures have so many entries in their legends.
    """

    small: dict[str, Any]
    words: tuple[tuple[str, str | Callable[[Rows], str]], ...] = ()
    wrong: tuple[Wrong, ...] = ()
    holding: Callable[[Comparison], bool] = lambda c: False
    seed: int = 0
    legends: tuple[tuple[str, int], ...] = ()


def every(comparison: Comparison) -> bool:
    """Say so of all comparisons."""
    return True


def computed(comparison: Comparison) -> bool:
    """Whether its size does not matter: no simulation is compared."""
    return comparison.engine == "computed"


def pm(row: Row) -> str:
    """Return a measured number as the words write it."""
    return f"{row.value:.4f} ± {row.error:.4f}"


def best_step(rows: Rows) -> str:
    """Return the least predicted error of the fastest query, and its step."""
    best = min(rows.where("theory", "test_error", **FAST), key=lambda row: row.value)
    return f"{best.value:.4f}, {best['step']} "


LOSS = {"series": "simulated", "quantity": "training_loss"}
FAST = {"ratio": 4.0, "start": 0.0}
PLACE = {"setting": "sparse token", "network": "softmax", "alpha": 2.0}
ERRORS = {"series": "theory", "quantity": "test_error"}

CASES = {
    "alignment": Case(
        dict(alphas=(0.5, 1.0), tensors=(1.0, 20, 3), curve_points=3),
        (
            ("Setting", "d = 20, 3 trials"),
            ("Figure: alignment", "Squares: the same experiment with real tensors"),
        ),
        (
            Wrong("query-alignment", {"series": "simulated"}, lambda v: 2.0),
            Wrong("steps-set-sharpness-only", {"quantity": "moved cosine"}, lambda v: 1e-6),
        ),
        computed,
    ),
    "anti-alignment": Case(
        dict(cells=5, trials=4, dimension=300, rates=(0.2,), alpha0s=(2.0,), factors=(0.4, 2.0)),
        (("Found", "turns away"), ("Setting", "at 0.4, 2 times the boundary")),
        (
            Wrong("", {"series": "simulated"}, lambda v: -v),
            Wrong("", {"series": "boundary", "panel": "rate"}, lambda v: 2 * v),
            Wrong("", {"series": "boundary", "panel": "small"}, lambda v: 1.01 * v),
        ),
        every,
    ),
    "misalignment": Case(
        dict(
            trials=6, dimension=100, alphas=(4.0,), cosines=(0.0, 0.8), lengths=(4,), curve_points=5
        ),
        (("Found", "cross at the cosine 0.194"), ("Found", "with finite data at 0.")),
        (
            Wrong("misaligned-attention-loses", {"series": "crossing"}, lambda v: 0.6 - v),
            Wrong("crossing-at-finite-load", {"series": "simulated", "model": "attention"},
                lambda v: 0.6 - v),
            Wrong("residual-error-falls-with-alignment",
                {**ERRORS, "length": 4, "alpha1": math.inf, "cosine": 0.25},
                lambda v: 0.6 - v),
        ),
        every,
    ),
    "rates": Case(
        dict(
            alphas=(5.0,), weights=50, fits=4, line_points=7, alpha0s=(10.0,), dimension=100,
            trials=5,
        ),
        (("Found", "the cosine is negative for anti-aligned"), ("Setting", "50 weights")),
        (
            Wrong("alignment-rate", {"quantity": "rate", "curve": "balanced"}, lambda v: 1.2 * v),
            Wrong("alignment-rate", {"series": "theory", "quantity": "misalignment"},
                lambda v: 1.2 * v),
            Wrong("infinite-data-rate",
                {"series": "theory", "quantity": "excess", "curve": "attention"},
                lambda v: 1.2 * v),
            Wrong("vectorized-and-pooled-share-the-limit", {**ERRORS, "curve": "vectorized"},
                lambda v: 1.2 * v),
        ),
        computed,
    ),
    "capacity-curves": Case(
        dict(
            points=3, lengths=(1, 4), features=(16, 32), sets=10, steps=(-0.7, 0.0, 0.7),
            samples=400, wide_features=(16, 32), wide_ratios=(0.8, 1.0, 1.2), wide_sets=10,
        ),
        (("Found", "standard errors"), ("Setting", "10 sets")),
    ),
    "learning-curves": Case(
        dict(
            judged=0.005, line=0.005, alphas=(1.0, 2.0), vectorized=(1.0,), trials=8, dimension=120,
            curve_points=3, floor_points=2, finite_trials=(40, 6), dimensions=(40, 80),
        ),
        (
            ("Setting", "d = 40, 80, with the number of trials"),
            ("Found", "training loss: c/d with c ="),
        ),
        (
            Wrong("learned-error",
                {"series": "simulated", "quantity": "test_error", "model": "pooled"},
                lambda v: v + 0.3, 1e-3),
            Wrong("finite-size", {"series": "finite"}, lambda v: 2 + v, None, ("learned-error",)),
        ),
        lambda c: c.claim == "learned-error",
    ),
    "networks": Case(
        # Four steps tell networks apart; where both must meet, eight take two heads below.
        dict(
            alphas=(2.0,),
            networks=("softmax", "mean pooling"),
            at_one_load=("self-attention", "gated, 2 units", "two heads"),
            meeting_alphas=(2.0, 8.0), meeting_at_one_load=(), unmeasured=(),
            covariances={"bag effects": ("softmax",)},
            steep=("mean pooling",), steps=4, bags=2**11, dimension=100, trials=4,
        ),
        (
            ("Setting", "d = 100, 4 trials"),
            ("Found", lambda rows: f"{rows.one('floor').value:.4f}"),
            *(
                (f"Question: {name}",
                    lambda rows: f"{rows.one('theory', 'test_error', **PLACE).value:.4f}")
                for name in ("gated-attention", "token-found", "networks-and-tokens")
            ),
        ),
        (
            Wrong("network-descent", {"series": "theory", "quantity": "attended", **PLACE},
                lambda v: 0.99),
            Wrong("one-head-fails", {**ERRORS, "setting": "both, equal", "network": "softmax"},
                lambda v: 0.01),
        ),
        lambda c: c.claim in ("network-descent", "one-head-fails"),
        seed=3,
    ),
    "token-covariance": Case(
        dict(
            dimension=200, trials=8, between=(0.0, 1.0), decay=(0.0, 0.5), shifted_trials=4,
            shifted_dimension=60,
            shifts={"length": (5, 20), "positive_rate": (0.2, 0.8), "strength": (3.0, 6.0)},
        ),
        (
            ("Setting", "d = 200, 8 trials"),
            ("Setting", "d = 60, 4 trials"),
            ("Found", "Trained at L = 10"),
        ),
        (
            Wrong("shifted-test-law", {"series": "theory", "change": "strength"}, lambda v: v + 0.2,
                None, ("covariance-learned-error",)),
        ),
        every,
    ),
    "ridgeless": Case(
        dict(
            loads=(0.5, 2.0), ridge_loads=(0.5, 2.0), vectorized_loads=(0.5,), ratios=(0.75, 1.25),
            margin_dimension=30, margin_trials=6, weights=40, trials=3, line_points=3,
            ridges=(0.001, 1e-05, 1e-06),
        ),
        (("Found", "max-margin"), ("Setting", "40 weights")),
        tuple(
            Wrong(claim, chosen, lambda v: 2 * v + 1)
            for claim, chosen in (
                ("susceptibility-diverges", {"quantity": "above"}),
                ("zero-loss-below-capacity", {**LOSS, "ratio": 0.75}),
                ("positive-loss-above-capacity", {**LOSS, "ratio": 1.25}),
                ("interpolation-threshold", {**LOSS, "load": 0.5, "ridge": 0.0}),
                ("direction-to-max-margin", {**ERRORS, "ridge": 1e-6}),
                ("interpolation-peak", {**ERRORS, "load": 1.491824698, "ridge": 0.0}),
            )
        ),
        computed,
    ),
    "data-reuse": Case(
        dict(loads=(2.0,), dimension=40, trials=5, replicas=2, samples=160, far_trials=3),
        (
            ("Setting", "5 trials, d = 40; below load 1, d is 40 divided by the load"),
            ("Found", lambda rows: pm(rows.one("trained", "test_error", arm="reused", load=2.0))),
            ("Found",
                lambda rows: f"reused {rows.one('theory', 'test_error', alpha=2.0).value:.4f}"),
        ),
        (
            Wrong("reuse-of-data", ERRORS, lambda v: 0.4),
            Wrong("reuse-or-splitting", ERRORS, lambda v: 0.4),
            Wrong("reuse-or-splitting", {"series": "attention"}, lambda v: 0.01),
        ),
        every,
        seed=4,
        legends=(("data_reuse", 6),),
    ),
    "joint-training": Case(
        # Six steps are enough for a minimum with the fastest query.
        dict(steps=(1, 4, 10), dimension=200, trials=5, replicas=2),
        (
            ("Found", "of the gap), the Bayes-optimal learner"),
            ("Found", best_step),
        ),
        (
            Wrong("joint-descent", {"series": "theory", "quantity": "training_loss", **FAST},
                lambda v: 0.1),
            Wrong("early-stopping", ERRORS, lambda v: 0.2),
        ),
        lambda c: c.claim == "joint-descent",
        seed=4,
    ),
    "tasks": Case(
        # In six steps the query turns far enough for an excess above its errors.
        dict(
            tasks=("single location",), more=(4.0, 8.0), steps=6, replicas=4, tolerance=0.1,
            tensors=(100, 4), far=(400, 6),
        ),
        (
            ("Setting", "from n/d = 4 on at d = 400, 6 trials"),
            ("Found",
                lambda rows: pm(next(
                    row for row in rows.where("simulated", "test_error") if row.dimension == 100
                ))),
            ("Headline: alignment-samples", "the test error after 6 steps"),
        ),
        (
            Wrong("task-descent", {"series": "simulated", "quantity": "overlap_w_value"},
                lambda v: v + 0.3),
            Wrong("alignment-samples", {**ERRORS, "step": 6, "alpha": 8.0}, lambda v: v + 0.1),
            Wrong("finding-costs-more", {"series": "theory", "quantity": "overlap_q_place",
                "step": 6, "alpha": 2.0}, lambda v: 2 * v),
        ),
        every,
        legends=(("tasks", 1),),
    ),
    "growing-length": Case(
        dict(ratios=(0.1, 0.2), dimensions=(20, 40), trials=2, alignment_trials=20),
        (
            ("Setting", "L/d = 0.1, 0.2; d = 20, 40"),
            ("Found",
                lambda rows: pm(rows.one("simulated", "test_error", arm="growing", length=8))),
        ),
        seed=4,
    ),
}  # fmt: skip
"""By experiment; those with rows of their own making have tests of their own."""
