"""Bags as other tools keep them: cells, relational attributes, batches of one, numbered columns."""

import io
from pathlib import Path

import numpy as np
import pytest
from scipy.io import arff, loadmat, savemat
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from sparsetoken.bags import as_bags, from_frame, pack, read
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledLinearClassifier

RELATIONAL = """@relation musk
@attribute id {a,b}
@attribute bag relational
@attribute f1 numeric
@attribute f2 numeric
@end bag
@attribute class {0,1}
@data
a,"1,2\\n3,4",0
b,"5,6",1
"""


def test_relational_attributes() -> None:
    pandas = pytest.importorskip("pandas")
    data, _ = arff.loadarff(io.StringIO(RELATIONAL))
    found = as_bags(data["bag"])
    assert [bag.tolist() for bag in found] == [[[1, 2], [3, 4]], [[5, 6]]]
    with pytest.raises(InvalidInput, match="Take the field of the bags, of id, bag, class"):
        as_bags(data)
    frame = pandas.DataFrame(data)
    assert as_bags(list(frame["bag"])).equals(found)
    with pytest.raises(InvalidInput, match=r"column bag holds arrays.*Give list\(X\['bag'\]\)"):
        PooledLinearClassifier().fit(frame[["bag"]], [0, 1])
    with pytest.raises(InvalidInput, match=r"as_bags\(list\(frame\['bag'\]\)\)"):
        from_frame(frame, "id", labels="class")


@pytest.mark.parametrize("turned", [False, True])
def test_cells_of_matlab(tmp_path: Path, turned: bool) -> None:
    rng = np.random.default_rng(0)
    bags = [rng.standard_normal((2 + i % 3, 3)) for i in range(20)]
    cells = np.empty((20, 1), dtype=object)
    cells[:, 0] = bags
    savemat(tmp_path / "bags.mat", {"bags": cells.T if turned else cells})
    given = loadmat(tmp_path / "bags.mat")["bags"]
    assert as_bags(given).equals(as_bags(bags))
    y = np.arange(20) % 2
    scores = PooledLinearClassifier().fit(bags, y).decision_function(bags)
    model = PooledLinearClassifier().fit(given, y)
    np.testing.assert_array_equal(model.decision_function(given), scores)
    with pytest.raises(InvalidInput, match=r"got 'ndarray of arrays or lists'\. Bags are a list"):
        as_bags(np.concatenate([cells, cells], axis=1))


def test_labels_that_are_arrays() -> None:
    labels = np.empty(4, dtype=object)
    for i in range(4):
        labels[i] = np.array([[i % 2]])
    with pytest.raises(InvalidInput, match="all of one kind; got 'ndarray"):
        PooledLinearClassifier().fit(np.ones((4, 2, 3)), labels)


def test_columns_with_numbers_for_names(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).standard_normal((12, 2)))
    frame[2], frame[3] = np.repeat([7, 8, 9, 5], 3), np.repeat([0, 1, 0, 1], 3)
    for bag, labels in ((2, 3), (np.int64(2), np.int64(3)), ("2", "3")):
        found = from_frame(frame, bag, labels=labels)
        assert (found.columns, found.ids.tolist()) == (["0", "1"], [7, 8, 9, 5])
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
    found = read(pack(files, tmp_path / "packed"), labels=None)
    assert found.bags.equals(as_bags([X[None], X[:2]]))
    assert found.bags.equals(as_bags([X, X[:2]]))
    files.append(write(tmp_path / "s3", X[:0]))
    with pytest.raises(InvalidInput, match=r"s3.* must be of at least one token.*Leave slides"):
        pack(files, tmp_path / "more")


@pytest.mark.parametrize("wrapper", [OneVsOneClassifier, ClassifierChain])
@pytest.mark.parametrize("form", ["Bags", "column"])
def test_what_works_on_numbers_says_so(wrapper: type, form: str) -> None:
    rng = np.random.default_rng(0)
    bags = as_bags(rng.standard_normal((30, 4, 3)))
    y = np.arange(30) % 3
    several = np.stack([y > 0, y > 1], axis=1).astype(int)
    given = bags if form == "Bags" else bags.to_column()
    model = wrapper(PooledLinearClassifier())
    with pytest.raises(TypeError, match="OneVsRestClassifier, MultiOutputClassifier and"):
        model.fit(given, several if wrapper is ClassifierChain else y)
    # What the message recommends.
    assert OneVsRestClassifier(PooledLinearClassifier()).fit(given, y).predict(given).shape == (30,)
    both = MultiOutputClassifier(PooledLinearClassifier()).fit(given, several)
    assert both.predict(given).shape == (30, 2)
