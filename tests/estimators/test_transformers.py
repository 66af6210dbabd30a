"""Scaler, whitener and pooling of bags: scikit-learn's rules, and its answers as the oracle."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sparsetoken.bags import Bags, as_bags, from_long
from sparsetoken.estimators import BagPooling, TokenPCA, TokenScaler, TokenTransformer
from sparsetoken.fitting import moments
from sparsetoken.validation import InvalidInput

MIL = Path(__file__).parents[3] / "shared" / "data" / "mil"
DTYPES = (np.float32, np.float64)
QUERY = np.array([0.5, -1.0, 2.0, 0.0])
EVERY = [
    TokenScaler(),
    TokenPCA(),
    BagPooling(),
    BagPooling("sum"),
    BagPooling("max"),
    BagPooling("softmax", QUERY, sharpness=3.0),
]


def _bags(dtype: type = np.float64, n: int = 40, seed: int = 0) -> Bags:
    """Correlated tokens off the origin, in bags of 1 to 12."""
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((4, 4))
    sizes = rng.integers(1, 13, n)
    return as_bags([(rng.standard_normal((L, 4)) @ mix + 5).astype(dtype) for L in sizes])


def _tokens(found: Bags | np.ndarray) -> np.ndarray:
    return found.tokens if isinstance(found, Bags) else found


# Outputs are of size 1 to 50 after some 10 roundings, in sums of at most 300 terms.
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-11}


@pytest.mark.parametrize("estimator", EVERY[:5], ids=str)
def test_scikit_learn_finds_nothing_wrong(estimator: BaseEstimator) -> None:
    check_estimator(estimator, on_skip=None)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [(True, True), (True, False), (False, True), (False, False)])
def test_the_scaler_is_that_of_all_tokens(dtype: type, options: tuple[bool, bool]) -> None:
    bags = _bags(dtype)
    mean, std = options
    expected = StandardScaler(with_mean=mean, with_std=std).fit_transform(bags.tokens)
    found = TokenScaler(*options).fit_transform(bags)
    assert found.dtype == dtype
    assert np.array_equal(found.offsets, bags.offsets)
    np.testing.assert_allclose(found.tokens, expected, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("constant", [0.0, 0.1, -3e7])
def test_constant_columns_become_exact_zeros(dtype: type, constant: float) -> None:
    tokens = _bags(dtype).tokens.copy()
    tokens[:, 2] = constant
    bags = _bags(dtype).with_tokens(tokens)
    scaler = TokenScaler().fit(bags)
    assert scaler.scale_[2] == 1
    assert not scaler.transform(bags).tokens[:, 2].any()
    whitener = TokenPCA().fit(bags)
    assert whitener.n_components_ == 3
    # a column without variance has no part in any component
    assert np.abs(whitener.components_[:, 2]).max() < 1e-12


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_constant_up_to_rounding_are_not_blown_up(dtype: type) -> None:
    tokens = _bags(dtype).tokens.copy()
    tokens[:, 1] = 1
    tokens[::3, 1] += np.finfo(dtype).eps
    assert TokenScaler().fit(as_bags(tokens)).scale_[1] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.parametrize("kept", [None, 1, 3])
def test_components_are_those_of_all_tokens(dtype: type, whiten: bool, kept: int | None) -> None:
    bags = _bags(dtype)
    ours = TokenPCA(kept, whiten=whiten).fit(bags)
    theirs = PCA(kept, whiten=whiten, svd_solver="full").fit(bags.tokens.astype(np.float64))
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-10)
    found, expected = ours.transform(bags), theirs.transform(bags.tokens.astype(np.float64))
    assert found.dtype == dtype
    signs = np.sign(np.sum(found.tokens * expected, axis=0))
    np.testing.assert_allclose(found.tokens, expected * signs, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_directions_without_variance(dtype: type) -> None:
    plane = _bags(dtype).tokens[:, :2]
    bags = _bags(dtype).with_tokens(np.column_stack([plane, plane.sum(axis=1), plane[:, 0]]))
    free = TokenPCA().fit(bags)
    assert free.n_components_ == 2
    found = TokenPCA(4).fit_transform(bags).tokens
    assert not found[:, 2:].any()
    covariance = np.cov(found[:, :2], rowvar=False)
    np.testing.assert_allclose(covariance, np.eye(2), atol=TOLERANCE[dtype])


@pytest.mark.parametrize(("tolerance", "rank"), [(1e-6, 3), (1e-10, 4)])
def test_the_tolerance_is_a_share_of_the_largest_variance(tolerance: float, rank: int) -> None:
    bags = _bags()
    white = TokenPCA().fit_transform(bags).tokens
    thin = bags.with_tokens(white * [1, 1, 1, 1e-4])  # variance 1e-8
    assert TokenPCA(tolerance=tolerance).fit(thin).n_components_ == rank


def test_the_largest_entry_of_a_component_is_positive() -> None:
    components = TokenPCA().fit(_bags()).components_
    largest = np.abs(components).argmax(axis=1)
    assert (components[np.arange(4), largest] > 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_pooling_is_that_of_each_bag(dtype: type) -> None:
    bags = _bags(dtype)
    slow: dict[str, Callable] = {
        "mean": lambda bag: bag.mean(axis=0),
        "sum": lambda bag: bag.sum(axis=0),
        "max": lambda bag: bag.max(axis=0),
        "softmax": lambda bag: softmax(3 * bag @ QUERY) @ bag,
    }
    for pool, of in slow.items():
        query = QUERY if pool == "softmax" else None
        found = BagPooling(pool, query, sharpness=3.0).fit_transform(bags)
        assert found.dtype == dtype
        assert found.shape == (40, 4)
        # Scores reach 60, where one rounding of float32 moves a weight by 1e-5 of itself.
        np.testing.assert_allclose(found, [of(bag) for bag in bags], rtol=10 * TOLERANCE[dtype])


def test_attention_without_sharpness_is_the_mean() -> None:
    bags = _bags()
    found = BagPooling("softmax", QUERY, sharpness=0.0).fit_transform(bags)
    np.testing.assert_allclose(found, BagPooling().fit_transform(bags), rtol=1e-13)  # rounding


@pytest.mark.parametrize("estimator", EVERY, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_form_of_the_input_does_not_matter(estimator: BaseEstimator, dtype: type) -> None:
    bags = _bags(dtype)
    expected = clone(estimator).fit_transform(bags)
    for form in (bags.to_list(), as_bags(*bags.to_array(fill=np.nan))):
        found = clone(estimator).fit_transform(form)
        assert np.array_equal(_tokens(found), _tokens(expected))
        assert isinstance(found, Bags) == isinstance(expected, Bags)
    cube = _bags(dtype).tokens[:48].reshape(8, 6, 4)
    ragged = clone(estimator).fit_transform(list(cube))
    assert np.array_equal(_tokens(clone(estimator).fit_transform(cube)), _tokens(ragged))


@pytest.mark.parametrize("estimator", EVERY, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_order_of_tokens_and_bags_does_not_matter(estimator: BaseEstimator, seed: int) -> None:
    bags, rng = _bags(), np.random.default_rng(seed)
    fitted = clone(estimator).fit(bags)
    within = as_bags([rng.permutation(bag) for bag in bags])
    again = clone(estimator).fit(within[rng.permutation(len(bags))])
    # Other orders of summing: rounding only.
    np.testing.assert_allclose(
        _tokens(again.transform(bags)), _tokens(fitted.transform(bags)), atol=1e-11
    )
    if isinstance(estimator, BagPooling):
        np.testing.assert_allclose(
            fitted.transform(within), fitted.transform(bags), rtol=0, atol=1e-11
        )


@pytest.mark.parametrize("estimator", EVERY, ids=str)
def test_a_bag_is_transformed_as_if_alone(estimator: BaseEstimator) -> None:
    bags = _bags()
    fitted = clone(estimator).fit(bags)
    together = fitted.transform(bags)
    for i in (0, 7, 39):
        # A matrix product may take another order for one row than for many.
        alone = _tokens(fitted.transform(bags[[i]]))
        np.testing.assert_allclose(alone, np.atleast_2d(together[i]), atol=1e-12)


def test_tables_stay_tables() -> None:
    pandas = pytest.importorskip("pandas", reason="the extra `data` is not installed")
    table = _bags().tokens
    frame = pandas.DataFrame(table, columns=["a", "b", "c", "d"])
    for estimator in EVERY[:2]:
        found = clone(estimator).fit_transform(table)
        assert isinstance(found, np.ndarray)
        assert np.array_equal(found, clone(estimator).fit_transform(as_bags(table)).tokens)
        fitted = clone(estimator).fit(frame)
        assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.transform(frame[["b", "a", "c", "d"]])
    pooled = BagPooling().set_output(transform="pandas").fit_transform(_bags())
    assert pooled.columns.tolist() == ["x0", "x1", "x2", "x3"]


def test_names_of_features() -> None:
    bags = _bags()
    assert TokenScaler().fit(bags).get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    assert TokenPCA(2).fit(bags).get_feature_names_out().tolist() == ["tokenpca0", "tokenpca1"]
    both = FeatureUnion([("mean", BagPooling()), ("max", BagPooling("max"))]).fit(bags)
    assert both.get_feature_names_out().tolist()[3:5] == ["mean__x3", "max__x0"]
    assert both.transform(bags).shape == (40, 8)


def test_scikit_learn_chooses_and_validates_over_every_form() -> None:
    labels = np.arange(40) % 2
    raised = _bags().tokens + 3 * np.repeat(labels, _bags().sizes)[:, None]
    bags = _bags().with_tokens(raised)
    pipeline = make_pipeline(TokenScaler(), TokenPCA(), BagPooling(), LogisticRegression())
    boxed = np.empty(40, object)
    boxed[:] = bags.to_list()
    scores = [
        cross_val_score(pipeline, X, labels, error_score="raise")
        for X in (bags, bags.to_list(), boxed)
    ]
    assert scores[0].mean() > 0.6  # half of the labels by chance
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])
    cube = np.random.default_rng(0).standard_normal((40, 6, 4))
    cross_validate(pipeline, cube, labels, error_score="raise")
    search = GridSearchCV(pipeline, {"bagpooling__pool": ["mean", "max"]}, error_score="raise")
    assert search.fit(bags, labels).predict(bags).shape == (40,)


@pytest.mark.parametrize("estimator", EVERY, ids=str)
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
    broken = bags.to_list()
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


@pytest.mark.parametrize("kept", [0, 5, 1.5, "all"])
def test_bad_numbers_of_components(kept: object) -> None:
    with pytest.raises(InvalidInput, match=r"n_components must be an integer in \[1, 4\]"):
        TokenPCA(kept).fit(_bags())  # type: ignore[arg-type]


@pytest.mark.parametrize("estimator", [TokenPCA(9), BagPooling("softmax", np.ones(3))], ids=str)
def test_a_fit_that_fails_is_none(estimator: BaseEstimator) -> None:
    with pytest.raises(InvalidInput):
        estimator.fit(_bags())
    with pytest.raises(NotFittedError):
        estimator.transform(_bags())


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, np.nan, "none"])
def test_bad_tolerances(tolerance: object) -> None:
    with pytest.raises(InvalidInput, match=r"tolerance must be a finite number in \[0, 1\)"):
        TokenPCA(tolerance=tolerance).fit(_bags())  # type: ignore[arg-type]


@pytest.mark.parametrize("X", [np.ones((1, 1, 3)), np.full((5, 2, 3), 0.1)])
def test_components_need_tokens_that_differ(X: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="X must be at least 2 tokens, not all equal"):
        TokenPCA().fit(X)


@pytest.mark.parametrize(
    ("pooling", "message"),
    [
        (BagPooling("median"), "pool must be one of max, mean, softmax, sum; got 'median'"),
        (BagPooling("softmax"), r"query must be a finite array of shape \(4,\).* got None"),
        (BagPooling("softmax", np.ones(3)), r"query must .* got 'shape \(3,\)"),
        (BagPooling("softmax", [1, 2, 3, np.nan]), "query must be a finite array"),
        (BagPooling("softmax", QUERY, sharpness=-1.0), r"sharpness must be a finite number in"),
        (BagPooling("softmax", QUERY, sharpness=np.inf), r"sharpness must be a finite number in"),
    ],
)
def test_bad_pooling(pooling: BagPooling, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pooling.fit(_bags())


def test_statistics_in_chunks_are_those_of_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    bags = _bags(n=200)
    whole = [clone(estimator).fit_transform(bags) for estimator in EVERY[:2]]
    monkeypatch.setattr(moments, "CHUNK", 400)  # 13 chunks, the last one not full
    for estimator, expected in zip(EVERY[:2], whole, strict=True):
        found = clone(estimator).fit_transform(bags)
        np.testing.assert_allclose(found.tokens, expected.tokens, atol=1e-11)  # rounding


@pytest.mark.skipif(not (MIL / "fox.npz").exists(), reason="shared/data/mil is not here")
def test_real_bags_with_constant_columns() -> None:
    with np.load(MIL / "fox.npz") as data:
        bags, labels = from_long(data["X"], data["bag"]).bags, data["y"]
    constant = np.ptp(bags.tokens, axis=0) == 0
    assert constant.sum() > 50  # about half of the 230 columns
    scaled = TokenScaler().fit_transform(bags)
    assert not scaled.tokens[:, constant].any()
    whitener = TokenPCA().fit(scaled)
    white = whitener.transform(scaled)
    assert white.dimension <= (~constant).sum()
    # Columns printed to 7 digits add up to a constant: without a tolerance that is a feature.
    assert TokenPCA(tolerance=0).fit(scaled).n_components_ == white.dimension + 1
    covariance = np.cov(white.tokens, rowvar=False)
    # A variance is exact to d eps of the largest one, and the least is 6e-7 of it.
    np.testing.assert_allclose(covariance, np.eye(white.dimension), atol=1e-7)
    pipeline = make_pipeline(TokenScaler(), BagPooling(), LogisticRegression(C=0.01))
    assert cross_val_score(pipeline, bags, labels, error_score="raise").shape == (5,)


@pytest.mark.parametrize("scaler", [TokenScaler(), TokenPCA(2), TokenTransformer(StandardScaler())])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_come_out_as_asked_and_bags_as_bags(scaler: BaseEstimator, library: str) -> None:
    frames = pytest.importorskip(library)
    table = (
        frames.DataFrame(_bags().tokens[:30], columns=list("abcd"))
        if library == "pandas"
        else (frames.DataFrame(_bags().tokens[:30], schema=list("abcd"), orient="row"))
    )
    plain = clone(scaler).fit(table)
    assert plain.feature_names_in_.tolist() == list("abcd")
    expected = plain.transform(table)
    assert isinstance(expected, np.ndarray)
    # What was asked for outlives a clone.
    asked = clone(clone(scaler).set_output(transform=library)).fit(table)
    found = asked.transform(table)
    assert isinstance(found, frames.DataFrame)
    assert list(found.columns) == plain.get_feature_names_out().tolist()
    assert np.array_equal(found.to_numpy(), expected)
    bags = _bags()
    assert isinstance(clone(asked).fit(bags).transform(bags), Bags)
    with config_context(transform_output=library):
        assert isinstance(plain.transform(table), frames.DataFrame)
    with pytest.raises(InvalidInput, match="transform"):
        asked.set_output(transform="xarray")


def test_the_rows_of_a_frame_keep_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(_bags().tokens[:3], columns=list("abcd"), index=["u", "v", "w"])
    found = TokenScaler().set_output(transform="pandas").fit_transform(table)
    assert found.index.tolist() == ["u", "v", "w"]
    assert found.columns.tolist() == list("abcd")


def test_a_pipeline_over_bags_ends_in_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    pipeline = make_pipeline(TokenScaler(), TokenPCA(2), BagPooling())
    found = pipeline.set_output(transform="pandas").fit_transform(_bags())
    assert isinstance(found, pandas.DataFrame)
    assert found.shape == (40, 2)
