"""Transformers of tokens and pooling of bags: scikit-learn's answers are the oracle."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import StandardScaler

from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import BagPooling, TokenTransformer

DTYPES = (np.float32, np.float64)
QUERY = np.array([0.5, -1.0, 2.0, 0.0])
SCALER = TokenTransformer(StandardScaler())


def _bags(dtype: type = np.float64, n: int = 40, seed: int = 0) -> Bags:
    """Correlated tokens off the origin, in bags of 1 to 12."""
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((4, 4))
    sizes = rng.integers(1, 13, n)
    return as_bags([(rng.standard_normal((L, 4)) @ mix + 5).astype(dtype) for L in sizes])


# Outputs are of size 1 to 50 after some 10 roundings, in sums of at most 300 terms.
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-11}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transformer", [StandardScaler(), PCA(3, whiten=True)], ids=str)
def test_transformers_of_tokens_are_those_of_all_tokens(
    dtype: type, transformer: BaseEstimator
) -> None:
    bags = _bags(dtype)
    expected = clone(transformer).fit_transform(bags.tokens)
    found = TokenTransformer(transformer).fit_transform(bags)
    assert found.dtype == dtype
    assert np.array_equal(found.offsets, bags.offsets)
    np.testing.assert_allclose(found.tokens, expected, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_pooling_is_that_of_each_bag(dtype: type) -> None:
    bags = _bags(dtype)
    slow: dict[str, Callable] = {
        "mean": lambda bag: bag.mean(axis=0),
        "sum": lambda bag: bag.sum(axis=0),
        "max": lambda bag: bag.max(axis=0),
    }
    for pool, of in slow.items():
        found = BagPooling(pool).fit_transform(bags)
        assert found.dtype == dtype
        assert found.shape == (40, 4)
        np.testing.assert_allclose(found, [of(bag) for bag in bags], rtol=10 * TOLERANCE[dtype])


def test_names_of_features() -> None:
    bags = _bags()
    for kept in (1, 3):
        found = TokenTransformer(PCA(kept)).fit(bags).get_feature_names_out().tolist()
        assert found == [f"tokentransformer{j}" for j in range(kept)]
    both = FeatureUnion([("mean", BagPooling()), ("max", BagPooling("max"))]).fit(bags)
    assert both.get_feature_names_out().tolist()[3:5] == ["mean__x3", "max__x0"]
    assert both.transform(bags).shape == (40, 8)


@pytest.mark.parametrize("estimator", [SCALER, BagPooling()])
def test_errors_of_every_transformer(estimator: BaseEstimator) -> None:
    bags = _bags()
    with pytest.raises(NotFittedError):
        clone(estimator).transform(bags)
    fitted = clone(estimator).fit(bags)
    name = type(estimator).__name__
    assert fitted.n_features_in_ == 4
    with pytest.raises(InvalidInput, match=f"bags of d = 4, as {name} was fitted on; got 'd = 5'"):
        fitted.transform(np.ones((3, 2, 5)))
    with pytest.raises(ValueError, match=f"X has 5 features, but {name} is expecting 4"):
        fitted.transform(np.ones((3, 5)))
    broken = list(bags)
    broken[3] = broken[3].copy()
    broken[3][0, 1] = np.nan
    for act in (fitted.transform, clone(estimator).fit):
        with pytest.raises(InvalidInput, match="nan at bag 3, token 0, column 1"):
            act(broken)
    with pytest.raises(InvalidInput, match=r"several tokens.*2 bags of one token each.*X\[None\]"):
        fitted.transform(np.ones((2, 4)))
    table = clone(estimator).fit(np.eye(3, 4))
    with pytest.raises(InvalidInput, match="inf at bag 1, token 0, column 2"):
        table.transform([[1.0, 2, 3, 4], [1, 2, np.inf, 4]])
    with pytest.raises(TypeError, match="Sparse data was passed"):
        fitted.transform(csr_array(np.eye(4)))


def test_there_is_no_other_pooling() -> None:
    with pytest.raises(InvalidInput, match="pool must be one of max, mean, sum; got 'median'"):
        BagPooling("median").fit(_bags())
