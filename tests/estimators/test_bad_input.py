"""Every kind of bad input has one clear message."""

import contextlib
import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsetoken import AttentionClassifier, BagClassifier, BagRegressor
from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import (
    PaddingWarning,
    PooledClassifier,
    PooledForestClassifier,
    QueryWarning,
    VectorizedLinearClassifier,
)
from sparsetoken.estimators.fitting.targets import read_classes

pytestmark = pytest.mark.filterwarnings(
    "ignore::sparsetoken.estimators.QueryWarning"  # of 20 bags, rightly
)
Draw = Callable[..., tuple[Bags, np.ndarray]]
Cube = tuple[np.ndarray, np.ndarray]
EVERY = [
    PooledClassifier(),
    VectorizedLinearClassifier(),
    AttentionClassifier(),
    BagClassifier(),  # its members are the other classifiers
]
by_model = pytest.mark.parametrize("model", EVERY, ids=str)


@pytest.fixture
def cube(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    bags, y = draw(20, sizes=(3, 3))
    return bags.to_array()[0].copy(), y


def changed(X: np.ndarray, value: object, at: tuple[int, ...] = (7, 2, 1)) -> np.ndarray:
    X = X.copy()
    X[at] = value
    return X


def listed(X: np.ndarray, bag: np.ndarray) -> list[np.ndarray]:
    return [*X[:5], bag, *X[6:]]


NAMES = np.array(["cat", "dog"] * 10, dtype=object)
TWO = "y must be of at least two classes"
REFUSALS: dict[str, Callable[[np.ndarray, np.ndarray], tuple[object, object, dict, str]]] = {
    "nan": lambda X, y: (changed(X, np.nan), y, {}, "got 'nan at bag 7, token 2, column 1'"),
    "inf": lambda X, y: (changed(X, np.inf), y, {}, "got 'inf at bag 7, token 2, column 1'"),
    "-inf": lambda X, y: (changed(X, -np.inf), y, {}, "got '-inf at bag 7, token 2, column 1'"),
    "empty bag": lambda X, y: (listed(X, X[0, :0]), y, {}, "bag 5 must be of at least one token"),
    "another d": lambda X, y: (listed(X, np.ones((3, 5))), y, {}, "d = 4, as bag 0; got 'd = 5'"),
    "a path": lambda X, y: ("slides", y, {}, "X must be bags; got 'slides'. st.bags.read"),
    "no bag": lambda X, y: (listed(X, np.ones(4)), y, {}, r"(tokens, d); got 'shape (4,)'"),
    "large": lambda X, y: (X * 1e160, y, {}, "between 1e-100 and 1e+100"),
    "small": lambda X, y: (X * 1e-160, y, {}, "between 1e-100 and 1e+100"),
    "large float32": lambda X, y: (np.float32(X * 1e20), y, {}, "between 1e-12 and 1e+12"),
    "small float32": lambda X, y: (np.float32(X * 1e-20), y, {}, "between 1e-12 and 1e+12"),
    "one class": lambda X, y: (X, np.full(20, "dog"), {}, f"{TWO}; got '1 class, dog'"),
    "one class with weight": lambda X, y: (X, y, {"sample_weight": y}, f"{TWO}, each with"),
    "no weight": lambda X, y: (X, y, {"sample_weight": 0 * y}, "at least one non-zero number"),
    "None": lambda X, y: (X, changed(NAMES, None, (3,)), {}, "values; got 'None for bag 3'"),
    "nan of texts": lambda X, y: (X, changed(NAMES, np.nan, (3,)), {}, "got 'nan for bag 3'"),
    "nan label": lambda X, y: (X, np.where(y, np.nan, 0.0), {}, "values; got 'nan for bag 1'"),
    "too few labels": lambda X, y: (X, y[:-1], {}, "inconsistent numbers of samples"),
    "no labels": lambda X, y: (X, None, {}, "requires y to be passed"),
    "numbers": lambda X, y: (X, np.linspace(0, 1, 20), {}, "Unknown label type"),
    "two columns": lambda X, y: (X, np.stack([y, y], axis=1), {}, "y should be a 1d array"),
    "too few weights": lambda X, y: (X, y, {"sample_weight": np.ones(19)}, "shape == (19,)"),
    "negative": lambda X, y: (X, y, {"sample_weight": y - 1}, "Negative values in data passed"),
    "nan weight": lambda X, y: (X, y, {"sample_weight": y * np.nan}, "sample_weight contains NaN"),
    "masked": lambda X, y: (np.ma.array(X, mask=X > 2), y, {}, "without masked values"),
    "masked bag": lambda X, y: (
        listed(X, np.ma.array(X[1], mask=X[1] > 0)),
        y,
        {},
        "bag 5 must be without masked values",
    ),
}


@by_model
def test_what_is_refused(cube: Cube, model: BaseEstimator) -> None:
    for name, refusal in REFUSALS.items():
        X, y, given, message = refusal(*cube)
        with pytest.raises(ValueError, match=re.escape(message)) as error:
            clone(model).fit(X, y, **given)
        assert "float" not in name or "Scale the tokens" in str(error.value)


ILLEGAL: dict[str, dict[object, str]] = {
    "pool": {"median": "pool must be one of"},
    "ridge": {
        0.0: "ridge must be a finite number in (0, 1e+06]; got 0.0. Or 'auto'.",
        "best": "ridge must be a finite number",
    },
    "temperature": {
        0.0: "temperature must be a finite number in (0, 1e+06]",
        "hot": "temperature must be a finite number in (0, 1e+06]",
    },
    "loss": {"huber": "loss must be one of"},
    "n_folds": {1: "n_folds must be an integer >= 2"},
    "n_estimators": {0: "n_estimators must be an integer >= 1"},
    "standardize": {"no": "standardize must be True or False"},
    "centred": {"no": "centred must be True or False"},
    "random_state": {
        "now": "random_state must be None, a numpy.random.RandomState or an int",
        -1: "an integer from 0 to 2**32 - 1; got -1",
        (1, 2): "random_state must be None",
    },
    "class_weight": {
        "even": "class_weight must be None, 'balanced' or a dict",
        3: "class_weight must be None, 'balanced' or a dict",
        ((0, -1.0),): "class_weight must be None, 'balanced' or a dict",
        ((0, 0.0),): "class_weight must be None, 'balanced' or a dict",
        ((1, np.inf),): "class_weight must be None, 'balanced' or a dict",
        (
            (0, 1.0),
            ("one", 9.0),
        ): "a dict with keys among the classes of y, [0, 1]",
    },
    "members": {
        3: "members must be pairs of a name",
        ("own",): "members must be pairs of a name",
        (("own", None),): "members must be pairs of a name",
        (("mean", AttentionClassifier()),): "Names that are taken: constant, size, forest, mean",
        ((1, PooledClassifier()),): "members must be pairs of a name",
    },
    "threshold": {
        "best": "threshold must be 'auto', a probability",
        1.5: "a probability in (0, 1)",
    },
    "positive": {"maybe": "positive must be one of the two classes, 0 or 1"},
    "exclude": {
        3: "exclude must be a sequence of names among size, forest, mean",
        "size": "a sequence of names",
        ("constant",): "a sequence of names",
    },
    "progress": {},  # any value is true or false
}


@pytest.mark.parametrize("model", [*EVERY, PooledForestClassifier(10), BagRegressor()], ids=str)
def test_illegal_values_of_every_parameter(cube: Cube, model: BaseEstimator) -> None:
    for name in model.get_params(deep=False):
        for value, message in ILLEGAL[name].items():
            value = dict(value) if name == "class_weight" and isinstance(value, tuple) else value
            with pytest.raises(ValueError, match=re.escape(message)):
                clone(model).set_params(**{name: value}).fit(*cube)


def test_a_class_weight_of_one_class_is_enough(cube: Cube) -> None:
    PooledClassifier(class_weight={1: 9.0}).fit(*cube)


@pytest.mark.parametrize(
    "X",
    [
        {"a": np.ones((2, 2))},
        (np.ones((2, 2)) for _ in range(3)),
        bytearray(12),
        "a text",
        ["a text", "another"],
        [["two", "texts"], ["one"]],
    ],
)
def test_what_is_no_array(X: object) -> None:
    for act in (as_bags, lambda x: AttentionClassifier().fit(x, [0, 1])):
        with pytest.raises((TypeError, ValueError)):
            act(X)


def test_one_bag_is_no_table_of_bags() -> None:
    X = np.random.default_rng(0).standard_normal((20, 8, 10))
    X[::2] += 1
    fitted = PooledClassifier().fit(X, np.arange(20) % 2)
    with pytest.raises(InvalidInput, match=r"of several tokens.*\(8, 10\), 8 bags.*X\[None\]"):
        fitted.predict(X[0])
    assert fitted.predict(X[0][None]) == fitted.predict(X)[:1]
    for nothing in ([], np.array([])):
        with pytest.raises(ValueError, match="Expected 2D array"):
            fitted.predict(nothing)


def test_a_transformer_of_tables_in_front_of_bags_is_told_where_to_go() -> None:
    bags = as_bags([np.ones((2, 3)), np.zeros((3, 3))])
    with pytest.raises(TypeError, match=r"TokenTransformer\(StandardScaler\(\)\)"):
        make_pipeline(StandardScaler(), BagClassifier()).fit(bags, [0, 1])


def test_zero_padding_is_told() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 4, 3)), np.arange(20) % 2
    X[3:9, 2:] = 0
    with pytest.warns(PaddingWarning, match="6 of 20 bags end in tokens of zeros.*as_bags"):
        PooledClassifier().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PooledClassifier().fit(as_bags(X, X.any(axis=2)), y)
        PooledClassifier().fit(list(X[:, :2]), y)
        data = X.copy()
        data[0, 1] = 0  # a token of zeros that another one follows: zeros are data
        PooledClassifier().fit(data, y)
        model = PooledClassifier().fit(list(X[:, :2]), y)
        model.predict(X[:3])
    with pytest.warns(PaddingWarning, match="6 of 20 bags end in tokens of zeros"):
        model.predict_proba(X)
    X[:, 3] = 0
    with pytest.warns(PaddingWarning, match="20 of 20 bags end in tokens of zeros"):
        PooledClassifier().fit(X, y)


BAD_FITS = {
    "no fit": lambda model, X, y: None,
    "one class": lambda model, X, y: model.fit(X, 0 * y),
    "not finite": lambda model, X, y: model.fit(np.where(X > 1, np.nan, X), y),
    "other dimension, more classes": lambda model, X, y: model.set_params(ridge=-1.0).fit(
        X[..., :2], np.arange(20) % 4
    ),
    "a warning that is an error": lambda model, X, y: model.fit(_padded(X), y),
}


def _padded(X: np.ndarray) -> np.ndarray:
    return np.concatenate([X, np.where(np.arange(20)[:, None, None] < 5, 0.0, X)], axis=1)


def failed(model: BaseEstimator, cube: Cube, bad_fit: str) -> BaseEstimator:
    """Return the model after a fit that fails."""
    with contextlib.suppress(ValueError, PaddingWarning):
        BAD_FITS[bad_fit](model, *cube)
    return model


@by_model
def test_what_has_no_fit_says_so(cube: Cube, model: BaseEstimator) -> None:
    asked = "predict predict_proba decision_function score top_tokens attention_weights"
    asked += " predict_token_proba member_scores contributions summary"
    for bad_fit in BAD_FITS:
        unfitted = failed(clone(model), cube, bad_fit)
        for name in asked.split():
            if hasattr(unfitted, name):
                given = {"score": cube, "summary": ()}.get(name, cube[:1])
                with pytest.raises(NotFittedError):
                    getattr(unfitted, name)(*given)
        assert not hasattr(unfitted, "n_features_in_")


@by_model
def test_a_fit_that_fails_leaves_the_one_before(cube: Cube, model: BaseEstimator) -> None:
    fitted = clone(model).fit(*cube)
    expected = fitted.predict_proba(cube[0])
    for bad_fit in BAD_FITS:
        found = failed(fitted, cube, bad_fit).predict_proba(cube[0])
        np.testing.assert_array_equal(found, expected)


def test_warnings_of_a_fit_name_the_line_that_called_it(cube: Cube) -> None:
    X, y = cube
    with pytest.warns(PaddingWarning) as padded:
        PooledClassifier().fit(_padded(X), y)
    noise = np.random.default_rng(1).standard_normal(X.shape)
    assert {one.filename for one in padded} == {__file__}
    for model in (AttentionClassifier(), BagClassifier()):
        with pytest.warns(QueryWarning) as queried:
            model.fit(noise, y)
        assert {one.filename for one in queried} == {__file__}


@by_model
def test_another_dimension(cube: Cube, model: BaseEstimator) -> None:
    X, y = cube
    fitted, name = clone(model).fit(X, y), type(model).__name__
    with pytest.raises(InvalidInput, match=f"bags of d = 4, as {name} was fitted on; got 'd = 5'"):
        fitted.predict(np.ones((2, 3, 5)))
    with pytest.raises(ValueError, match=f"X has 5 features, but {name} is expecting 4"):
        fitted.predict(np.ones((2, 5)))
    with pytest.raises(TypeError, match="Sparse"):
        fitted.predict(csr_array(np.eye(4)))


def test_ragged_bags_have_no_positions(draw: Draw) -> None:
    bags, y = draw(20)
    remedy = "take PooledClassifier or AttentionClassifier"
    with pytest.raises(InvalidInput, match=f"the same number of tokens.*{remedy}"):
        VectorizedLinearClassifier().fit(bags, y)
    even, _ = draw(20, sizes=(3, 3))
    fitted = VectorizedLinearClassifier().fit(even, y)
    with pytest.raises(InvalidInput, match=f"bags of 3 tokens each.*{remedy}"):
        fitted.predict(bags)
    longer, _ = draw(20, sizes=(4, 4))
    with pytest.raises(InvalidInput, match="bags of 3 tokens each; got '4 to 4 tokens'"):
        fitted.predict(longer)


def test_losses_that_some_choices_exclude(cube: Cube) -> None:
    needs = "loss must be a smooth loss"
    with pytest.raises(InvalidInput, match=f"{needs}.*to choose ridge or temperature"):
        PooledClassifier(loss="hinge").fit(*cube)
    for given in ({"ridge": 0.1}, {"ridge": 0.1, "temperature": 1.0}, {}):
        with pytest.raises(InvalidInput, match=needs):
            AttentionClassifier(loss="hinge", **given).fit(*cube)
    fitted = PooledClassifier(loss="square").fit(*cube)
    with pytest.raises(AttributeError, match="predict_proba"):
        fitted.predict_proba(cube[0])


def test_many_classes_in_few_bags_are_no_warning_of_a_regression() -> None:
    read_classes(as_bags(np.ones((24, 1, 1))), np.arange(24), None, None)


@by_model
def test_tokens_whose_products_overflow_are_refused_after_the_fit_too(
    cube: Cube, model: BaseEstimator
) -> None:
    fitted = clone(model).fit(*cube)
    for kind, value, most in ((np.float64, 1e300, r"1e\+100"), (np.float32, 1e20, r"1e\+12")):
        X = changed(cube[0], value).astype(kind)
        for name in ("predict", "predict_proba", "attention_weights", "predict_token_proba"):
            if hasattr(fitted, name):
                with pytest.raises(InvalidInput, match=f"tokens of at most {most}; got"):
                    getattr(fitted, name)(X)
    fitted.predict(1e-120 * cube[0])
