"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.capacity.rows import Separable
from sparsetoken.experiments.capacity.work import MODELS, Profile
from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.finite_dimension import NO_SHIFT, carried_to_infinity
from sparsetoken.experiments.rows import Measured, Predicted, Rows, select
from sparsetoken.experiments.rules import judge
from sparsetoken.experiments.threshold import fit_threshold

CLAIMS = (
    Claim(
        "capacity",
        "D1 is linearly separable in feature space below a load α*, and not above; α* is known for "
        "all three models.",
    ),
    Claim(
        "same-law",
        "The experiment can be sampled without its tokens, with the same law: real tensors and "
        "the reduced engine separate equally often.",
    ),
)


def by_engine(rows: Rows, engine: str, **wanted: object) -> list[Separable]:
    """Return the rows of one engine, by rising load."""
    found = [row for row in select(rows, Separable, **wanted) if row.share.engine == engine]
    return sorted(found, key=lambda row: row.alpha1)


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    comparisons = []
    for model in MODELS:
        counted = [
            by_engine(rows, "reduced", model=model, features=features)
            for features in profile.features
        ]
        sizes = " and ".join(str(features) for features in profile.features)
        comparison = judge(
            "capacity",
            "threshold",
            counted[0][0].capacity,
            carried_to_infinity([_threshold(some) for some in counted]),
            curve=model,
            where=f"{sizes} features, carried to infinity",
            shift=NO_SHIFT,
            key=True,
        )
        comparisons.append(comparison)
    return [*comparisons, _engines(profile, rows)]


def _threshold(counted: Sequence[Separable]) -> Measured:
    """Return the load at which half of the training sets are separable, by a fitted curve."""
    sets = counted[0].share.trials
    counts = [round(row.share.value * row.share.trials) for row in counted]
    fit = fit_threshold([row.alpha1 for row in counted], counts, sets)
    status = "converged" if fit.converged else "max_iterations"
    total = sum(row.share.trials for row in counted)
    features = counted[0].features  # the size that it is carried to infinity in
    return Measured(fit.middle, fit.standard_error, features, total, status=status)


def _engines(profile: Profile, rows: Rows) -> Comparison:
    """Compare the share with real tensors with the share of the reduced engine."""
    (tensors,) = by_engine(rows, "tensors")
    (reduced,) = by_engine(
        rows, "reduced", model=tensors.model, features=tensors.features, ratio=tensors.ratio
    )
    return judge(
        "same-law",
        "separable",
        Predicted(reduced.share.value, reduced.share.error),
        tensors.share,
        curve=tensors.model,
        where=f"α₁ = {tensors.alpha1:.4g}, two engines",
        x=tensors.alpha1,
        shift=NO_SHIFT,  # the same law at every dimension
        key=True,
    )


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need: the measured thresholds at the larger dimension."""
    return {"thresholds": [c for c in comparisons if c.claim == "capacity" and c.key]}
