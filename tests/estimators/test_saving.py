"""Saved models: what comes back, and what is never loaded."""

import contextlib
import pickle

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sparsetoken import estimators
from sparsetoken.estimators import BagPooling, PooledLinearClassifier
from sparsetoken.estimators.base import BaseBagClassifier
from sparsetoken.estimators.saving import load, save
from sparsetoken.validation import InvalidInput

CLASSIFIERS = [
    kind
    for kind in (getattr(estimators, name) for name in estimators.__all__)
    if isinstance(kind, type) and issubclass(kind, BaseBagClassifier)
]


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4, 3))
    X[1::2, 1, 0] += 5
    return X, np.where(np.arange(40) % 2, "yes", "no")


@pytest.mark.parametrize("ending", ["skops", "model", "joblib"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_what_was_saved_comes_back(kind, ending, bags, tmp_path):
    X, y = bags
    fitted = kind().fit(X, y)
    path = tmp_path / f"m.{ending}"
    save(fitted, path)
    found = load(path, trust_pickle=ending == "joblib")
    assert type(found) is kind
    assert found.get_params() == fitted.get_params()
    np.testing.assert_array_equal(found.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(found.predict(X), fitted.predict(X))


class Harmful:
    def __reduce__(self):
        return (exec, ("raise SystemError('code ran')",))


def test_a_pickle_is_not_loaded_unless_it_is_trusted(tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(InvalidInput, match="runs no code"):
        load(path)
    joblib.dump(LogisticRegression(), tmp_path / "m.joblib")
    with pytest.raises(InvalidInput, match="trust_pickle"):
        load(tmp_path / "m.joblib")


def test_strange_types_are_named_and_not_loaded(tmp_path):
    import skops.io

    path = tmp_path / "m.skops"
    path.write_bytes(
        skops.io.dumps({"a": PooledLinearClassifier(), "b": BagPooling(), "c": Strange()})
    )
    with pytest.raises(InvalidInput, match="Strange") as error:
        load(path)
    assert "PooledLinear" not in str(error.value)


class Strange:
    pass


@pytest.mark.parametrize("place", range(0, 3000, 97))
def test_damaged_files_are_one_message(place, bags, tmp_path):
    path = tmp_path / "m.skops"
    save(PooledLinearClassifier().fit(*bags), path)
    whole = bytearray(path.read_bytes())
    whole[place % len(whole)] ^= 0x55
    path.write_bytes(whole)
    with contextlib.suppress(InvalidInput):
        assert isinstance(load(path), PooledLinearClassifier)  # the byte was of no use


def test_a_missing_file(tmp_path):
    with pytest.raises(InvalidInput, match="is there"):
        load(tmp_path / "no.skops")
