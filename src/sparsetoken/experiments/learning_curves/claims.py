"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.learning_curves.rows import QUANTITIES, Simulated, Theory
from sparsetoken.experiments.learning_curves.work import ALPHA0, Profile
from sparsetoken.experiments.rows import Rows, select
from sparsetoken.experiments.rules import judge

CLAIMS = (
    Claim(
        "learned-error",
        "After the readout is fitted on n₁ = α₁ d samples, test error and training loss of all "
        "three models have exact limits, solutions of a few equations.",
    ),
    Claim(
        "score-law",
        "The law of the score is known as well: it gives the share of the training set that is "
        "misjudged, and the ROC curve with its area.",
    ),
    Claim(
        "feature-law",
        "The softmax acts through L scalars only: pooled features have a law with three random "
        "scalars, exact at every d. Real tensors must give what that law predicts.",
    ),
)
_OF_QUANTITY = dict(
    zip(QUANTITIES, ("learned-error", "learned-error", "score-law", "score-law"), strict=True)
)


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    theory = {
        (row.model, row.loss, row.alpha1): row
        for row in select(rows, Theory)
        if type(row) is Theory
    }
    return [
        _judged(name, theory[row.model, row.loss, row.alpha1], row, row.alpha1 in profile.key)
        for row in select(rows, Simulated)
        for name in QUANTITIES
        if (row.model, row.loss, row.alpha1) in theory
    ]


def _judged(name: str, theory: Theory, row: Simulated, key: bool) -> Comparison:
    found = getattr(row, name)
    tensors = found.engine == "tensors"
    return judge(
        "feature-law" if tensors else _OF_QUANTITY[name],
        name,
        getattr(theory, name),
        found,
        curve=row.model,
        where=f"{row.loss}, α₁ = {row.alpha1:g}, d = {found.dimension}",
        x=row.alpha1,
        group=row.loss,
        key=key or tensors,
    )


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need."""
    at_two = [
        row
        for row in select(rows, Simulated, loss="logistic", alpha1=2.0)
        if row.test_error.engine == "reduced"
    ]
    return {
        "alpha0": ALPHA0,
        "at_two": at_two,
        "comparisons": len(comparisons),
        "far": sum(abs(c.z) > 2 for c in comparisons),
    }
