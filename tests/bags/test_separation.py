"""Columns that separate the bags, planted and counted by hand."""

import numpy as np
import pytest

from sparsetoken.bags import Bags, SeparatingColumn, as_bags, separating_columns
from sparsetoken.base.validation import InvalidInput

LABELS = np.arange(60) % 2


def _noise(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((L, 5)) for L in rng.integers(2, 9, 60)]


def _slow_error(bags: Bags, plus: np.ndarray, column: int, sign: int) -> float:
    """Of all cuts, the least share of bags of which some token is on the wrong side."""
    cuts = np.unique(bags.tokens[:, column])
    cuts = (cuts[1:] + cuts[:-1]) / 2
    wrong = [
        [(sign * (bag[:, column] - cut) * (1 if one else -1) <= 0).any() for cut in cuts]
        for bag, one in zip(bags, plus, strict=True)
    ]
    return min(
        0.5, ((np.mean(np.array(wrong)[plus], 0) + np.mean(np.array(wrong)[~plus], 0)) / 2).min()
    )


@pytest.mark.parametrize(("summary", "sign"), [("min", 1), ("max", -1)])
@pytest.mark.parametrize("column", [0, 4])
def test_a_column_that_every_token_has_gives_the_class_away(
    summary: str, sign: int, column: int
) -> None:
    bags = _noise()
    for i in np.flatnonzero(LABELS):
        bags[i][:, column] = sign * 20
    best = separating_columns(as_bags(bags), LABELS)
    assert best == [SeparatingColumn(1, column, summary, 0.0)]


def test_a_signal_in_some_tokens_is_no_leak() -> None:
    bags = _noise()
    for i in np.flatnonzero(LABELS):
        bags[i][-1, 2] = 20
    assert separating_columns(as_bags(bags), LABELS) == []
    assert separating_columns(as_bags(bags), 1 - LABELS) == []  # nor the absence of one


def test_the_size() -> None:
    rng = np.random.default_rng(1)
    bags = [rng.standard_normal((30 + int(i % 2), 2)) for i in range(60)]
    for labels in (LABELS, 1 - LABELS):
        size = SeparatingColumn(1, None, "size", 0.0)
        assert separating_columns(as_bags(bags), labels) == [size]


@pytest.mark.parametrize("seed", range(3))
def test_the_error_is_that_of_the_best_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.random(60) < 0.4
    # rounded: equal values on both sides of the classes
    bags = as_bags(
        [np.round(bag + 4.4 * label, 1) for bag, label in zip(_noise(), labels, strict=True)]
    )
    found = separating_columns(bags, labels)
    for k in range(5):
        expected = _slow_error(bags, labels, k, 1)
        errors = [one.error for one in found if (one.column, one.summary) == (k, "min")]
        # abs: rounding of shares
        assert errors == pytest.approx([expected] if expected <= 0.05 else [], abs=1e-12)
    assert 0 < len(found) == len({one.column for one in found})
    assert [one.error for one in found] == sorted(one.error for one in found)


def test_few_bags_say_nothing() -> None:
    # One of 6 numbers on either side separates 4 of 8 bags by chance in up to 12 / 70.
    X = np.repeat(np.arange(8.0)[:, None, None], 5, axis=2)
    assert separating_columns(X, np.arange(8) >= 4) == []
    X = np.repeat(np.arange(16.0)[:, None, None], 5, axis=2)
    assert len(separating_columns(X, np.arange(16) >= 8)) == 5


def test_constant_columns_and_rare_classes_separate_nothing() -> None:
    rare = np.arange(60) == 7  # to say no always is right for 98%
    assert separating_columns(as_bags(np.ones((60, 2, 3))), rare) == []


def test_classes_are_taken_one_against_the_rest() -> None:
    names = np.array(["a", "b", "c"])[np.arange(60) % 3]
    bags = _noise()
    for i in np.flatnonzero(names == "c"):
        bags[i][:, 2] = 30
    best = separating_columns(as_bags(bags), names)[0]
    assert best == SeparatingColumn("c", 2, "min", 0.0)
    assert {one.label for one in separating_columns(as_bags(bags), names)} == {"c"}


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (LABELS[:-1], r"y must be one label for each of 60 bags; got \(59,\)"),
        (np.zeros(60), "y must be of at least two classes"),
    ],
)
def test_bad_labels(y: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        separating_columns(as_bags(_noise()), y)
