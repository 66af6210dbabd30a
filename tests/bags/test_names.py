"""Names decide which array is the tokens, and which columns are places of tokens."""

from pathlib import Path

import numpy as np
import pytest

from sparsetoken.bags import pack, read
from sparsetoken.bags.names import is_of_tokens, is_place
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
