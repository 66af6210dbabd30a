"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons, largest_z
from sparsetoken.experiments.rows import Rows, one, select, series
from sparsetoken.experiments.rules import judge
from sparsetoken.experiments.shifted_test.rows import Simulated, Theory
from sparsetoken.experiments.shifted_test.work import ALPHA1, MODELS, Profile

CLAIMS = (
    Claim(
        "shifted-test-law",
        "The readout that the theory predicts also gives the test error on data of another law: "
        "other lengths, other shares of positives, other strengths of the signal.",
    ),
)
LETTERS = {"length": "L", "positive_rate": "π", "strength": "θ"}


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    return [_judged(profile, rows, row) for row in select(rows, Simulated)]


def _judged(profile: Profile, rows: Rows, row: Simulated) -> Comparison:
    found = row.test_error
    return judge(
        "shifted-test-law",
        "test_error",
        one(rows, Theory, model=row.model, shift=row.shift, value=row.value).test_error,
        found,
        curve=row.model,
        where=f"tested at {LETTERS[row.shift]}′ = {row.value:g}, d = {found.dimension}",
        x=row.value,
        group=row.shift,
        key=row.model == "attention" and row.value == profile.shifts[row.shift][-1],
    )


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need."""

    def measured(model: str, shift: str) -> list[tuple[float, Any]]:
        return series(select(rows, Simulated, model=model, shift=shift), "value", "test_error")

    return {
        "alpha1": ALPHA1,
        "lengths": {model: measured(model, "length") for model in MODELS},
        "rates": measured("attention", "positive_rate"),
        "largest": largest_z(comparisons),
    }
