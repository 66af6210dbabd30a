"""What gives labels or bags away, planted; and what does not."""

import warnings

import numpy as np
import pytest

import small_fits
from classic_sets import SETS, needs_sets
from sparsetoken import BagClassifier, BagRegressor, cross_validated, forecast
from sparsetoken.bags import LeakWarning, as_bags, find_leaks, from_long, leaks
from sparsetoken.bags.leaks import _errors_above
from sparsetoken.base.progress import Progress, showing
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import NoisyOrClassifier, PooledClassifier

LABELS = np.arange(60) % 2
APART, TWINS = "Each of these alone tells the classes apart: ", "Bags that are nearly the same: "


def _noise(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((L, 5)) for L in rng.integers(2, 9, 60)]


def _twins(means: np.ndarray, groups: object) -> list[tuple[int, int]]:
    return leaks._twins(means, groups, Progress(None))


def _told(bags: object, y: object = None, groups: object = None) -> str:
    """Return what is told, up to the advice."""
    return " ".join(told.split(". ")[0] for told in find_leaks(as_bags(bags), y, groups))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("column", [0, 4])
def test_a_column_that_every_token_has_gives_the_class_away(sign: int, column: int) -> None:
    bags = _noise()
    for i in np.flatnonzero(LABELS):
        bags[i][:, column] += sign * 20
    assert _told(bags, LABELS) == f"{APART}{column}"
    assert _told(bags, 1 - LABELS) == f"{APART}{column}"
    assert _told(bags) == ""  # of numbers
    assert find_leaks(bags, LABELS.tolist()) == find_leaks(as_bags(bags), LABELS)
    for i in np.flatnonzero(LABELS)[:4]:  # 4 of 30 bags on the wrong side: more than 5% of all
        bags[i][:1, column] = 0.0
    assert _told(bags, LABELS) == ""


def test_means_that_lie_apart_give_the_class_away() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 400, 3))
    X[..., 1] += LABELS[:, None]  # tokens overlap, the means of 400 do not
    assert _told(X, LABELS) == f"{APART}1"
    X[..., 1] += rng.standard_normal((60, 1))  # as bags have effects of their own
    assert _told(X, LABELS) == ""


def test_a_signal_in_some_tokens_is_no_leak() -> None:
    bags = _noise()
    for i in np.flatnonzero(LABELS):
        bags[i][-1, 2] = 20
    assert _told(bags, LABELS) == _told(bags, 1 - LABELS) == ""


def test_the_size() -> None:
    rng = np.random.default_rng(1)
    bags = [rng.standard_normal((30 + int(i % 2), 2)) for i in range(60)]
    for labels in (LABELS, 1 - LABELS):
        assert _told(bags, labels) == f"{APART}the number of tokens"
        assert find_leaks(as_bags(bags), labels)[0].endswith(
            'exclude=("size",) leaves out what is fitted to the number of tokens.'
        )


@pytest.mark.parametrize("seed", range(3))
def test_the_error_is_that_of_the_best_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plus = rng.random(40) < 0.4
    values = np.round(rng.standard_normal((40, 6)) + 1.5 * plus[:, None], 1)  # with equal ones
    for column, found in zip(values.T, _errors_above(values, plus), strict=True):
        cuts = [-np.inf, *(np.unique(column) + 0.05)]
        wrong = [((column < c)[plus].mean() + (column > c)[~plus].mean()) / 2 for c in cuts]
        assert found == pytest.approx(min(wrong), abs=1e-12)  # rounding of shares


def test_few_bags_say_nothing() -> None:
    # One of 6 numbers on either side separates 4 of 8 bags by chance in up to 12 / 70.
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(16.0)[:, None, None], 5, axis=2) + rng.random((16, 2, 5)) / 2
    assert _told(X[:8], np.arange(8) >= 4) == ""
    assert _told(X, np.arange(16) >= 8) == f"{APART}0, 1, 2, 3, 4"
    rare = np.arange(60) == 7  # to say no always is right for 98%
    assert _told(np.ones((60, 2, 3)), rare) == ""


def test_classes_are_taken_one_against_the_rest() -> None:
    names = np.array(["a", "b", "c"])[np.arange(60) % 3]
    bags = _noise()
    for i in np.flatnonzero(names == "c"):
        bags[i][:, 2] += 30
    assert _told(bags, names) == f"{APART}2"


def test_columns_of_one_value_in_each_bag_are_named() -> None:
    frames = pytest.importorskip("pandas")
    bags = [frames.DataFrame(bag[:, :2], columns=["f", "g"]) for bag in _noise()]
    named = [bag.assign(patient=float(i // 2)) for i, bag in enumerate(bags)]
    told = "Columns with one value in each bag, as labels, ids and numbers of patients have: "
    assert _told(named) == f"{told}patient"
    assert _told([bag.assign(batch=1.0) for bag in bags]) == ""  # the same in all
    assert _told([bag.iloc[:1] for bag in named]) == ""  # of one token all columns are such
    with pytest.warns(LeakWarning, match="patient"):
        PooledClassifier().fit(named, LABELS)
    y = np.array([bag["f"].mean() for bag in named])
    with pytest.warns(LeakWarning, match="patient"):
        BagRegressor(progress=False).fit(named, y)


def _slides(effect: float, scans: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return scans of 40 slides, the tokens of each drawn anew, and the slide of each."""
    rng, slide = np.random.default_rng(0), np.repeat(np.arange(40), scans)
    own = effect * rng.standard_normal((40, 1, 20))
    return own[slide] + rng.standard_normal((len(slide), 50, 20)), slide


@pytest.mark.parametrize("scans", [2, 3])
def test_scans_of_one_slide_in_two_groups_are_told(scans: int) -> None:
    X, slide = _slides(1.0, scans)
    order = np.random.default_rng(1).permutation(len(X))
    X, slide = X[order], slide[order]
    pairs = _twins(X.mean(axis=1), None)
    assert all(slide[i] == slide[j] for i, j in pairs)
    assert {slide[i] for i, _ in pairs} == set(range(40))
    assert _twins(X.mean(axis=1), slide) == []
    (told,) = find_leaks(as_bags(X), groups=np.arange(len(X)))
    assert told.startswith(f"{TWINS}{pairs[0][0]} and {pairs[0][1]}, ")


def test_scans_let_labels_by_chance_be_guessed_and_the_fit_says_so() -> None:
    """What the warning is for: with the scans in one group nothing is found."""
    X, slide = _slides(2.0)
    y = np.random.default_rng(2).permutation(np.arange(40) % 2)[slide]
    model = PooledClassifier()
    with pytest.warns(LeakWarning, match=TWINS):
        model.fit(X, y)
    losses = [np.logaddexp(0, -(2 * y - 1) * model.left_out_scores_[:, 0]).mean()]
    model.fit(X, y, groups=slide)
    losses.append(np.logaddexp(0, -(2 * y - 1) * model.left_out_scores_[:, 0]).mean())
    assert losses[0] < losses[1]
    with pytest.warns(LeakWarning, match=TWINS):
        model.fit(X, y, groups=np.arange(80))


@pytest.mark.parametrize("law", ["normal", "heavy", "kinds", "sizes"])
@pytest.mark.parametrize("d", [2, 20, 200])
def test_independent_bags_are_seldom_taken_for_scans(law: str, d: int) -> None:
    told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        means = rng.standard_normal((100, d))
        if law == "heavy":
            means = rng.standard_t(2, (100, d))
        elif law == "kinds":
            means = 0.3 * means + 3 * rng.standard_normal((4, d))[rng.integers(4, size=100)]
        elif law == "sizes":
            means /= np.sqrt(rng.integers(1, 200, (100, 1)))
        told += bool(_twins(means, None))
    assert told <= 3  # of 40 at 1%: more with a probability of 1e-3


def test_forecasts_tell_of_leaks_and_of_groups(few_fits: None) -> None:
    X, slide = _slides(2.0)
    y = slide % 2
    with pytest.warns(LeakWarning, match=TWINS):
        alone = forecast(X, y, progress=False)
    assert "Measured on 80 bags, taken as independent." in str(alone)
    assert "standard error over bags" in str(alone)
    grouped = forecast(X, y, groups=slide, progress=False)  # where a warning is an error
    assert "Measured on 80 bags of 40 groups." in str(grouped)
    assert "standard error over groups" in str(grouped)
    with pytest.warns(LeakWarning, match=TWINS):
        found = cross_validated(PooledClassifier(), X, y)
    assert "of 80 bags, taken as independent, in 5 folds" in str(found)
    found = cross_validated(PooledClassifier(), X, y, groups=slide)
    assert "of 80 bags of 40 groups, none split, in 5 folds" in str(found)


def test_a_fit_says_of_how_many_groups_its_bags_are() -> None:
    X, slide = _slides(0.0)
    y = slide % 2
    X[:, 0, 0] += 5 * y  # one token of fifty
    model = BagRegressor(progress=False)
    summary = model.fit(X, 1.0 * y).summary()
    assert summary.splitlines()[-1] == "Fitted to 80 bags, taken as independent."
    summary = model.fit(X, 1.0 * y, groups=slide).summary()
    assert summary.splitlines()[-1] == "Fitted to 80 bags of 40 groups."


def test_classes_of_nearly_one_name_are_told() -> None:
    y = np.where(LABELS == 1, "tumour", "normal").astype(object)
    assert _told(_noise(), y) == ""
    y[[3, 5]] = "Tumour", "tumour "
    expected = (
        "Classes of which the names differ only in case or spaces: 'Tumour', 'tumour', 'tumour '."
    )
    assert find_leaks(_noise(), y) == [expected]


def test_a_class_of_one_group_is_told() -> None:
    groups = np.where(LABELS == 1, 0, 1 + np.arange(60) // 4)
    assert _told(_noise(), LABELS, groups).startswith("All 30 bags of class 1 are of one group: ")
    groups[1] = 1
    assert "All" not in _told(_noise(), LABELS, groups)
    single = (np.arange(60) == 7).astype(int)  # which can only be of one
    assert _told(_noise(), single, np.arange(60) // 2) == ""


def test_groups_of_very_different_sizes_are_told() -> None:
    """One patient with 60 of 118 bags: 118^2 / (60^2 + 29 2^2) = 3.7 of 30."""
    groups = np.concatenate([np.zeros(60, int), 1 + np.arange(58) // 2])
    bags, y = [*_noise(0), *_noise(1)[:58]], np.arange(118) % 2
    told = _told(bags, y, groups)
    assert told.startswith("One group has 51% of all bags, as they are weighted: 30 groups of")
    assert "as 3.7 of one size" in told
    sizes = np.repeat(np.arange(30), np.tile([2, 6], 15))[:118]  # twice and six times
    assert _told(bags, y, sizes) == ""
    weight = 1 / np.bincount(groups)[groups]  # as is told
    with warnings.catch_warnings():
        warnings.simplefilter("error", LeakWarning)
        PooledClassifier().fit(bags, y, groups=groups, sample_weight=weight)
    with pytest.warns(LeakWarning, match="One group has 51% of all bags"):
        PooledClassifier().fit(bags, y, groups=groups)


@pytest.mark.parametrize("name", ["y", "groups", "sample_weight", "ids"])
def test_one_of_each_for_each_bag(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be one for each of 60 bags"):
        find_leaks(_noise(), **{name: np.arange(59)})


def test_bags_are_named_by_their_ids() -> None:
    X, _ = _slides(3.0)
    (by_place,) = find_leaks(X)
    ids = [f"s{i}" for i in range(80)]
    (by_id,) = find_leaks(X, ids=ids)
    assert by_place.startswith(f"{TWINS}0 and 1, 2 and 3, ")
    assert by_id.startswith(f"{TWINS}s0 and s1, s2 and s3, ")


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many bags each look for leaks was."""
    sizes: list[int] = []

    def counted(bags: object, *given: object, **more: object) -> list[str]:
        sizes.append(len(as_bags(bags)))
        return find_leaks(bags, *given, **more)

    monkeypatch.setattr("sparsetoken.estimators.inputs.find_leaks", counted)
    return sizes


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_one_look_for_leaks_for_all_folds_and_members(looked: list[int], few_fits: None) -> None:
    """Of the data as a whole: a part of the bags would be looked at in each fit."""
    X = as_bags(np.random.default_rng(0).standard_normal((60, 4, 3)))
    own = BagClassifier([("own", NoisyOrClassifier())], n_folds=2, progress=False)
    with small_fits.few_trees():
        own.fit(X, LABELS)
        assert looked == [60]
        cross_validated(own, X, LABELS, folds=2)
        assert looked == [60, 60]
        forecast(X, LABELS, progress=False)
    assert looked == [60, 60, 60]
    PooledClassifier().fit(X[:40], LABELS[:40])  # by the user, who may know no other bags
    assert looked[3:] == [40]


class Counted:
    """A bar that counts."""

    def __init__(self, what: str, total: float) -> None:
        self.what, self.total, self.done = what, total, 0.0

    def update(self, n: float = 1) -> None:
        self.done += n

    def close(self) -> None:
        pass


def test_a_look_at_many_bags_shows_its_progress() -> None:
    bars: list[Counted] = []

    def shown(what: str, total: float) -> Counted:
        bars.append(Counted(what, total))
        return bars[-1]

    with showing(shown):
        find_leaks(_noise(), LABELS)
        find_leaks(_noise(), LABELS, progress=False)
    (bar,) = bars
    assert (bar.what, bar.total, bar.done) == ("bags looked at", 120, 120)


@needs_sets
@pytest.mark.parametrize("name", ["musk1", "musk2", "tiger", "fox", "ng_alt_atheism"])
def test_sets_of_people_are_clean_until_bags_are_copied(name: str) -> None:
    with np.load(SETS / f"{name}.npz") as file:
        bags, y = from_long(file["X"], file["bag"]).bags, file["y"]
    assert find_leaks(bags, y) == []
    rng, scale = np.random.default_rng(0), bags.tokens.std(axis=0)
    copies = [bag + 0.02 * scale * rng.standard_normal(bag.shape) for bag in bags[:20]]
    pairs = _twins(np.stack([bag.mean(axis=0) for bag in [*bags, *copies]]), None)
    assert len(pairs) > 10
    assert all(j == len(bags) + i for i, j in pairs)


@needs_sets
def test_two_pictures_of_elephants_are_nearly_one() -> None:
    with np.load(SETS / "elephant.npz") as file:
        bags, y = from_long(file["X"], file["bag"]).bags, file["y"]
    assert _told(bags, y) == f"{TWINS}169 and 175"


def test_tokens_that_a_fit_refuses_are_looked_at_without_a_warning() -> None:
    assert find_leaks(np.random.default_rng(0).standard_normal((20, 4, 3)) * 1e300) == []
