"""A saved model whose fitted attributes were damaged is refused by name when it is loaded."""

import io
import typing
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import command_line
from sparsetoken import BagClassifier, BagRegressor, estimators
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import (
    AttentionClassifier,
    PooledClassifier,
    PooledForestClassifier,
    TokenTransformer,
)
from sparsetoken.estimators.declared import MISSING, NOT_FINITE
from sparsetoken.estimators.saving import load, save

KINDS = [getattr(estimators, name) for name in estimators.__all__]
KINDS = [one for one in KINDS if isinstance(one, type) and not issubclass(one, Warning)]
SPECIAL = {
    TokenTransformer: TokenTransformer(StandardScaler()),
    PooledForestClassifier: PooledForestClassifier(n_estimators=5),
}
EVERY = [SPECIAL[kind] if kind in SPECIAL else kind() for kind in KINDS]
REMOVED, TEXT = object(), "text"

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")


def damages(value, allowed):
    """Yield what may stand in place of a fitted attribute."""
    yield TEXT
    if MISSING not in allowed:
        yield REMOVED
    if isinstance(value, np.ndarray):
        yield value[None]
    if isinstance(value, list | np.ndarray):
        yield value[:-1]
    if (
        getattr(value, "dtype", type(value)) in (float, np.dtype(float))
        and NOT_FINITE not in allowed
        and np.size(value)
    ):
        yield value * np.nan


def bags_of(classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3, 2))
    X[::6, 1, 0] += 20  # a heavy tail, of which members take normal scores
    return X, np.arange(30) % classes


CASES = [(model, 2) for model in EVERY] + [
    (model, 3) for model in EVERY if hasattr(model, "predict_proba")
]


@pytest.mark.parametrize(("model", "classes"), CASES, ids=lambda one: type(one).__name__)
def test_a_damaged_attribute_is_refused_by_name(model, classes, tmp_path):
    fitted, path = clone(model).fit(*bags_of(classes)), tmp_path / "m.skops"
    hints = typing.get_type_hints(type(fitted), include_extras=True)
    kept = vars(fitted).keys() - fitted.get_params().keys()
    assert kept <= hints.keys()  # all that a fit sets is declared
    for name in sorted(kept):
        before = getattr(fitted, name)
        allowed = getattr(hints[name], "__metadata__", ())
        allowed += (MISSING,) if hasattr(type(fitted), name) else ()
        for value in damages(before, allowed):
            shorter = np.ndim(value) and len(value) < len(before)
            if shorter and name == "left_out_scores_":
                continue  # how many bags there were is not kept
            setattr(fitted, name, value)
            if value is REMOVED:
                delattr(fitted, name)
            # What has another size than other attributes may be either.
            blamed = "" if shorter else f"{name} of "
            with pytest.raises(InvalidInput, match=f"{blamed}.*{type(model).__name__}|BagPooling"):
                load_of(fitted, path)
        setattr(fitted, name, before)
    load_of(fitted, path)


@pytest.mark.parametrize("kind", [BagClassifier, BagRegressor])
def test_members_are_checked_too(kind, tmp_path):
    fitted, path = kind().fit(*bags_of(2)), tmp_path / "m.skops"
    for name, member in fitted.members_.items():
        before = dict(vars(member))
        vars(member).clear()
        with pytest.raises(InvalidInput, match=f"of {type(member).__name__}|Dummy"):
            load_of(fitted, path)
        vars(member).update(before)
        fitted.members_[name] = TEXT
        with pytest.raises(InvalidInput, match=f"{name} of {kind.__name__} must be an estimator"):
            load_of(fitted, path)
        fitted.members_[name] = member
    load_of(fitted, path)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda model: model.forest_.estimators_.clear(), "forest_"),
        (lambda model: delattr(model.forest_, "n_classes_"), "n_classes_"),
        (lambda model: setattr(model, "forest_", StandardScaler()), "forest_"),
    ],
)
def test_a_damaged_forest_is_refused(damage, told, tmp_path):
    fitted = PooledForestClassifier(n_estimators=5).fit(*bags_of(2))
    damage(fitted)
    with pytest.raises(InvalidInput, match=told):
        load_of(fitted, tmp_path / "m.skops")


def load_of(model, path):
    skops.io.dump(model, path)
    return load(path)


def test_an_array_that_was_edited_in_the_file(tmp_path):
    fitted, path = PooledClassifier().fit(*bags_of(2)), tmp_path / "m.skops"
    save(make_pipeline(TokenTransformer(StandardScaler()), fitted), path)
    with zipfile.ZipFile(path) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    for name in members:
        if name.endswith(".npy") and members[name] == npy_of(fitted.coef_):
            members[name] = npy_of(fitted.coef_[:, :1])
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    with pytest.raises(InvalidInput) as error:
        load(path)
    assert str(error.value) == (
        "coef_ of PooledClassifier in m.skops must be finite, Float[ndarray, 'K m'] with "
        "m = 2, K = 1; got 'float64 of shape (1, 1)'. Fit the model and save it again."
    )


def npy_of(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("command", ["predict", "score", "tokens"])
def test_a_model_that_gives_no_number_ends_in_a_message(command, tmp_path):
    X, y = bags_of(2)
    fitted = AttentionClassifier().fit(X, y)
    fitted.coef_, fitted.token_range_ = np.ones((1, 2)), np.array([[-99.0], [99.0]])
    fitted.exponent_ = np.array([1e308])  # times 18 it is infinite
    save(fitted, tmp_path / "m.skops")
    np.savez(tmp_path / "bags.npz", X=np.full_like(X, 9.0), y=y)
    told = command_line.refused("bags", command, tmp_path / "m.skops", tmp_path / "bags.npz")
    assert "the model must be one that gives numbers; got 'nan'" in told
