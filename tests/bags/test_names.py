"""Names decide which array is the tokens, and which columns are places of tokens."""

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest

from sparsetoken.bags import LeakWarning, from_frame, from_long, pack, read
from sparsetoken.bags.names import is_of_tokens, is_place, places
from sparsetoken.base.validation import InvalidInput

TOKENS = np.random.default_rng(0).standard_normal((5, 6))
COORDS, PICTURES = np.arange(10).reshape(5, 2), np.zeros((5, 4, 4, 3), np.uint8)


def _h5(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")
    with h5py.File(path / "a.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path / "a.h5"


TAKEN: list[dict[str, np.ndarray]] = [
    {"features": TOKENS, "coords": COORDS},
    {"features": TOKENS[:, :2], "coords": COORDS.astype(float)},
    {"uni_v2": TOKENS, "patch_coords": COORDS},
    {"imgs": PICTURES, "feats": TOKENS, "coords": COORDS},
    {"embedding": TOKENS[None], "logits": TOKENS[:, :3]},
    {"x": TOKENS},
]
REFUSED = [
    ({"imgs": PICTURES, "coords": COORDS}, "Coordinates are no tokens"),
    ({"coords": COORDS}, "Coordinates are no tokens"),
    ({"Coordinates": COORDS.astype(float)}, "Coordinates are no tokens"),
    ({"coords_features": COORDS}, "Coordinates are no tokens"),
    ({"imgs": PICTURES, "masks": TOKENS}, "dataset= names"),
    ({"corners": COORDS}, "dataset= names"),
    ({"uni": TOKENS, "plip": TOKENS}, "dataset= names"),
    ({"features": TOKENS, "embeddings": TOKENS}, "dataset= names"),
]


def test_names_tell_the_tokens(tmp_path: Path) -> None:
    for k, arrays in enumerate(TAKEN):
        folder = tmp_path / str(k)
        folder.mkdir()
        found = read(pack(_h5(folder, arrays), folder / "bags"), labels=None)
        wanted = next(one for name, one in arrays.items() if name not in ("imgs", "coords"))
        np.testing.assert_array_equal(found.bags.tokens, wanted.reshape(wanted.shape[-2:]))
    for k, (arrays, told) in enumerate(REFUSED):
        folder = tmp_path / f"refused {k}"
        folder.mkdir()
        path = _h5(folder, arrays)
        with pytest.raises(InvalidInput, match=told):
            pack(path, folder / "bags")
        name = next(name for name, one in arrays.items() if one.ndim == 2)
        pack(path, folder / "bags", dataset=name)  # whoever names it gets it


def test_words_of_names() -> None:
    for name in (
        "coords",
        "Coords",
        "patch_coords",
        "pixelCoords20x",
        "a/b/xy",
        "centroid-0",
        "bboxes",
    ):
        assert is_place(name), name
        assert not is_of_tokens(name), name
    for name in ("x", "y", "row", "box", "positive", "prepositions", "coordination", "posts"):
        assert not is_place(name), name
    for name in ("features", "feats", "uni_features", "level0/Embeddings", "coords/tokens"):
        assert is_of_tokens(name), name
    assert places(["x", "f"]) == []
    assert places(["x", "f"], ["y"]) == ["x"]
    assert places(["X", "Y", "row", "pos"]) == ["X", "Y", "pos"]


@pytest.mark.parametrize("names", [("coord_x", "coord_y"), ("X", "Y"), ("row", "col")])
def test_places_among_columns_are_told(tmp_path: Path, names: tuple[str, str]) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(np.random.default_rng(1).standard_normal((12, 4)))
    frame.columns = [*names, "f0", "f1"]
    rows, ids = frame.copy(), np.repeat(np.arange(4), 3)
    frame["bag"], frame["label"] = ids, np.repeat([0, 1, 0, 1], 3)
    frame.to_parquet(tmp_path / "rows.parquet")
    told = f"named as places.*: {names[0]}, {names[1]}\\. columns= names"
    for reader in (
        lambda **more: from_frame(frame, labels="label", **more),
        lambda **more: read(tmp_path / "rows.parquet", **more),
    ):
        with pytest.warns(LeakWarning, match=told):
            reader()
        for asked in (["f0", "f1"], [*names, "f0"]):  # whoever asks for them gets them
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert reader(columns=asked).columns == asked
    with pytest.warns(LeakWarning, match=told):
        from_long(rows, ids)


def test_a_place_beside_a_label(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    values = np.random.default_rng(2).standard_normal((12, 3))
    frame = pandas.DataFrame(values, columns=["x", "y", "f0"])
    frame["bag"], frame["label"] = np.repeat(np.arange(4), 3), np.repeat([0, 1, 0, 1], 3)
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.warns(LeakWarning, match=r"named as places.*: x\. columns="):
        found = read(tmp_path / "rows.parquet", labels="label")
    assert found.left_out == ["y"]
    with pytest.raises(InvalidInput, match="it looks like a place, beside one named x"):
        from_frame(frame, labels="label")
    # Of one axis nothing is known, and y is a common name of labels.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame["y"] = frame.pop("label")
        assert from_frame(frame, labels="y").columns == ["x", "f0"]


def test_coordinates_in_lists(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"bag": list("aabb"), "label": [0, 0, 1, 1]})
    frame["coords"] = [[1, 2], [3, 4], [5, 6], [7, 8]]
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InvalidInput, match="numbers: none; vectors: none"):
        read(tmp_path / "rows.parquet")
    frame["uni"] = TOKENS[:4].tolist()
    frame.to_parquet(tmp_path / "rows.parquet")
    found = read(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(found.bags.tokens, TOKENS[:4])
    assert found.left_out == []
    np.testing.assert_array_equal(found.bags.coordinates, [[1, 2], [3, 4], [5, 6], [7, 8]])


def test_columns_of_one_value_in_each_bag_are_told_by_every_reader(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(3)
    ids, y = np.repeat(np.arange(12), 3), np.arange(12) % 2
    X = np.column_stack([rng.standard_normal((36, 2)), rng.standard_normal(12)[ids]])
    frame = pandas.DataFrame(X, columns=["a", "b", "age"]).assign(bag=ids, label=y[ids])
    frame.to_parquet(tmp_path / "rows.parquet")
    np.savez(tmp_path / "long.npz", X=X, bag=ids, y=y)
    np.savez(tmp_path / "cube.npz", X=X.reshape(12, 3, 3), y=y)
    (tmp_path / "slides").mkdir()
    for i, bag in itertools.product(range(12), [X.reshape(12, 3, 3)]):
        np.save(tmp_path / "slides" / f"{i:02}.npy", bag[i])
    packed = pack(tmp_path / "slides", tmp_path / "packed", labels=y)
    for reader in (
        lambda: from_long(X, ids, labels=y),
        lambda: from_frame(frame, labels="label"),
        lambda: read(tmp_path / "rows.parquet"),
        lambda: read(tmp_path / "long.npz"),
        lambda: read(tmp_path / "cube.npz"),
        lambda: read(packed),
    ):
        with pytest.warns(LeakWarning, match=r"one value in each bag.*: (2|age)\."):
            reader()
