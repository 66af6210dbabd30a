"""Transformers of tokens: pipelines, memory maps, balanced samples, signals of a radius."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sparsetoken import AttentionClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators import TokenTransformer, token_features
from sparsetoken.estimators.labels import read_targets
from sparsetoken.estimators.token_transformer import sampled_tokens
from sparsetoken.fitting.linear_fit import mean_variance
from sparsetoken.fitting.samples import Samples, Targets
from sparsetoken.validation import InvalidInput


def radius(seed: int, n: int = 200) -> tuple[Bags, np.ndarray]:
    """Return bags of 8 tokens; in the second class one of them is far out, in any direction."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 8, 2))
    angle = rng.uniform(0, 2 * np.pi, n)
    X[y == 1, 0] = 4.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)[y == 1]
    return as_bags(X), y


def ragged(seed: int = 0) -> Bags:
    rng = np.random.default_rng(seed)
    return as_bags([rng.standard_normal((size, 4)) for size in rng.integers(1, 9, 30)])


@pytest.mark.parametrize(
    "transformer", [StandardScaler(), PCA(1), Nystroem(n_components=3, random_state=0)], ids=str
)
def test_scikit_learn_finds_nothing_wrong(transformer: object) -> None:
    check_estimator(TokenTransformer(transformer), on_skip=None)


def test_tokens_are_transformed_one_by_one() -> None:
    bags = ragged()
    model = TokenTransformer(PCA(2)).fit(bags)
    made = model.transform(bags)
    assert isinstance(made, Bags)
    np.testing.assert_array_equal(made.offsets, bags.offsets)
    expected = PCA(2).fit_transform(bags.tokens)
    np.testing.assert_allclose(np.abs(made.tokens), np.abs(expected), atol=1e-10)
    assert list(model.get_feature_names_out()) == ["tokentransformer0", "tokentransformer1"]


def test_the_sample_has_as_many_tokens_of_each_bag_as_it_can() -> None:
    bags = as_bags([np.zeros((size, 1)) for size in (1, 2, 50, 100)])
    rows = sampled_tokens(bags, 23, np.random.RandomState(0))
    counts = np.histogram(rows, bins=[*bags.offsets[:-1], 1000])[0]
    assert counts.tolist() == [1, 2, 10, 10]
    assert len(np.unique(rows)) == len(rows)
    assert np.ptp(rows[3:13]) > 10  # not the first ten
    assert len(sampled_tokens(bags, 153, np.random.RandomState(0))) == 153


def test_labels_of_bags_reach_the_transformer() -> None:
    class Keeps(StandardScaler):
        def fit(self, X, y=None):
            self.labels_ = y
            return super().fit(X)

    bags = ragged()
    y = np.arange(len(bags)) % 3
    model = TokenTransformer(Keeps()).fit(bags, y)
    np.testing.assert_array_equal(model.transformer_.labels_, np.repeat(y, bags.sizes))


def test_a_memory_map_gives_the_same(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((40, 5, 3)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = TokenTransformer(StandardScaler()).fit(mapped)
    made = model.transform(mapped)
    np.testing.assert_array_equal(made.tokens, model.transform(X).tokens)
    assert made.dtype == np.float32


def test_what_is_no_transformer_is_refused() -> None:
    with pytest.raises(InvalidInput, match="transformer must be an estimator with fit and"):
        TokenTransformer("scale").fit(ragged())
    with pytest.raises(InvalidInput, match="max_tokens must be"):
        TokenTransformer(PCA(1), max_tokens=0).fit(ragged())
    with pytest.raises(NotFittedError):
        TokenTransformer(PCA(1)).transform(ragged())


def test_sparse_results_become_dense() -> None:
    tokens = np.arange(12.0).reshape(-1, 1) % 3
    made = TokenTransformer(OneHotEncoder()).fit_transform(as_bags([tokens, tokens[:5]]))
    np.testing.assert_array_equal(made.tokens.argmax(axis=1), [*tokens[:, 0], *tokens[:5, 0]])


# Mean pooling of kernels does as well here, so that attention may stay off.
@pytest.mark.filterwarnings("ignore:Class 1. attention is off:sparsetoken.estimators.QueryWarning")
def test_kernels_are_found_where_a_linear_score_cannot_tell() -> None:
    (bags, y), (test, y_test) = radius(0), radius(1, 400)
    plain = AttentionClassifier(random_state=0).fit(bags, y)
    model = AttentionClassifier(token_features="auto", random_state=0).fit(bags, y)
    assert plain.token_transformer_ is None
    assert model.token_transformer_ is not None
    # Right in .97 and .80 here, the latter by largest values; the error of a share of 400 is .02.
    assert model.score(test, y_test) > plain.score(test, y_test) + 0.1
    top = np.array([one[0] for one in model.top_tokens(test[y_test == 1])])
    assert (top == 0).mean() > 0.9
    pipeline = make_pipeline(
        TokenTransformer(Nystroem(n_components=60, random_state=0)),
        AttentionClassifier(random_state=0),
    )
    assert pipeline.fit(bags, y).score(test, y_test) > plain.score(test, y_test) + 0.1


def test_tokens_as_they_are_stay_where_kernels_do_not_gain() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 6, 5)), np.arange(80) % 2
    X[y == 1, 0, 0] += 3  # with 5 kernels do have less test log-loss
    model = AttentionClassifier(token_features="auto", random_state=0).fit(X, y)
    assert model.token_transformer_ is None
    assert model.query_.shape == (1, 5)


def test_a_transformer_is_fitted_and_used_for_new_bags() -> None:
    bags, y = radius(0)
    model = AttentionClassifier(token_features=PCA(1), random_state=0).fit(bags, y)
    assert model.query_.shape == (1, 1)
    assert model.n_features_in_ == 2
    assert model.decision_function(bags[:3]).shape == (3,)


@pytest.mark.parametrize(
    "parameters",
    [
        {"training": "joint"},
        {"training": "four_stage"},
        {"training": "tied", "loss": "hinge", "ridge": 0.1, "temperature": 1.0},
    ],
)
def test_automatic_features_need_left_out_losses(parameters: dict) -> None:
    bags, y = radius(0)
    model = AttentionClassifier(token_features="auto", random_state=0, **parameters)
    with pytest.raises(InvalidInput, match=r"token_features must be None or a transformer where"):
        model.fit(bags, y)


@pytest.mark.parametrize("other", ["kernel", True, 3, object()])
def test_other_kinds_of_features_are_refused(other: object) -> None:
    bags, y = radius(0)
    with pytest.raises(InvalidInput, match="token_features must be None, 'auto' or"):
        AttentionClassifier(token_features=other).fit(bags, y)


def test_three_classes_choose_features_together() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 5, 2)), np.arange(120) % 3
    X[y > 0, 0] *= 6
    X[y == 2, 0] = 12
    model = AttentionClassifier(token_features="auto", random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (120, 3)


def two_classes(y: np.ndarray) -> Targets:
    return Targets(np.ones(len(y), bool), np.arange(2), y, np.ones(len(y)), np.ones(2))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("law", ["spot", "unsure", "noise"])
def test_the_kernel_is_that_whose_mean_features_surely_tell_the_classes_best(
    law: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small spot among tokens that are far apart, the same if that is not sure, or nothing."""
    rng, n = np.random.default_rng(seed), 400
    X, y = rng.standard_normal((n, 5, 2)), np.arange(n) % 2
    if law != "noise":
        X = rng.uniform(-3, 3, (n, 5, 2))
        X[y == 1, 0] = np.array([1.5, -1.5]) + rng.uniform(-0.3, 0.3, (n // 2, 2))
    if law == "unsure":
        monkeypatch.setattr(token_features, "CLEAR", 1e3)  # no gain is that sure
    bags, targets = as_bags(X * [1, 100]), two_classes(y)  # the second column drowns the first
    scaled, given = (
        token_features._kernel(bags, targets, standardize, np.random.RandomState(0))[0]
        for standardize in (True, False)
    )
    pairs = np.random.default_rng(2).integers(0, len(bags.tokens), (2, 5000))

    def width(found: TokenTransformer, scale: np.ndarray | float) -> float:
        squares = np.square((bags.tokens[pairs[0]] - bags.tokens[pairs[1]]) / scale).sum(axis=1)
        return found.transformer_[-1].gamma * float(np.median(squares))

    assert len(given.transformer_) == 1
    assert given.transformer_[-1].n_components == 400
    # Medians of other pairs differ by less than half the way to the next width.
    near = pytest.approx({"spot": 4.0, "unsure": 1.0, "noise": 1.0}[law], rel=0.3)
    if law == "noise":
        assert width(given, 1.0) == near
    else:
        assert isinstance(scaled.transformer_[0], StandardScaler)
        assert width(scaled, bags.tokens.std(axis=0)) == near


@pytest.mark.parametrize(
    ("tokens", "components"),
    [(120, 60), (8000, 400), (10_000, 320), (16_000, 200), (1_000_000, 200), (2_000_000, 134)],
)
def test_features_fit_time_and_memory(tokens: int, components: int) -> None:
    assert token_features._components(tokens) == components


def test_mean_features_have_the_products_of_the_mean_kernel() -> None:
    """With all tokens as landmarks Nystroem features are exact."""
    bags, unit = ragged(), 5.0
    squares = np.square(bags.tokens[:, None] - bags.tokens).sum(axis=2)
    mean = (np.arange(len(bags))[:, None] == np.repeat(np.arange(len(bags)), bags.sizes)) / (
        bags.sizes[:, None]
    )
    found = list(token_features._mean_features(bags.tokens, bags.offsets, bags.tokens, unit))
    assert len(found) == len(token_features.WIDTHS)
    for width, F in zip(token_features.WIDTHS, found, strict=True):
        expected = mean @ np.exp(-width / unit * squares) @ mean.T
        # Eigenvalues up to 1e-6 of the largest, which is below their number, are left out.
        np.testing.assert_allclose(F @ F.T, expected, atol=1e-6 * len(bags.tokens))


def test_left_out_errors_are_those_of_fits_without_each_bag() -> None:
    rng, n = np.random.default_rng(0), 12
    F, y = rng.standard_normal((n, 4)), np.where(np.arange(n) % 3, 1.0, -1.0)
    samples = Samples(y, rng.uniform(0.5, 2, n), np.ones(n))
    weight = samples.share * n
    ridges = n * mean_variance(F, samples) * 10.0 ** np.arange(-4, 3)
    errors = np.empty((len(ridges), n))
    for row, ridge in zip(errors, ridges, strict=True):
        for i in range(n):
            rest = np.arange(n) != i
            fit = Ridge(ridge).fit(F[rest], y[rest], weight[rest])
            row[i] = (y[i] - fit.predict(F[i : i + 1])[0]) ** 2
    best = errors[(errors @ weight).argmin()]
    np.testing.assert_allclose(token_features._left_out(F, samples), best, rtol=1e-9)


def test_equal_tokens_have_no_kernel() -> None:
    bags, targets = as_bags(np.ones((60, 4, 2))), two_classes(np.arange(60) % 2)
    assert token_features._kernel(bags, targets, True, np.random.RandomState(0)) == []


def test_kernels_are_compared_on_as_many_bags_of_each_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(token_features, "COMPARED", 60)
    y = (np.arange(50) >= 40).astype(int)
    bags = as_bags(np.random.default_rng(0).standard_normal((50, 3, 2)))
    targets = two_classes(y)
    rows = token_features._some(bags, targets, np.random.RandomState(0))
    assert np.bincount(y[rows]).tolist() == [10, 9]
    assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("seed", [8, 14, 28])  # both scales are level, the widest kernel is best
def test_one_column_has_a_width_in_its_own_scale(seed: int) -> None:
    X, y = 100 * np.random.default_rng(seed).standard_normal((100, 10, 1)), np.arange(100) % 2
    X[y == 1] *= 1.3
    bags = as_bags(X)
    targets = read_targets(bags, y, None, None)
    (taken,) = token_features._kernel(bags, targets, True, np.random.RandomState(seed))
    *steps, kernel = taken.transformer_
    made = (steps[0].transform(bags.tokens) if steps else bags.tokens)[:, 0]
    rng = np.random.default_rng(0)
    median = np.median(np.square(rng.choice(made, 4000) - rng.choice(made, 4000)))
    # Widths are 0.5 to 4 over the median, which 500 pairs tell to a fifth.
    assert 0.3 < kernel.gamma * median < 6
