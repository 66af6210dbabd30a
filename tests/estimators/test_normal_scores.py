"""Normal scores of heavy-tailed columns, and what they add to tokens."""

import numpy as np
import pytest
from scipy.stats import kurtosis, norm, rankdata
from sklearn.pipeline import make_pipeline

from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier, TokenNormalScores
from sparsetoken.estimators.stack import TAKEN

DTYPES = (np.float32, np.float64)


def _tokens(n: int, seed: int = 0) -> np.ndarray:
    """Columns: normal, lognormal, counts of mostly 0, uniform, constant."""
    rng = np.random.default_rng(seed)
    normal, log, uniform = rng.standard_normal(n), rng.lognormal(size=n), rng.random(n)
    return np.stack([normal, log, rng.poisson(0.15, n), uniform, np.full(n, 0.1)], axis=1)


def _bags(n: int = 60, seed: int = 0, dtype: type = np.float64) -> Bags:
    sizes = np.random.default_rng(seed).integers(1, 10, n)
    return Bags(_tokens(sizes.sum(), seed).astype(dtype), np.append(0, np.cumsum(sizes)))


def _lognormal_bags(n: int, seed: int, shift: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    """Exponentials of Gaussian tokens, of which one is shifted in positive bags."""
    rng, direction = np.random.default_rng(seed), np.random.default_rng(99).standard_normal(30)
    y, Z = np.arange(n) % 2, rng.standard_normal((n, 10, 30))
    Z[y == 1, 0] += shift * direction / np.linalg.norm(direction)
    return np.exp(Z), y


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_are_normal_quantiles_of_mid_ranks(dtype: type) -> None:
    bags = _bags(dtype=dtype)
    found = TokenNormalScores().fit_transform(bags)
    assert found.tokens.dtype == dtype
    N = len(bags.tokens)
    assert N < 400  # every value is a knot
    for j in (1, 2):
        expected = norm.ppf((rankdata(bags.tokens[:, j]) - 0.5) / N)
        # Rounding of the probability, divided by the density, and of the score itself.
        allowed = np.finfo(np.float32).eps / norm.pdf(expected) + 1e-6
        assert (np.abs(found.tokens[:, j] - expected) <= allowed).all()


def test_columns_are_taken_by_their_kurtosis() -> None:
    bags = _bags()
    above = kurtosis(bags.tokens[:, :4])
    assert np.flatnonzero(above > 3).tolist() == [1, 2]
    for least in (3.0, *(above - 1e-9), *(above + 1e-9)):
        scores = TokenNormalScores(least).fit(bags)
        assert scores.columns_.tolist() == np.flatnonzero(above > least).tolist()
    unlike = TokenNormalScores().fit_transform(bags).tokens != bags.tokens
    assert unlike.any(axis=0).tolist() == [False, True, True, False, False]


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_constant_up_to_rounding_are_left_alone(dtype: type) -> None:
    tokens = np.ones((900, 1), dtype)
    tokens[3] += np.finfo(dtype).eps
    assert not len(TokenNormalScores().fit(as_bags(tokens[:, None])).columns_)


def test_order_stays_and_outliers_get_the_last_score() -> None:
    bags = as_bags(np.random.default_rng(0).lognormal(size=(2000, 2, 1)))  # more values than knots
    scores = TokenNormalScores().fit(bags)
    values, knots = scores.knots_[0]
    assert 300 < len(values) <= 400
    assert values[[0, -1]].tolist() == [bags.tokens.min(), bags.tokens.max()]
    new = np.sort(np.random.default_rng(1).lognormal(size=500))
    made = scores.transform(as_bags(new[:, None, None])).tokens[:, 0]
    inside = (new > values[0]) & (new < values[-1])
    assert (np.diff(made[inside]) > 0).all()
    # The scores of log X are those of X: standard normal ones, but for ranks of 4000 draws.
    np.testing.assert_allclose(made[inside], np.log(new[inside]), atol=0.35)
    far = scores.transform(as_bags(np.array([[[-1e9]], [[1e9]]]))).tokens[:, 0]
    np.testing.assert_allclose(far, norm.ppf([0.5 / 4000, 1 - 0.5 / 4000]))
    np.testing.assert_allclose(knots[[0, -1]], far)


@pytest.mark.parametrize("n", [60, 800])  # fewer and more values than knots
def test_the_other_sign_gives_opposite_scores(n: int) -> None:
    bags = _bags(n)
    there = TokenNormalScores().fit_transform(bags).tokens[:, 1:3]
    back = TokenNormalScores().fit_transform(bags.with_tokens(-bags.tokens)).tokens[:, 1:3]
    np.testing.assert_allclose(back, -there, atol=1e-12)


def test_a_weight_is_so_many_bags() -> None:
    bags, weight = _bags(30), np.random.default_rng(1).integers(0, 4, 30)
    weighted = TokenNormalScores().fit(bags, sample_weight=weight)
    repeated = TokenNormalScores().fit(bags[np.repeat(np.arange(30), weight)])
    assert weighted.columns_.tolist() == repeated.columns_.tolist() == [1, 2]
    for one, other in zip(weighted.knots_, repeated.knots_, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    with pytest.raises(ValueError, match="at least one non-zero"):
        TokenNormalScores().fit(bags, sample_weight=np.zeros(30))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"least_kurtosis": "high"}, "least_kurtosis must be a finite number"),
        ({"max_tokens": 0}, "max_tokens must be"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        TokenNormalScores(**parameters).fit(_bags())


def test_a_tiny_weight_keeps_scores_finite() -> None:
    X, y = _lognormal_bags(60, 0)
    weight = np.ones(60)
    weight[X.max(axis=1).argmax(axis=0)] = 1e-17
    for values, scores in TokenNormalScores().fit(X, sample_weight=weight).knots_:
        assert (np.diff(values) > 0).all()
        assert np.isfinite(scores).all()
        assert (np.diff(scores) >= 0).all()
    model = BagClassifier().fit(X, y, sample_weight=weight)
    assert np.isfinite(model.decision_function(X)).all()


def test_members_take_scores_where_tokens_have_heavy_tails() -> None:
    X, y = _lognormal_bags(150, 0)
    test, truth = _lognormal_bags(500, 1)
    model = BagClassifier().fit(X, y)
    assert model.normal_scores_.columns_.tolist() == list(range(30))
    normal = [i for i, name in enumerate(model.member_names_) if "normal" in name]
    assert model.weights_[normal].sum() > 0.9
    plain = AttentionClassifier().fit(X, y)
    # The errors are about .08 and .35; 500 bags tell them to .02.
    assert model.score(test, truth) > plain.score(test, truth) + 0.15
    top = np.array([tokens[0] for tokens in model.top_tokens(test[truth == 1])])
    assert np.mean(top == 0) > 0.8
    assert model.token_form_ == "normal scores"
    chances = np.stack(model.predict_token_proba(test)) > 0.5
    assert chances[truth == 1, 0].mean() > 0.6 > 0.1 > chances[truth == 0].mean()


def test_members_take_tokens_where_their_size_matters() -> None:
    rng = np.random.default_rng(0)

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels of the sum of a heavy-tailed column."""
        X = rng.standard_t(2, size=(n, 8, 5))
        return X, (X[:, :, 0].sum(axis=1) > 0).astype(int)

    X, y = drawn(300)
    test, truth = drawn(1000)
    model = BagClassifier().fit(X, y)
    given = [i for i, name in enumerate(model.member_names_) if "normal" not in name]
    assert model.weights_[given].sum() > 0.5
    forced = make_pipeline(TokenNormalScores(random_state=0), PooledClassifier()).fit(X, y)
    # Outliers decide the sum: errors are about .03 and .15, known to .01.
    assert model.score(test, truth) > forced.score(test, truth) + 0.05


def test_normal_tokens_are_not_replaced() -> None:
    rng = np.random.default_rng(0)
    y, X = np.arange(80) % 2, rng.standard_normal((80, 5, 6))
    X[y == 1, 0] += 1.5
    model = BagClassifier().fit(X, y)
    assert model.normal_scores_ is None
    assert model.member_names_ == [name for name in TAKEN if name != "size"]
