"""Nothing changes at once at some size of the data: members see a sample where there is much."""

from __future__ import annotations

import numpy as np
import pytest

from sparsetoken import BagClassifier, BagRegressor
from sparsetoken.bags import as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import stack
from sparsetoken.estimators.fitting.targets import read_classes


def spread(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bags of two tokens; those of one class vary more in a twentieth of the columns."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    X = rng.standard_normal((n, 2, d))
    X[y == 1, :, : d // 20] *= 2
    return X, y


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_trees_see_more_than_two_million_values() -> None:
    (X, y), (test, truth) = spread(210, 10_000, 0), spread(100, 10_000, 1)
    model = BagClassifier(progress=False).fit(X[:, :1], y)
    assert model.score(test[:, :1], truth) > 0.8  # linear scores see nothing: 0.5


def tailed(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bags of two tokens of 40 columns, half of them with heavy tails; one column tells."""
    X, y = spread(n, 40, seed)
    X[..., 20:] = np.sign(X[..., 20:]) * np.abs(X[..., 20:]) ** 3
    X[:, 0, 0] += 2 * y
    return X, y


def sampled(model: BagClassifier) -> dict[str, int]:
    return dict(zip(model.member_names_, model.member_bags_.tolist(), strict=True))


def test_normal_scores_are_of_a_sample_where_all_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = tailed(300, 0)
    whole = BagClassifier(progress=False).fit(X, y)
    assert set(sampled(whole).values()) == {300}
    assert "sample" not in whole.summary()
    monkeypatch.setattr(stack, "VALUES", 200 * 80)
    model = BagClassifier(progress=False).fit(X, y)
    copied = " of normal scores"
    assert {n for name, n in sampled(model).items() if copied in name} == {200}
    assert {n for name, n in sampled(model).items() if copied not in name} == {300}
    used = [model.member_names_[m] for m in np.flatnonzero(model.weights_[:, 0])]
    few = [name for name in used if f"{name} is fitted to a sample of 200" in model.summary()]
    assert few == [name for name in used if copied in name]
    # Bags outside the sample are scored by the fit to it, those inside it when they are left out.
    rows = read_classes(as_bags(X), y, None, None).sampled(200)
    assert np.bincount(y[rows]).tolist() == [100, 100]
    unseen = np.setdiff1d(np.arange(300), rows)
    name = "mean of normal scores"
    scores = model.member_scores(X)
    left_out = model.members_[name].left_out_scores_[:, 0]
    seen = scores[rows, model.member_names_.index(name)]
    assert ((2 * y[rows] - 1) * (seen - left_out)).mean() > 0.05
    own = [model.members_[one].left_out_scores_ for one in model.member_names_[1:]]
    for m, one in enumerate(own, 1):
        if len(one) == 300:
            scores[:, m] = one[:, 0]
    np.testing.assert_allclose(
        model.left_out_scores_[unseen, 0], scores[unseen] @ model.weights_[:, 0]
    )
    # However large the bags are, a hundred are seen.
    monkeypatch.setattr(stack, "VALUES", 1)
    assert min(sampled(BagClassifier(progress=False).fit(X, y)).values()) == 100


def test_a_sample_holds_whole_groups_of_every_class(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = tailed(300, 0)
    groups = np.repeat(np.arange(30), 10)
    targets = read_classes(as_bags(X), groups % 2, None, None, groups)
    rows = targets.sampled(75)
    assert len(rows) == 80
    assert np.bincount(groups[rows]).tolist().count(10) == 8
    assert np.bincount(groups[rows] % 2).tolist() == [40, 40]
    unequal = np.repeat(np.arange(40), np.tile([1, 2, 3, 24], 10))
    few = read_classes(as_bags(X), y, None, None, unequal).sampled(75)
    assert 75 <= len(few) < 75 + 2 * 24  # the last group of each class is whole
    # One group of nearly all bags, and one of a single bag: both are needed.
    lonely = read_classes(as_bags(X), y, None, None, np.arange(300) == 7)
    assert len(lonely.sampled(10)) == 300
    monkeypatch.setattr(stack, "VALUES", 1)
    shift = np.random.default_rng(1).standard_normal((30, 1, 40))
    model = BagClassifier(progress=False).fit(X + shift[groups], groups % 2, groups=groups)
    new, _ = tailed(300, 1)
    more = np.random.default_rng(2).standard_normal((30, 1, 40))[groups]
    # A patient's label tells nothing of another's: single bags in the sample gave 0.76.
    assert abs(np.mean((model.left_out_scores_[:, 0] > 0) == groups % 2) - 0.5) < 0.12
    assert abs(model.score(new + more, groups % 2) - 0.5) < 0.12
    assert min(sampled(model).values()) == 100


@pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")
@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
@pytest.mark.parametrize("kind", [BagClassifier, BagRegressor])
def test_sizes_are_left_out(kind: type) -> None:
    """Each bag repeats one token, so that nothing but the size tells the classes apart."""
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    bags = [np.repeat(rng.standard_normal((1, 3)), 5 + 9 * label, axis=0) for label in y]
    usual = kind(progress=False).fit(bags, y)
    assert usual.weights_[usual.member_names_.index("size"), 0] > 0.5
    model = kind(progress=False, exclude=("size",)).fit(bags, y)
    assert "size" not in model.member_names_
    assert model.members_["forest"].feature_range_.shape == (2, 4 * 3)
    grown = [np.repeat(bag[:1], 40, axis=0) for bag in bags]
    said = model.predict_proba if kind is BagClassifier else model.predict
    np.testing.assert_allclose(said(bags), said(grown))


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_members_are_left_out_by_name() -> None:
    X, y = np.random.default_rng(0).standard_normal((30, 4, 3)), np.arange(30) % 2
    X[y == 1, 0, 0] += 5
    every = BagClassifier().fit(X, y).member_names_
    found = BagClassifier(exclude=["attention", "forest"]).fit(X, y).member_names_
    gone = ["forest", "forest of prototypes", "attention", "attention of centred tokens"]
    assert found == [name for name in every if name not in gone]
    alone = BagClassifier(exclude=["attention of centred tokens", *stack.PROTOTYPES]).fit(X, y)
    assert "attention" in alone.member_names_
    assert alone.similarities_ is None  # neither found nor saved
    for wrong in ("size", ["sizes"], ["constant"]):
        with pytest.raises(InvalidInput, match="exclude must be a sequence of names among size, "):
            BagClassifier(exclude=wrong).fit(X, y)
