"""Files laid out as other tools write them are bags after one call."""

import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

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
    labels = {"labels": sheet(folder), "label": "diagnosis", "groups": "case_id"}
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
        np.savez(f"{path}.npz", embedding=BAGS[name], xy=PLACES[name])

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
        return {"path": folder / name, "bag": "slide", "label": "diagnosis", **more}

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
    given = {"labels": sheet(folder), "label": "diagnosis", "groups": "case_id"}
    return {"path": folder / "tokens.csv", "bag": "slide", **given}


def numbers(rows: np.ndarray) -> list[str]:
    return [",".join(map(repr, row)) for row in rows.astype(float).tolist()]


def arff(folder: Path) -> dict[str, Any]:
    """As WEKA writes it: an id, a relation, and the class."""
    named = ",".join(SIZES)
    head = ["@relation slides", f"@attribute slide {{{named}}}", "@attribute bag relational"]
    head += [f"  @attribute f{k} numeric" for k in range(D)]
    head += ["@end bag", "@attribute class {normal,tumour}", "", "@data"]
    for (name, bag), y in zip(BAGS.items(), LABELS, strict=True):
        lines = "\\n".join(numbers(bag))
        head.append(f'{name},"{lines}",{y}')
    (folder / "slides.arff").write_text("\n".join(head))
    return {"path": folder / "slides.arff"}


def flat_arff(folder: Path) -> dict[str, Any]:
    head = ["@RELATION x", "@ATTRIBUTE 'the slide' string"]
    head += [f"@ATTRIBUTE f{k} REAL" for k in range(D)] + ["@ATTRIBUTE y {normal,tumour}", "@DATA"]
    for name, row, y in zip(OWNER, numbers(TOKENS), np.array(LABELS)[NUMBER], strict=True):
        head.append(f"'{name}',{row},{y}")
    (folder / "rows.arff").write_text("% a comment\n" + "\n".join(head))
    return {"path": folder / "rows.arff", "bag": "the slide", "label": "y"}


def uci(folder: Path) -> dict[str, Any]:
    """As Musk: the name of the molecule, that of a conformation, numbers, the class."""
    rows = zip(OWNER, numbers(TOKENS), ONE[NUMBER], strict=True)
    text = "\n".join(f"{name},{name}_{i}+1,{row},{y}." for i, (name, row, y) in enumerate(rows))
    (folder / "musk.data").write_text(text + "\n")
    return {"path": folder / "musk.data"}


def mat(**arrays: Any) -> Callable[[Path], dict[str, Any]]:
    def written(folder: Path) -> dict[str, Any]:
        scipy.io.savemat(folder / "set.mat", arrays)
        return {"path": folder / "set.mat"}

    return written


def mat73(**arrays: Any) -> Callable[[Path], dict[str, Any]]:
    """As version 7.3 lays them out in HDF5: axes reversed, cells as references, texts as codes."""

    def written(folder: Path) -> dict[str, Any]:
        h5py = pytest.importorskip("h5py", reason=MISSING)
        with h5py.File(folder / "set.mat", "w", userblock_size=512) as file:
            refs = file.create_group("#refs#")

            def put(group: Any, name: str, value: Any) -> Any:
                if scipy.sparse.issparse(value):
                    value, one = scipy.sparse.csc_matrix(value), group.create_group(name)
                    one.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
                    parts = {"data": value.data, "ir": value.indices, "jc": value.indptr}
                    for part, entries in parts.items():
                        one[part] = entries
                    return one
                if isinstance(value, dict):
                    one = group.create_group(name)
                    for field, inner in value.items():
                        put(one, field, inner)
                    return one
                value = np.atleast_2d(np.asarray(value))
                if value.dtype.names:
                    return put(group, name, {field: value[field] for field in value.dtype.names})
                if value.dtype == object:
                    held = np.empty(value.T.shape, h5py.ref_dtype)
                    for place, inner in np.ndenumerate(value.T):
                        held[place] = put(refs, f"r{len(refs)}", inner).ref
                    return group.create_dataset(name, data=held)
                if value.dtype.kind == "U":
                    codes = np.array([[ord(letter)] for letter in value.item()], np.uint16)
                    one = group.create_dataset(name, data=codes)
                    one.attrs["MATLAB_class"] = np.bytes_("char")
                    return one
                return group.create_dataset(name, data=value.T)

            for name, value in arrays.items():
                put(file, name, value)
        with (folder / "set.mat").open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
        return {"path": folder / "set.mat"}

    return written


def cells(of: list[Any]) -> np.ndarray:
    column = np.empty((len(of), 1), object)
    column[:, 0] = of
    return column


def any_names(folder: Path) -> dict[str, Any]:
    y = np.array(LABELS)[NUMBER]
    np.savez(folder / "set.npz", emb=TOKENS, bag_ids=OWNER, labels=y, coords=WHERE)
    return {"path": folder / "set.npz"}


def an_array_for_each_bag(folder: Path) -> dict[str, Any]:
    np.savez(folder / "set.npz", **BAGS)
    given = {"labels": sheet(folder), "label": "diagnosis", "groups": "case_id"}
    return {"path": folder / "set.npz", **given}


TOOLBOX = {"data": TOKENS, "nlab": ONE[NUMBER][:, None] + 1, "ident": {"milbag": NUMBER[:, None]}}
SIGNS = scipy.sparse.csc_matrix(2.0 * ONE[NUMBER] - 1)
ANDREWS = {"features": scipy.sparse.csc_matrix(TOKENS), "bag_ids": NUMBER[None], "labels": SIGNS}
BESIDE = np.concatenate([cells(list(BAGS.values())), cells(ONE.tolist())], axis=1)

FIELDS = [("name", object), ("instance", object), ("label", object)]
STRUCTS = np.array(list(zip(BAGS, BAGS.values(), LABELS, strict=True)), FIELDS)

MATLAB: dict[str, dict[str, Any]] = {
    "MIL toolbox": {"x": TOOLBOX},
    "Andrews": ANDREWS,
    "cells": {"bags": cells(list(BAGS.values())), "labels": ONE[:, None]},
    "cells beside labels": {"data": BESIDE, "labels": ONE[:, None]},
    "structs": {"bags": STRUCTS},
}
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
    "WEKA": arff,
    "WEKA, a row for each token": flat_arff,
    "UCI": uci,
    "npz of any names": any_names,
    "npz with an array for each bag": an_array_for_each_bag,
    **{f"MATLAB, {name}": mat(**arrays) for name, arrays in MATLAB.items()},
    **{f"MATLAB 7.3, {name}": mat73(**arrays) for name, arrays in MATLAB.items()},
}
NAMED = {"1": "tumour", "0": "normal", "2": "tumour", "-1": "normal"}
WITH_PLACES = ("h5", "npz", "packed", "coordinates", "lists", "dict")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_read_in_one_call(layout: str, tmp_path: Path) -> None:
    given = LAYOUTS[layout](tmp_path)
    found = read(**given)
    assert found.bags.sizes.tolist() == list(SIZES.values())
    # Texts and MATLAB's sparse matrices keep all digits of float32.
    np.testing.assert_array_equal(found.bags.tokens.astype(np.float32), TOKENS)
    labels = [NAMED.get(str(y), str(y)) for y in found.y.tolist()]
    if layout.endswith("MIL toolbox"):  # 1 and 2
        labels = [["normal", "tumour"][y - 1] for y in found.y.tolist()]
    assert labels == LABELS
    if not layout.startswith("MATLAB"):
        assert found.ids.tolist() == list(SIZES)
    if "groups" in given:
        assert found.groups is not None
        assert found.groups.tolist() == PATIENTS
    places = found.bags.coordinates
    known = any(word in layout for word in WITH_PLACES) and "each bag" not in layout
    assert (places is not None) == known
    if places is not None:
        np.testing.assert_array_equal(places, WHERE)


TABLES = [name for name in LAYOUTS if name.startswith(("csv", "tsv", "parquet", "excel", "WEKA"))]


@pytest.mark.parametrize("layout", [*TABLES, "UCI"])
def test_a_table_is_packed_as_it_is_read(layout: str, tmp_path: Path) -> None:
    given = LAYOUTS[layout](tmp_path)
    expected, path = read(**given), given.pop("path")
    if isinstance(given.get("labels"), str):  # a column, which pack calls label
        given["label"] = given.pop("labels")
    found = read(pack(path, tmp_path / "packed", **given))
    assert found.bags.equals(expected.bags)
    assert found.bags.feature_names == expected.bags.feature_names
    for name in ("y", "ids", "groups"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    both = found.bags.coordinates, expected.bags.coordinates
    assert (both[0] is None) == (both[1] is None) == ("coord" not in layout and "li" not in layout)
    if both[0] is not None:
        np.testing.assert_array_equal(*both)


def test_a_table_without_labels_is_packed_if_that_is_said(tmp_path: Path) -> None:
    table = frame().drop(columns="diagnosis")
    table.to_csv(tmp_path / "rows.csv", index=False)
    given = {"files": tmp_path / "rows.csv", "to": tmp_path / "packed", "bag": "slide"}
    with pytest.raises(InvalidInput, match="with the column label"):
        pack(**given)
    assert not (tmp_path / "packed").exists()
    found = read(pack(**given, labels=None, columns=["f3", "f1"]), labels=None)
    assert (found.ids.tolist(), found.columns) == (list(SIZES), ["f3", "f1"])
    np.testing.assert_array_equal(found.bags.tokens.astype(np.float32), TOKENS[:, [3, 1]])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"label": "diagnosis"}, "left out where no sheet has the labels; got 'diagnosis'"),
        ({"partial": True}, "left out where no sheet has the labels; got True"),
        ({"columns": ["f1"]}, "columns must be left out where each file is a bag"),
    ],
)
def test_what_files_of_one_bag_have_no_use_for(
    given: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=told):
        pack(npy(tmp_path)["path"], tmp_path / "packed", **given)


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
    np.savez(given["path"] / "s_012.npz", embedding=BAGS["s_012"])
    places = read(**given).bags.coordinates
    assert places is not None
    assert np.isnan(places).all(axis=1).tolist() == [False] * 3 + [True] + [False] * 4
    assert read(**given, coordinates=None).bags.coordinates is None
    np.savez(given["path"] / "s_1.npz", embedding=BAGS["s_1"], xy=np.ones((4, 3)))
    with pytest.raises(InvalidInput, match=r"s_1\.npz must be with 2 coordinates for each token"):
        read(**given)


@pytest.mark.parametrize(("name", "rows"), [("coords", 3), ("coords", 1), ("xy", 3)])
def test_coordinates_of_another_length_are_refused(name: str, rows: int, tmp_path: Path) -> None:
    given, places = npz(tmp_path), {name: np.ones((rows, 2))}
    np.savez(given["path"] / "s_1.npz", embedding=BAGS["s_1"], **places)
    told = rf"s_1\.npz must be with a row of {name} for each of 4 tokens; got '{rows} rows"
    with pytest.raises(InvalidInput, match=told + ".*coordinates= names another"):
        read(**given)
    assert read(**given, coordinates=None).bags.coordinates is None
    arrays = {"X": TOKENS[:4], "bag": [0, 1, 1, 1], "y": [0, 1]}
    np.savez(tmp_path / "bags.npz", **arrays, **places)
    with pytest.raises(InvalidInput, match=r"bags\.npz must be with a row of .*; got '\d rows"):
        read(tmp_path / "bags.npz")


def test_places_of_whole_bags_are_no_coordinates(tmp_path: Path) -> None:
    """Nor are those of the patches behind the one embedding of a slide."""
    given = npz(tmp_path)
    np.savez(given["path"] / "s_1.npz", embedding=BAGS["s_1"], center=np.ones((1, 2)))
    np.savez(given["path"] / "s_012.npz", embedding=BAGS["s_012"], coords=np.ones((9, 2)))
    places = read(**given).bags.coordinates
    assert places is not None
    assert np.isnan(places).all(axis=1).tolist() == [False] * 3 + [True] * 5
    arrays = {"X": TOKENS[:4], "bag": [0, 1, 1, 1], "y": [0, 1], "center": np.ones((2, 2))}
    np.savez(tmp_path / "bags.npz", **arrays)
    assert read(tmp_path / "bags.npz").bags.coordinates is None


def test_one_file_is_one_bag(tmp_path: Path) -> None:
    path = npy(tmp_path)["path"]
    found = read(path / "s_007.npy", labels=None)
    assert (found.ids.tolist(), len(found.bags)) == (["s_007"], 1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "a sheet or a mapping from ids"),
        ({"labels": None, "groups": "case_id"}, "a sheet or a mapping from ids"),
        ({"labels": None, "id": "slide"}, "id must be left out where no sheet"),
        (
            {"labels": None, "dataset": "uni"},
            "with the array uni; got 'embedding, xy'. dataset= na",
        ),
        (
            {"labels": None, "coordinates": "at"},
            "the array at of coordinates, of shape .* got 'emb",
        ),
        ({"labels": "none.csv"}, "sheet none.csv must be a file that is there"),
        (
            {"labels": Path("labels.json")},
            "sheet labels.json must be a file that is there and ends in .csv, .tsv",
        ),
    ],
)
def test_a_folder_of_slides_is_refused_with_what_helps(
    given: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=told):
        read(npz(tmp_path)["path"], **given)


def test_a_folder_of_folders_says_which(tmp_path: Path) -> None:
    """CLAM writes h5_files and pt_files into one folder."""
    (tmp_path / "features" / "h5_files").mkdir(parents=True)
    with pytest.raises(InvalidInput, match=r"got 'the folder .* with h5_files'.*Give the folder"):
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(InvalidInput, match="a regular file"):
        read(tmp_path, labels=None)


@pytest.mark.parametrize("name", ["bags.npz", "bags.mat"])
def test_one_file_that_may_hold_many_bags_is_not_packed(name: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "bags.npz", X=np.zeros((4, 2)), bag=[0, 0, 1, 1], y=[0, 1])
    with pytest.raises(InvalidInput, match=r"files must be a folder or a list of files.*as it is"):
        pack(tmp_path / name, tmp_path / "packed")
    assert not (tmp_path / "packed").exists()
