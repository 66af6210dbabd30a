"""Bags as other tools keep them: batches of one, numbered columns, the recipes for classic sets."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from classic_sets import SETS, needs_sets
from sparsetoken.bags import as_bags, from_frame, pack, read
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier

PAGE = Path(__file__).parents[2] / "docs" / "slides.md"


def recipe(ending: str) -> str:
    """Return the program of the page that reads such a file."""
    if not PAGE.exists():
        pytest.skip("installed without the documentation")
    programs = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (found,) = [program for program in programs if f".{ending}" in program]
    return found


def run(ending: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(recipe(ending), names)
    return names["found"]


@pytest.mark.parametrize("set_of_people", ["", pytest.param("musk1", marks=needs_sets)])
def test_the_recipe_for_musk(
    set_of_people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    X, bag, y = np.array([[42.0, -7.0], [5.0, 3.0], [1.0, 0.5]]), np.array([0, 0, 1]), [1, 0]
    if set_of_people:
        with np.load(SETS / f"{set_of_people}.npz") as file:
            X, bag, y = file["X"], file["bag"], file["y"].tolist()
    rows = [
        f"MUSK-{i},{i}_{k}+1,{','.join(map(repr, row))},{y[i]}."
        for k, (i, row) in enumerate(zip(bag.tolist(), X.tolist(), strict=True))
    ]
    (tmp_path / "clean1.data").write_text("\n".join(rows) + "\n")
    found = run("data", tmp_path, monkeypatch)
    np.testing.assert_array_equal(found.bags.tokens, X)
    assert (found.y.tolist(), found.ids[0]) == (y, "MUSK-0")


def test_the_recipe_for_weka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "@relation musk\n@attribute molecule {a,b}\n@attribute bag relational\n"
    head += "@attribute f1 numeric\n@attribute f2 numeric\n@end bag\n@attribute class {0,1}\n@data"
    (tmp_path / "musk1.arff").write_text(f'{head}\na,"1,2\\n3,4",0\nb,"5,6",1\n')
    found = run("arff", tmp_path, monkeypatch)
    assert [bag.tolist() for bag in found.bags] == [[[1, 2], [3, 4]], [[5, 6]]]
    assert (found.ids.tolist(), found.y.tolist()) == (["a", "b"], ["0", "1"])


def test_the_recipe_for_matlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, bag = np.random.default_rng(0).standard_normal((5, 3)), np.array([[1, 1, 2, 2, 2]])
    signs = scipy.sparse.csc_matrix([[1.0, 1.0, -1.0, -1.0, -1.0]])
    arrays = {"features": scipy.sparse.csc_matrix(X), "bag_ids": bag, "labels": signs}
    scipy.io.savemat(tmp_path / "tiger_100x100_matlab.mat", arrays)
    found = run("mat", tmp_path, monkeypatch)
    np.testing.assert_array_equal(found.bags.tokens, X)
    assert (found.ids.tolist(), found.y.tolist()) == (["1", "2"], [1, -1])


def test_columns_with_numbers_for_names(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).standard_normal((12, 2)))
    frame[2], frame[3] = np.repeat([7, 8, 9, 5], 3), np.repeat([0, 1, 0, 1], 3)
    for bag, labels in ((2, 3), (np.int64(2), np.int64(3)), ("2", "3")):
        found = from_frame(frame, bag, labels=labels)
        assert (found.columns, found.ids.tolist()) == (["0", "1"], ["7", "8", "9", "5"])
        assert found.y.tolist() == [0, 1, 0, 1]
    assert from_frame(frame, 2, labels=3, columns=1).columns == ["1"]
    frame.columns = [str(name) for name in frame.columns]
    frame.to_parquet(tmp_path / "rows.parquet")
    found = read(tmp_path / "rows.parquet", bag=2, labels=3)
    assert (found.columns, found.y.tolist()) == (["0", "1"], [0, 1, 0, 1])


def _npy(path: Path, array: np.ndarray) -> Path:
    np.save(path.with_suffix(".npy"), array)
    return path.with_suffix(".npy")


def _h5(path: Path, array: np.ndarray) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file["features"] = array
    return path.with_suffix(".h5")


@pytest.mark.parametrize("write", [_npy, _h5])
def test_a_batch_of_one_and_a_slide_without_a_token(tmp_path: Path, write) -> None:
    X = np.random.default_rng(0).standard_normal((5, 3))
    files = [write(tmp_path / "s1", X[None]), write(tmp_path / "s2", X[:2])]
    found = read(pack(files, tmp_path / "packed", labels=None), labels=None)
    assert found.bags.equals(as_bags([X[None], X[:2]]))
    assert found.bags.equals(as_bags([X, X[:2]]))
    files.append(write(tmp_path / "s3", X[:0]))
    with pytest.raises(InvalidInput, match=r"1 of 3 bags without a token.*: s3.*skip_invalid=Tr"):
        pack(files, tmp_path / "more", labels=None)


@pytest.mark.parametrize("wrapper", [OneVsOneClassifier, ClassifierChain])
@pytest.mark.parametrize("form", ["Bags", "column"])
def test_what_works_on_numbers_says_so(wrapper: type, form: str) -> None:
    rng = np.random.default_rng(0)
    bags = as_bags(rng.standard_normal((30, 4, 3)))
    y = np.arange(30) % 3
    several = np.stack([y > 0, y > 1], axis=1).astype(int)
    given = bags if form == "Bags" else bags.to_column()
    model = wrapper(PooledClassifier())
    with pytest.raises(TypeError, match="OneVsRestClassifier, MultiOutputClassifier and"):
        model.fit(given, several if wrapper is ClassifierChain else y)
    # What the message recommends.
    assert OneVsRestClassifier(PooledClassifier()).fit(given, y).predict(given).shape == (30,)
    both = MultiOutputClassifier(PooledClassifier()).fit(given, several)
    assert both.predict(given).shape == (30, 2)
