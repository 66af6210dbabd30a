"""Saved models: what comes back, and what is never loaded."""

import json
import pickle
import warnings
import zipfile

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hostile_files import PLAIN, TEXT, damaged, little_memory, npy
from sparsetoken import BagClassifier, estimators
from sparsetoken.bags import pack, read
from sparsetoken.bags.container import is_mapped
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import (
    BagPooling,
    PooledForestClassifier,
    PooledLinearClassifier,
    TokenTransformer,
)
from sparsetoken.estimators.saving import load, save

KINDS = [getattr(estimators, name) for name in estimators.__all__]
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
    for ending in ("skops", "joblib"):
        path = tmp_path / f"m.{ending}"
        save(fitted, path)
        found = load(path, trust_pickle=ending == "joblib")
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
    packed, y, _ = read(pack(tmp_path / "slides", tmp_path / "packed"), labels=labels)
    assert is_mapped(packed.tokens)
    for kind in (BagClassifier, PooledForestClassifier):
        fitted = kind().fit(packed, y)
        for ending in ("skops", "joblib"):
            path = tmp_path / f"m.{ending}"
            save(fitted, path)
            found = load(path, trust_pickle=ending == "joblib").predict_proba(packed)
            np.testing.assert_array_equal(found, fitted.predict_proba(packed))


def test_a_model_of_groups_comes_back(bags, tmp_path):
    X, y = bags
    fitted = BagClassifier().fit(X, y, groups=np.arange(40) // 2)
    save(fitted, tmp_path / "m.skops")
    found = load(tmp_path / "m.skops").predict_proba(X)
    np.testing.assert_array_equal(found, fitted.predict_proba(X))


@pytest.mark.parametrize("name", ["m.onnx", "m.npz", "m.skops.zip"])
def test_other_endings_are_refused(name, bags, tmp_path):
    with pytest.raises(InvalidInput, match=r"ends in \.skops, \.joblib, \.pickle, \.pkl"):
        save(PooledLinearClassifier().fit(*bags), tmp_path / name)
    assert not list(tmp_path.iterdir())


def tokens_of(found):
    return getattr(found, "tokens", found)


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


def test_a_cut_file_is_not_taken_for_a_pickle(members, tmp_path):
    path = _write(tmp_path / "m.skops", members)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InvalidInput, match="end of the file is missing"):
        load(path)


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


def test_what_could_not_be_loaded_is_not_saved(bags, tmp_path):
    neighbours = make_pipeline(BagPooling(), KNeighborsClassifier(algorithm="kd_tree"))
    fitted = neighbours.fit(*bags)
    with pytest.raises(InvalidInput, match=r"KDTree'\. A path that ends in \.joblib"):
        save(fitted, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())
    save(fitted, tmp_path / "m.joblib")
    found = load(tmp_path / "m.joblib", trust_pickle=True)
    assert found.score(*bags) == fitted.score(*bags)


@pytest.fixture(scope="module")
def members(bags, tmp_path_factory):
    """The members of the zip file of a saved model."""
    path = tmp_path_factory.mktemp("models") / "m.skops"
    X, y = bags
    save(PooledLinearClassifier().fit(X, np.where(y, "yes", "no")), path)
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def _write(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_file_is_refused_or_read_as_it_was(method, members, bags, tmp_path):
    path = _write(tmp_path / "m.skops", members, method)
    whole, refusals = load(path).decision_function(bags[0]), 0
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        try:
            with little_memory():
                found = load(path)
        except InvalidInput:
            refusals += 1
        else:
            np.testing.assert_array_equal(found.decision_function(bags[0]), whole)
    assert refusals > 20


def _first(members):
    """Return the name of an array of a model."""
    return next(name for name in members if name.endswith(".npy"))


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "MODEL must be"),
        (b"hello", "pickled"),
        (npy("((((\n"), "TokenError"),
        (npy(PLAIN % f"({2**70},)"), "OverflowError"),
    ],
)
def test_hostile_arrays_are_refused(content, word, members, tmp_path):
    path = _write(tmp_path / "m.skops", {**members, _first(members): content})
    with little_memory(), pytest.raises(InvalidInput, match=word):
        load(path)


def test_classes_that_are_no_unicode_are_refused(members, tmp_path):
    name = next(name for name, content in members.items() if b"'<U" in content)
    changed = members[name][:-4] + (0x110000).to_bytes(4, "little")
    path = _write(tmp_path / "m.skops", {**members, name: changed})
    with pytest.raises(InvalidInput, match="0x110000"):
        load(path)


@pytest.mark.parametrize("shape", ["()", "(1,)", "(1, 1)"])
def test_classes_of_another_shape_are_refused(shape, members, tmp_path):
    name = next(name for name, content in members.items() if b"'<U" in content)
    one = npy(TEXT.replace("(12,)", shape), b"a\0\0\0")
    path = _write(tmp_path / "m.skops", {**members, name: one})
    with pytest.raises(InvalidInput, match="two classes or more"):
        load(path)


@pytest.fixture(scope="module")
def models():
    """Fitted models, whose parts of this package are reached by `_parts`."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4, 3)), rng.permutation(np.arange(60) % 3)
    X[:, :, 0] **= 5  # heavy tails
    ragged, names = [bag[: 2 + i % 3] for i, bag in enumerate(X)], np.array(["a", "bc", "d"])[y]
    scores = estimators.TokenNormalScores()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.QueryWarning)
        fitted = {
            "bag": estimators.BagClassifier(progress=False).fit(ragged, y > 0),
            "numbers": estimators.BagRegressor(progress=False).fit(ragged, X[:, 0, 1]),
            "classes": estimators.AttentionClassifier(progress=False).fit(X, names),
            "float32": estimators.MaxPooledClassifier().fit(X.astype(np.float32), y > 0),
            "flat": estimators.VectorizedLinearClassifier(n_tokens=4).fit(X.reshape(60, -1), y),
            "trees": estimators.PooledForestClassifier(2).fit(X, names),
            "pipeline": make_pipeline(scores, PooledLinearClassifier()).fit(X, names),
        }
    for name in ("bag", "numbers"):
        forest = fitted[name].members_["forest"].forest_
        forest.estimators_ = forest.estimators_[:1]  # for time
    return fitted


CHANGES = {
    "nan": lambda array: array * np.nan,
    "infinity": lambda array: np.where(np.arange(array.size).reshape(array.shape), array, np.inf),
    "empty": lambda array: array[:0],
    "text": lambda array: np.full(array.shape, "a"),
    "longer": lambda array: np.concatenate([array, array]),
    "wider": lambda array: np.stack([array, array], axis=-1),
    "list": lambda array: array.tolist(),
    "None": lambda array: None,
}
LOOKED_AT = ("gain_", "left_out_scores_", "member_losses_", "ridge_")  # nothing is computed of them


def _parts(value):
    """Yield the estimators in a model, but none in a forest of scikit-learn."""
    if isinstance(value, BaseEstimator):
        yield value
        own = vars(value)
        value = [one for name, one in own.items() if name != "forest_"]
    value = list(value.values()) if isinstance(value, dict) else value
    for one in value if isinstance(value, list | tuple) else ():
        yield from _parts(one)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "name", ["bag", "numbers", "classes", "float32", "flat", "trees", "pipeline"]
)
def test_a_model_with_another_array_is_refused(name, change, models, tmp_path):
    model, path, tried = models[name], tmp_path / "m.joblib", set()
    save(model, path)
    load(path, trust_pickle=True)
    for part in _parts(model):
        for attribute, array in list(vars(part).items()):
            if not isinstance(array, np.ndarray) or (attribute, change) == ("classes_", "list"):
                continue
            if attribute in LOOKED_AT and change in ("nan", "infinity", "longer", "empty", "None"):
                continue
            if array.dtype.kind in "Ub" and change in ("nan", "infinity"):
                continue
            if type(part).__module__ == "sklearn.dummy" and attribute == "classes_":
                continue  # which only names the columns
            setattr(part, attribute, CHANGES[change](array))
            save(model, path)
            try:
                with pytest.raises(InvalidInput, match="MODEL"):
                    load(path, trust_pickle=True)
            finally:
                setattr(part, attribute, array)
            tried.add(attribute)
    assert tried


def test_knots_and_numbers_of_a_model_are_checked(models, tmp_path):
    model, path = models["pipeline"], tmp_path / "m.skops"
    scores, linear = model[0], model[1]
    wrong = [np.zeros((3, 5)), np.full((2, 5), np.nan), np.full((2, 5), "a")]
    changes = [(scores, "knots_", [one]) for one in wrong]
    changes += [(linear, "n_bags_", one) for one in (np.nan, "a")]
    changes += [(linear, "n_features_in_", one) for one in (4, 3.0)]
    for part, attribute, value in changes:
        before = getattr(part, attribute)
        setattr(part, attribute, value)
        save(model, path)
        with pytest.raises(InvalidInput, match=rf"MODEL must be.*{type(part).__name__} with "):
            load(path)
        setattr(part, attribute, before)


@pytest.mark.parametrize("schema", [None, b"", b"[]", b"3", b"{}", b"[" * 100000])
def test_hostile_schemas_are_refused(schema, members, tmp_path):
    others = {name: content for name, content in members.items() if name != "schema.json"}
    schemas = {} if schema is None else {"schema.json": schema}
    with pytest.raises(InvalidInput, match="MODEL must be"):
        load(_write(tmp_path / "m.skops", {**others, **schemas}))


ZEROS = npy(PLAIN % "(1000000,)", bytes(8_000_000))


def _large(members):
    return {**members, _first(members): ZEROS}


def _long(members):
    """A schema of 1 MB would become 32 MB of objects."""
    return {**members, "schema.json": b"[" + b"[]," * 330_000 + b"[]]"}


def _repeated(members):
    """An array is read each time that the schema names it, in any spelling."""
    name, schema = _first(members), json.loads(members["schema.json"])
    schema["more"] = [name] * 20
    spelt = json.dumps(schema).replace(f'"{name}"', f'"\\u{ord(name[0]):04x}{name[1:]}"')
    return {**members, name: ZEROS[:1_000_000], "schema.json": spelt}


@pytest.mark.parametrize("change", [_large, _long, _repeated])
def test_what_would_fill_the_memory_is_not_unpacked(change, members, tmp_path, monkeypatch):
    path = _write(tmp_path / "m.skops", change(members))
    monkeypatch.setattr("sparsetoken.base.untrusted.machine_memory", lambda: 14_000_000)
    with little_memory(4e6), pytest.raises(InvalidInput, match="unpacks to at most"):
        load(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(InvalidInput, match="is there"):
        load(tmp_path / "no.skops")
