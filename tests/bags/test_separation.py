"""Columns that separate the bags, planted and counted by hand."""

from pathlib import Path

import numpy as np
import pytest

from sparsetoken.bags import Bags, SeparatingColumn, as_bags, from_long, separating_columns
from sparsetoken.validation import InvalidInput

MIL = Path(__file__).parents[3] / "shared" / "data" / "mil"
LABELS = np.arange(60) % 2


def _noise(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((L, 5)) for L in rng.integers(2, 9, 60)]


def _slow_error(values: np.ndarray, plus: np.ndarray) -> float:
    cuts = np.concatenate([[-np.inf], np.unique(values)])
    wrong = [((values[plus] <= c).mean() + (values[~plus] > c).mean()) / 2 for c in cuts]
    return min(*wrong, *(1 - np.array(wrong)))


def test_noise_separates_nothing() -> None:
    assert separating_columns(as_bags(_noise()), LABELS) == []


@pytest.mark.parametrize(("summary", "sign"), [("max", 1), ("min", -1)])
@pytest.mark.parametrize("column", [0, 4])
def test_one_token_gives_the_class_away(summary: str, sign: int, column: int) -> None:
    bags = _noise()
    for i in np.flatnonzero(LABELS):
        bags[i][-1, column] = sign * 20
    best = separating_columns(as_bags(bags), LABELS)[0]
    assert best == SeparatingColumn(1, column, summary, 0.0)


def test_the_absence_of_a_token_is_found_too() -> None:
    bags = _noise()
    for i in np.flatnonzero(LABELS == 0):
        bags[i][0, 3] = 20
    best = separating_columns(as_bags(bags), LABELS)[0]
    assert best == SeparatingColumn(1, 3, "max", 0.0)


def test_the_mean_and_the_size() -> None:
    rng = np.random.default_rng(1)
    bags = [rng.standard_normal((30 + int(i % 2), 2)) for i in range(60)]
    size = SeparatingColumn(1, None, "size", 0.0)
    assert separating_columns(as_bags(bags), LABELS) == [size]
    for i in np.flatnonzero(LABELS):
        bags[i][:, 0] += 1.5  # 30 tokens: 8 standard deviations of the mean, 1.5 of a token
    found = separating_columns(as_bags(bags), LABELS)
    assert (found[0].label, found[0].column, found[0].summary) == (1, 0, "mean")
    assert {one.summary for one in found if one.error == 0} == {"mean", "size"}


@pytest.mark.parametrize("seed", range(3))
def test_the_error_is_that_of_the_best_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.random(60) < 0.2
    # rounded: equal values on both sides of the classes
    bags = as_bags([np.round(bag + label, 1) for bag, label in zip(_noise(), labels, strict=True)])
    found = separating_columns(bags, labels, error=0.499)
    means = np.stack([bag.max(axis=0) for bag in bags])
    for one in found:
        if one.summary == "max":
            expected = _slow_error(means[:, one.column], labels)
            assert one.error == pytest.approx(expected, abs=1e-12)  # rounding of shares
    assert sum(one.summary == "max" for one in found) == 5
    assert [one.error for one in found] == sorted(one.error for one in found)


def test_constant_columns_and_rare_classes_separate_nothing() -> None:
    rare = np.arange(60) == 7  # to say no always is right for 98%
    assert separating_columns(as_bags(np.ones((60, 2, 3))), rare) == []


def test_classes_are_taken_one_against_the_rest() -> None:
    names = np.array(["a", "b", "c"])[np.arange(60) % 3]
    bags = _noise()
    for i in np.flatnonzero(names == "c"):
        bags[i][0, 2] = 30
    best = separating_columns(as_bags(bags), names)[0]
    assert best == SeparatingColumn("c", 2, "max", 0.0)
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


@pytest.mark.parametrize("error", [-0.1, 0.5, np.nan, "none"])
def test_bad_errors(error: object) -> None:
    with pytest.raises(InvalidInput, match="error must be a finite number in"):
        separating_columns(as_bags(_noise()), LABELS, error=error)  # type: ignore[arg-type]


def _real(path: Path) -> tuple[Bags, np.ndarray]:
    with np.load(path) as data:
        return from_long(data["X"], data["bag"]).bags, data["y"]


@pytest.mark.skipif(not MIL.exists(), reason="shared/data/mil is not here")
def test_no_column_of_the_classic_sets_separates_them() -> None:
    for path in sorted(MIL.glob("*.npz")):
        assert separating_columns(*_real(path)) == [], path.stem


def test_labels_that_are_masked_or_too_long():
    X, y = np.ones((4, 2, 1)), [0, 1, 0, 1]
    with pytest.raises(InvalidInput, match="y must be an array without masked values"):
        separating_columns(X, np.ma.array(y, mask=y))
    with pytest.raises(InvalidInput, match="y must be of integers of at most 64 bits"):
        separating_columns(X, [10**5000, 1, 0, 1])
