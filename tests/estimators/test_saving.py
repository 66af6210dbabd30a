"""Saved models: what comes back, and what is never loaded."""

import pickle
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparsetoken
from broken_files import cut, flipped
from command_line import limited, refused
from sparsetoken import BagClassifier, estimators
from sparsetoken.bags import pack, read
from sparsetoken.bags.container import is_mapped
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import (
    AttentionClassifier,
    BagPooling,
    PooledClassifier,
    PooledForestClassifier,
    TokenTransformer,
)
from sparsetoken.estimators.saving import load, save

NAMED = [getattr(estimators, name) for name in estimators.__all__]
KINDS = [one for one in NAMED if isinstance(one, type)]
EVERY = [kind() for kind in KINDS if not issubclass(kind, Warning) and kind != TokenTransformer]
EVERY += [TokenTransformer(StandardScaler()), TokenTransformer(PCA(whiten=True))]


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4, 3))
    X[1::2, 1, 0] += 9  # heavy tails, of which members take normal scores
    return X, np.arange(40) % 2


ASKED = "decision_function predict predict_token_proba attention_weights contributions transform"


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_what_was_saved_comes_back(model, bags, tmp_path):
    X, y = bags
    fitted = clone(model).fit(X, y)
    told = [name for name in ASKED.split() if hasattr(model, name)]
    expected = [tokens_of(getattr(fitted, name)(X)) for name in told]
    save(fitted, tmp_path / "m.skops")
    found = load(tmp_path / "m.skops")
    assert type(found) is type(model)
    assert repr(found.get_params()) == repr(fitted.get_params())
    for name, values in zip(told, expected, strict=True):
        np.testing.assert_array_equal(tokens_of(getattr(found, name)(X)), values)


def test_a_model_of_packed_bags_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "slides").mkdir()
    for i in range(40):
        tokens = rng.standard_normal((3 + i % 4, 3)).astype(np.float32)
        tokens[0, 0] += 3 * (i % 2)
        np.save(tmp_path / "slides" / f"s{i:02d}.npy", tokens)
    labels = {f"s{i:02d}": i % 2 for i in range(40)}
    packed, y, _ = read(pack(tmp_path / "slides", tmp_path / "packed", labels=labels))
    assert is_mapped(packed.tokens)
    for kind in (BagClassifier, PooledForestClassifier):
        fitted = kind().fit(packed, y)
        save(fitted, tmp_path / "m.skops")
        found = load(tmp_path / "m.skops").predict_proba(packed)
        np.testing.assert_array_equal(found, fitted.predict_proba(packed))


def test_a_model_of_groups_comes_back(bags, tmp_path):
    X, y = bags
    fitted = BagClassifier().fit(X, y, groups=np.arange(40) // 2)
    save(fitted, tmp_path / "m.skops")
    found = load(tmp_path / "m.skops").predict_proba(X)
    np.testing.assert_array_equal(found, fitted.predict_proba(X))


@pytest.mark.parametrize("name", ["m.onnx", "m.joblib", "m.skops.zip"])
def test_other_endings_are_refused(name, bags, tmp_path):
    with pytest.raises(InvalidInput, match=r"ends in \.skops, or has no ending"):
        save(PooledClassifier().fit(*bags), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_model(bags, tmp_path):
    path = tmp_path / "m.skops"
    path.write_text("old")
    with limited(100), pytest.raises(OSError, match="File too large") as caught:
        save(PooledClassifier().fit(*bags), path)
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def tokens_of(found):
    return getattr(found, "tokens", found)


class Harmful:
    def __reduce__(self):
        return (exec, ("raise SystemError('code ran')",))


def test_a_pickle_is_not_loaded(tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(InvalidInput, match="no file that save wrote"):
        load(path)


def test_a_cut_file_is_refused(bags, tmp_path):
    path = tmp_path / "m.skops"
    save(PooledClassifier().fit(*bags), path)
    for one in cut(path):
        with pytest.raises(InvalidInput, match="MODEL must be"):
            load(one)
    path.write_bytes(b"PK")
    with pytest.raises(InvalidInput, match="end of the file is missing"):
        load(path)


def test_checksums_are_compared(bags, tmp_path):
    model, path = PooledClassifier().fit(*bags), tmp_path / "m.skops"
    save(model, path)
    with pytest.raises(InvalidInput, match="CRC"):
        load(flipped(path, model.coef_))


def test_strange_types_are_named_and_not_loaded(tmp_path):
    import skops.io

    path = tmp_path / "m.skops"
    path.write_bytes(skops.io.dumps({"a": PooledClassifier(), "b": BagPooling(), "c": Strange()}))
    with pytest.raises(InvalidInput, match="Strange") as error:
        load(path)
    assert "PooledClassifier" not in str(error.value)


class Strange:
    pass


def test_what_could_not_be_loaded_is_not_saved(bags, tmp_path):
    neighbours = make_pipeline(BagPooling(), KNeighborsClassifier(algorithm="kd_tree"))
    fitted = neighbours.fit(*bags)
    with pytest.raises(InvalidInput, match=r"KDTree'\. joblib\.dump writes"):
        save(fitted, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", [BagClassifier(), make_pipeline(BagPooling(), PCA())], ids=str)
def test_a_model_that_was_not_fitted_is_refused(model, tmp_path):
    import skops.io

    path = tmp_path / "m.skops"
    with pytest.raises(InvalidInput, match=r"the model must be fitted; got '\w+ that was not fi"):
        save(model, path)
    assert not path.exists()
    skops.io.dump({"version": sparsetoken.__version__, "model": model}, path)
    with pytest.raises(InvalidInput, match=r"MODEL m\.\w+ must be fitted; .* Fit it and save"):
        load(path)


@pytest.mark.parametrize(
    ("saved", "got"),
    [({"version": "0.9"}, "version 0.9"), (BagPooling(), "a file without a version")],
)
def test_a_model_of_another_version_is_refused(saved, got, tmp_path):
    import skops.io

    skops.io.dump(saved, tmp_path / "m.skops")
    told = rf"written by save of version {sparsetoken.__version__}; got '{got}'\. Fit it"
    with pytest.raises(InvalidInput, match=told):
        load(tmp_path / "m.skops")


def test_a_zip_file_of_something_else_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.skops", "w") as packed:
        packed.writestr("notes.txt", b"hello")
    with pytest.raises(InvalidInput, match="MODEL must be"):
        load(tmp_path / "m.skops")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("command", ["predict", "score", "tokens"])
def test_a_model_that_gives_no_number_ends_in_a_message(command, bags, tmp_path):
    X, y = bags
    fitted = AttentionClassifier().fit(X, y)
    fitted.coef_, fitted.token_range_ = np.ones((1, 3)), np.array([[-99.0], [99.0]])
    fitted.exponent_ = np.array([1e308])  # times 27 it is infinite
    save(fitted, tmp_path / "m.skops")
    np.savez(tmp_path / "bags.npz", X=np.full_like(X, 9.0), y=y)
    told = refused("bags", command, tmp_path / "m.skops", tmp_path / "bags.npz")
    assert "the model must be one that gives numbers; got 'nan'" in told


def test_a_missing_file(tmp_path):
    with pytest.raises(InvalidInput, match="is there"):
        load(tmp_path / "no.skops")


def test_what_is_no_estimator_is_not_saved(tmp_path):
    with pytest.raises(InvalidInput, match=r"the model must be an estimator .*; got 3"):
        save(3, tmp_path / "m.skops")
    assert not (tmp_path / "m.skops").exists()
