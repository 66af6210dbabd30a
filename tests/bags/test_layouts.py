"""Files laid out as other tools write them are bags after one call."""

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsetoken.bags import Bags, pack, read
from sparsetoken.base.validation import InvalidInput

SIZES = {"s_007": 3, "s_012": 1, "s_1": 4}
LABELS = ["tumour", "normal", "tumour"]
PATIENTS = ["001", "002", "001"]
D = 5
RNG = np.random.default_rng(0)
BAGS = {name: RNG.standard_normal((size, D)).astype(np.float32) for name, size in SIZES.items()}
PLACES = {name: 256 * np.arange(2 * len(bag)).reshape(-1, 2) for name, bag in BAGS.items()}
TOKENS = np.concatenate(list(BAGS.values()))
WHERE = np.concatenate(list(PLACES.values()))
OWNER = np.repeat(list(SIZES), list(SIZES.values()))
NUMBER = np.repeat([0, 1, 2], list(SIZES.values()))
ONE = np.array([1, 0, 1])  # the labels as numbers
MISSING = "the library that writes these files is not installed"


def frame() -> Any:
    pandas = pytest.importorskip("pandas", reason=MISSING)
    table = pandas.DataFrame(TOKENS, columns=[f"f{k}" for k in range(D)])
    table.insert(0, "slide", OWNER)
    return table.assign(diagnosis=np.repeat(LABELS, list(SIZES.values())))


def sheet(folder: Path, ending: str = ".svs") -> Path:
    """Write a table of slides, in another order than the files."""
    rows = [f"{n}{ending},{p},{y}" for n, p, y in zip(SIZES, PATIENTS, LABELS, strict=True)]
    path = folder / "labels.csv"
    path.write_text("\n".join(["slide_id,case_id,diagnosis", *rows[::-1]]))
    return path


def folder_of(folder: Path, write: Callable[[Path, str], None]) -> dict[str, Any]:
    """Write a file for each slide, and return how they are read."""
    (folder / "slides").mkdir()
    for name in SIZES:
        write(folder / "slides" / name, name)
    labels = {"sheet": sheet(folder), "labels": "diagnosis", "groups": "case_id"}
    return {"path": folder / "slides", **labels}


def h5(**arrays: Callable[[str], np.ndarray]) -> Callable[[Path], dict[str, Any]]:
    def written(folder: Path) -> dict[str, Any]:
        h5py = pytest.importorskip("h5py", reason=MISSING)

        def write(path: Path, name: str) -> None:
            with h5py.File(f"{path}.h5", "w") as file:
                for key, of in arrays.items():
                    file[key] = of(name)

        return folder_of(folder, write)

    return written


def npy(folder: Path) -> dict[str, Any]:
    return folder_of(folder, lambda path, name: np.save(f"{path}.npy", BAGS[name]))


def npz(folder: Path) -> dict[str, Any]:
    def write(path: Path, name: str) -> None:
        np.savez(f"{path}.npz", feats=BAGS[name], coords=PLACES[name])

    return folder_of(folder, write)


def torch(folder: Path) -> dict[str, Any]:
    torch = pytest.importorskip("torch", reason=MISSING, exc_type=ImportError)
    return folder_of(folder, lambda path, name: torch.save(torch.tensor(BAGS[name]), f"{path}.pt"))


def torch_dict(folder: Path) -> dict[str, Any]:
    torch = pytest.importorskip("torch", reason=MISSING, exc_type=ImportError)

    def write(path: Path, name: str) -> None:
        held = {"features": torch.tensor(BAGS[name]), "coords": torch.tensor(PLACES[name])}
        torch.save({**held, "slide": name}, f"{path}.pt")

    return folder_of(folder, write)


def other_names(folder: Path) -> dict[str, Any]:
    arrays = {"uni": BAGS.get, "plip": lambda name: BAGS[name][:, :2], "where": PLACES.get}
    return {**h5(**arrays)(folder), "dataset": "uni", "coordinates": "where"}


def packed(folder: Path) -> dict[str, Any]:
    given = h5(features=BAGS.get, coords=PLACES.get)(folder)
    return {"path": pack(given.pop("path"), folder / "packed", **given)}


def table(name: str, write: Callable[[Any, Path], Any], **more: Any) -> Callable[[Path], Any]:
    def written(folder: Path) -> dict[str, Any]:
        write(frame(), folder / name)
        return {"path": folder / name, "bag": "slide", "labels": "diagnosis", **more}

    return written


def with_places(table: Any, path: Path) -> None:
    table.assign(px=WHERE[:, 0], py=WHERE[:, 1]).to_csv(path, index=False)


def lists(table: Any, path: Path) -> None:
    pytest.importorskip("pyarrow", reason=MISSING)
    short = table[["slide", "diagnosis"]]
    short.assign(features=TOKENS.tolist(), coords=WHERE.tolist()).to_parquet(path)


def parquet(table: Any, path: Path) -> None:
    pytest.importorskip("pyarrow", reason=MISSING)
    table.to_parquet(path)


def excel(table: Any, path: Path) -> None:
    pytest.importorskip("openpyxl", reason=MISSING)
    table.to_excel(path, index=False)


def tokens_and_sheet(folder: Path) -> dict[str, Any]:
    frame().drop(columns="diagnosis").to_csv(folder / "tokens.csv", index=False)
    given = {"sheet": sheet(folder), "labels": "diagnosis", "groups": "case_id"}
    return {"path": folder / "tokens.csv", "bag": "slide", **given}


def npz_of_bags(folder: Path) -> dict[str, Any]:
    np.savez(folder / "set.npz", X=TOKENS, bag=OWNER, y=LABELS, coordinates=WHERE, groups=PATIENTS)
    return {"path": folder / "set.npz"}


def npz_of_bounds(folder: Path) -> dict[str, Any]:
    bounds = np.cumsum([0, *SIZES.values()])
    arrays = {"bag": list(SIZES), "y": LABELS, "coordinates": WHERE, "patient": PATIENTS}
    np.savez(folder / "set.npz", X=TOKENS, offsets=bounds, **arrays)
    return {"path": folder / "set.npz", "groups": "patient"}


def npz_padded(folder: Path) -> dict[str, Any]:
    X, where, mask = np.full((3, 4, D), np.nan, "f4"), np.zeros((3, 4, 2)), np.zeros((3, 4), bool)
    for k, name in enumerate(SIZES):
        rows = slice(SIZES[name])
        X[k, rows], where[k, rows], mask[k, rows] = BAGS[name], PLACES[name], True
    arrays = {"bag": list(SIZES), "y": LABELS, "coordinates": where}
    np.savez(folder / "set.npz", X=X, mask=mask, **arrays)
    return {"path": folder / "set.npz"}


def nested(folder: Path) -> dict[str, Any]:
    """A folder for each patient, of which the sheet does not speak."""
    given = npy(folder)
    for name, patient in zip(SIZES, PATIENTS, strict=True):
        (folder / "slides" / patient).mkdir(exist_ok=True)
        (folder / "slides" / f"{name}.npy").rename(folder / "slides" / patient / f"{name}.npy")
    return given


def pattern(folder: Path) -> dict[str, Any]:
    given = npy(folder)
    (folder / "slides" / "s_007.pt").touch()  # as CLAM writes both
    return {**given, "path": str(folder / "slides" / "*.npy")}


def paths(folder: Path) -> dict[str, Any]:
    given = npy(folder)
    return {**given, "path": [folder / "slides" / f"{name}.npy" for name in SIZES]}


def european(table: Any, path: Path) -> None:
    table.to_csv(path, index=False, sep=";", decimal=",")


def semicolons(table: Any, path: Path) -> None:
    table.to_csv(path, index=False, sep=";")


LAYOUTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "folder of npy": npy,
    "folder of npz": npz,
    "CLAM h5": h5(features=BAGS.get, coords=PLACES.get),
    "CLAM pt": torch,
    "TRIDENT h5": h5(
        features=lambda name: BAGS[name][None], coords=lambda name: PLACES[name][None]
    ),
    "STAMP h5": h5(feats=lambda name: BAGS[name], coords=lambda name: PLACES[name] * 1.0),
    "h5 of other names": other_names,
    "pt with a dict": torch_dict,
    "packed": packed,
    "csv": table("rows.csv", lambda frame, path: frame.to_csv(path, index=False)),
    "csv with coordinates": table("rows.csv", with_places, coordinates=["px", "py"]),
    "tsv": table("rows.tsv", lambda frame, path: frame.to_csv(path, index=False, sep="\t")),
    "parquet": table("rows.parquet", parquet),
    "parquet of lists": table("rows.parquet", lists),
    "excel": table("rows.xlsx", excel),
    "csv and a sheet": tokens_and_sheet,
    "csv of Europe": table("rows.csv", european),
    "csv with semicolons": table("rows.csv", semicolons),
    "npz with ids": npz_of_bags,
    "npz with bounds": npz_of_bounds,
    "npz padded": npz_padded,
    "nested folders": nested,
    "pattern": pattern,
    "list of paths": paths,
}
WITH_PLACES = ("h5", "npz", "packed", "coordinates", "lists", "dict")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_read_in_one_call(layout: str, tmp_path: Path) -> None:
    given = LAYOUTS[layout](tmp_path)
    found = read(given.pop("path"), **given)
    own = dict(zip((one.split("/")[-1] for one in found.ids.tolist()), found.bags, strict=True))
    assert set(own) == set(SIZES)
    for name, bag in own.items():  # texts keep all digits of float32
        np.testing.assert_array_equal(bag.astype(np.float32), BAGS[name])
    order = [list(SIZES).index(name) for name in own]
    assert found.y.tolist() == [LABELS[i] for i in order]
    if "groups" in given or layout == "npz with ids":
        assert found.groups is not None
        assert found.groups.tolist() == [PATIENTS[i] for i in order]
    if layout == "nested folders":
        assert found.ids.tolist() == ["001/s_007", "001/s_1", "002/s_012"]
    places = found.bags.coordinates
    assert (places is not None) == any(word in layout for word in WITH_PLACES)
    if places is not None:
        np.testing.assert_array_equal(places, WHERE)


PACKED = [name for name in LAYOUTS if name != "packed"]


@pytest.mark.parametrize("layout", PACKED)
def test_a_layout_is_packed_as_it_is_read(layout: str, tmp_path: Path) -> None:
    given = LAYOUTS[layout](tmp_path)
    path = given.pop("path")
    expected = read(path, **given)
    found = read(pack(path, tmp_path / "packed", **given))
    assert found.bags.equals(expected.bags)
    assert found.bags.feature_names == expected.bags.feature_names
    for name in ("y", "ids", "groups"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    both = found.bags.coordinates, expected.bags.coordinates
    assert (both[0] is None) == (both[1] is None)
    if both[0] is not None:
        np.testing.assert_array_equal(*both)


def test_a_table_without_labels_is_packed_if_that_is_said(tmp_path: Path) -> None:
    table = frame().drop(columns="diagnosis")
    table.to_csv(tmp_path / "rows.csv", index=False)
    given = {"source": tmp_path / "rows.csv", "to": tmp_path / "packed", "bag": "slide"}
    with pytest.raises(InvalidInput, match="with the column label or y"):
        pack(**given)
    assert not (tmp_path / "packed").exists()
    found = read(pack(**given, labels=None, columns=["f3", "f1"]), labels=None)
    assert (found.ids.tolist(), found.columns) == (list(SIZES), ["f3", "f1"])
    np.testing.assert_array_equal(found.bags.tokens.astype(np.float32), TOKENS[:, [3, 1]])


def test_coordinates_travel_with_the_bags() -> None:
    bags = Bags(TOKENS, np.array([0, 3, 4, 8]), coordinates=WHERE)
    for picked in (bags[1:], bags[[1, 2]], bags[np.array([False, True, True])]):
        np.testing.assert_array_equal(picked.coordinates, WHERE[3:])
    np.testing.assert_array_equal(bags[[2, 0]].coordinates, WHERE[[4, 5, 6, 7, 0, 1, 2]])
    np.testing.assert_array_equal(bags.with_tokens(2 * TOKENS).coordinates, WHERE)
    for strange in (WHERE[1:], WHERE[:, 0], WHERE.astype(str), np.ones((8, 5))):
        with pytest.raises(InvalidInput, match=r"coordinates must be numbers of shape \(8, k\)"):
            Bags(TOKENS, np.array([0, 3, 4, 8]), coordinates=strange)


def test_a_slide_without_coordinates_has_none_that_are_known(tmp_path: Path) -> None:
    given = npz(tmp_path)
    path = given.pop("path")
    np.savez(path / "s_012.npz", feats=BAGS["s_012"])
    places = read(path, **given).bags.coordinates
    assert places is not None
    assert np.isnan(places).all(axis=1).tolist() == [False] * 3 + [True] + [False] * 4
    assert read(path, **given, coordinates=None).bags.coordinates is None
    np.savez(path / "s_1.npz", feats=BAGS["s_1"], coords=np.ones((4, 3)))
    with pytest.raises(InvalidInput, match=r"s_1\.npz must be with coordinates of d = 2"):
        read(path, **given)
    np.savez(path / "s_1.npz", feats=BAGS["s_1"], coords=np.ones((3, 2)))
    with pytest.raises(InvalidInput, match=r"with coords of real numbers, of shape \(4, k\)"):
        read(path, **given)
    np.savez(tmp_path / "bags.npz", X=TOKENS, bag=OWNER, y=LABELS, coordinates=WHERE[1:])
    with pytest.raises(InvalidInput, match="coordinates must be numbers of shape"):
        read(tmp_path / "bags.npz")


def test_names_tell_the_tokens(tmp_path: Path) -> None:
    others = {"imgs": np.zeros((4, 2, 2)), "coords": PLACES["s_1"]}
    taken = [{"features": BAGS["s_1"], **others}, {"feats": BAGS["s_1"]}, {"any": BAGS["s_1"]}]
    refused = [others, {"coords": PLACES["s_1"]}, {"a": BAGS["s_1"], "b": BAGS["s_1"]}]
    refused.append({"features": BAGS["s_1"], "feats": BAGS["s_1"]})
    for k, arrays in enumerate([*taken, *refused]):
        path = tmp_path / f"{k}.npz"
        np.savez(path, **arrays)
        if arrays in taken:
            np.testing.assert_array_equal(read([path], labels=None).bags.tokens, BAGS["s_1"])
            continue
        with pytest.raises(InvalidInput, match=r"dataset= names the array|real numbers of shape"):
            read([path], labels=None)
        if arrays is not others and len(arrays) == 2:
            read([path], labels=None, dataset=next(iter(arrays)))


def test_one_file_is_one_bag(tmp_path: Path) -> None:
    path = npy(tmp_path)["path"]
    found = read(path / "s_007.npy", labels=None)
    assert (found.ids.tolist(), len(found.bags)) == (["s_007"], 1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "in a sheet or a mapping from ids"),
        ({"labels": None, "groups": "case_id"}, "in a sheet or a mapping from ids"),
        ({"labels": None, "id": "slide"}, "sheet must be given where id or partial is"),
        ({"labels": "diagnosis"}, "in a sheet or a mapping from ids"),
        ({"labels": None, "columns": ["f1"]}, "columns must be left out where each file is a bag"),
        ({"labels": None, "bag": "case"}, "bag must be left out where each file is a bag"),
        ({"labels": None, "dataset": "uni"}, "array uni; got 'coords .*, feats .*dataset= na"),
        (
            {"labels": None, "coordinates": "at"},
            "with at of real numbers, .*; got .coords",
        ),
        ({"labels": None, "coordinates": ["x", "y"]}, "coordinates must be one array where"),
        ({"sheet": "none.csv"}, "sheet none.csv must be a file that is there"),
        (
            {"sheet": Path("labels.json")},
            "sheet labels.json must be a file that is there and ends in .csv, .tsv",
        ),
    ],
)
def test_a_folder_of_slides_is_refused_with_what_helps(
    given: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=told):
        read(npz(tmp_path)["path"], **given)


def test_files_of_two_kinds_are_not_read_as_one(tmp_path: Path) -> None:
    """CLAM writes h5_files and pt_files into one folder, with each slide in both."""
    for kind in ("h5", "pt"):
        (tmp_path / "features" / f"{kind}_files").mkdir(parents=True)
        (tmp_path / "features" / f"{kind}_files" / f"s.{kind}").touch()
    with pytest.raises(InvalidInput, match=r"got 'files \.h5, \.pt'\. Give \".*/\*\*/\*\.h5"):
        read(tmp_path / "features", labels=None)


def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, ending in (("h5py", ".h5"), ("torch", ".pt"), ("openpyxl", ".xlsx")):
        monkeypatch.setitem(sys.modules, name, None)
        path = tmp_path / f"bags{ending}"
        path.touch()
        with pytest.raises(InvalidInput, match=f"{name} must be installed.*pip install"):
            read(path, labels=None)


class Tensor:
    """As much of a tensor of PyTorch as is read."""

    def __init__(self, array: np.ndarray, dtype: str = "float32") -> None:
        self.array, self.dtype = array, dtype

    def float(self) -> "Tensor":
        return Tensor(self.array / 2)  # so that a call is seen

    def detach(self) -> "Tensor":
        return self

    def numpy(self) -> np.ndarray:
        return self.array


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_are_read_without_running_code(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(path: Path, *, map_location: str, weights_only: bool) -> Any:
        assert (map_location, weights_only) == ("cpu", True)
        held = {"features": Tensor(BAGS["s_007"], dtype), "slide": "s_007"}
        return held if path.stem == "dict" else Tensor(BAGS["s_007"], dtype)

    stub = types.SimpleNamespace(load=load, Tensor=Tensor, bfloat16="bfloat16")
    monkeypatch.setitem(sys.modules, "torch", stub)  # type: ignore[arg-type]
    for name in ("tensor", "dict"):
        (tmp_path / f"{name}.pt").touch()
    bags = read(tmp_path, labels=None).bags
    expected = BAGS["s_007"] / (2 if dtype == "bfloat16" else 1)
    np.testing.assert_array_equal(bags.tokens, np.concatenate([expected, expected]))
