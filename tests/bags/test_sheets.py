"""Sheets of labels, joined to bags by ids that are texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsetoken.bags import pack, read
from sparsetoken.base.validation import InvalidInput

pandas = pytest.importorskip("pandas", reason="pandas, of the extra data, is not installed")
RNG = np.random.default_rng(0)


def slides(folder: Path, *names: str) -> Path:
    (folder / "slides").mkdir()
    for name in names:
        np.save(folder / "slides" / f"{name}.npy", RNG.standard_normal((2, 3)))
    return folder / "slides"


def sheet(folder: Path, *rows: str, head: str = "id,label") -> Path:
    path = folder / "labels.csv"
    path.write_text("\n".join([head, *rows]))
    return path


@pytest.mark.parametrize(
    ("bag", "key"),
    [
        ("007", "007"),
        ("007", "007.svs"),
        ("007", "slides/007.h5"),
        ("007", r"C:\scans\007.tiff"),
        ("TCGA-05.4F2A9C1B", "TCGA-05.4F2A9C1B"),
        ("TCGA-05.4F2A9C1B", "a/TCGA-05.4F2A9C1B.svs"),
        ("NA", "NA"),
        ("1e5", "1e5"),
    ],
)
def test_keys_may_have_the_folder_and_the_ending_of_a_file(
    bag: str, key: str, tmp_path: Path
) -> None:
    found = read(slides(tmp_path, bag, "other"), sheet=sheet(tmp_path, "other,0", f"{key},1"))
    assert dict(zip(found.ids.tolist(), found.y.tolist(), strict=True)) == {bag: 1, "other": 0}


def test_leading_zeros_count(tmp_path: Path) -> None:
    folder = slides(tmp_path, "7", "8")
    with pytest.raises(
        InvalidInput, match=r"2 of 2 bags without .*: 7, 8; 2 of 2 rows .*id= names"
    ):
        read(folder, sheet=sheet(tmp_path, "007,1", "008,0"))
    both = read(slides(folder, "7", "007"), sheet=sheet(tmp_path, "007,1", "7,0"))
    assert both.ids[both.y == 1].tolist() == ["007"]


def test_integers_of_arrays_are_the_texts_of_a_sheet(tmp_path: Path) -> None:
    np.savez(tmp_path / "bags.npz", X=np.eye(3), bag=[12, 7, 12])
    found = read(tmp_path / "bags.npz", sheet=sheet(tmp_path, "7,a", "12,b"))
    assert (found.ids.tolist(), found.y.tolist()) == (["12", "7"], ["b", "a"])
    frame = pandas.DataFrame({"id": [7.0, 12.0], "label": ["a", "b"]})
    assert read(tmp_path / "bags.npz", sheet=frame).y.tolist() == ["b", "a"]


def test_missing_and_extra_ids_are_both_listed(tmp_path: Path) -> None:
    folder = slides(tmp_path, "a", "b", "c", "d")
    labels = sheet(tmp_path, "d,", "x,1", "a,0", "y,1", "c,1")
    told = r"2 of 4 bags without a row or value: b, d; 2 of 5 rows without a bag: x, y"
    with pytest.raises(InvalidInput, match=told + ".*partial=True leaves such out"):
        read(folder, sheet=labels)
    found = read(folder, sheet=labels, partial=True)
    assert (found.ids.tolist(), found.y.tolist()) == (["a", "c"], [0, 1])
    whole = read(folder, labels=None).bags
    np.testing.assert_array_equal(found.bags.tokens, whole[[0, 2]].tokens)
    packed = read(pack(folder, tmp_path / "packed", sheet=labels, partial=True))
    assert (packed.ids.tolist(), packed.y.tolist()) == (["a", "c"], [0, 1])
    with pytest.raises(InvalidInput, match="4 of 4 bags without"):
        read(folder, sheet=sheet(tmp_path, "x,1"), partial=True)


def test_rows_of_one_bag_must_agree(tmp_path: Path) -> None:
    folder = slides(tmp_path, "a", "b")
    same = read(folder, sheet=sheet(tmp_path, "a,1", "b,0", "a.svs,1"))
    assert same.y.tolist() == [1, 0]
    told = "sheet labels.csv must be one with a row for each bag; got 'two that differ for a'"
    with pytest.raises(InvalidInput, match=told):
        read(folder, sheet=sheet(tmp_path, "a,1", "b,0", "a,0"))


def test_a_name_of_two_bags_is_that_of_neither(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"bag": ["x/a", "y/a", "b"], "f": [0.1, 0.2, 0.3]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    labels = sheet(tmp_path, "a,1", "b,0")
    with pytest.raises(InvalidInput, match="2 of 3 bags without a row or value: x/a, y/a"):
        read(tmp_path / "rows.csv", sheet=labels)
    labels = sheet(tmp_path, "y/a,1", "x/a,2", "b,0")
    assert read(tmp_path / "rows.csv", sheet=labels).y.tolist() == [2, 1, 0]


def test_slides_of_a_patient_are_a_group_or_one_bag(tmp_path: Path) -> None:
    folder = slides(tmp_path, "a1", "b1", "a2")
    rows = ("a1,p01,yes", "a2,p01,yes", "b1,p1,no")
    labels = sheet(tmp_path, *rows, head="FILENAME,PATIENT,isMSIH")
    given: dict[str, Any] = {"sheet": labels, "labels": "isMSIH", "groups": "PATIENT"}
    found = read(folder, **given)
    assert found.groups is not None
    assert (found.ids.tolist(), found.groups.tolist()) == (["a1", "a2", "b1"], ["p01", "p01", "p1"])
    merged = read(folder, merge_groups=True, **given)
    assert (merged.ids.tolist(), merged.y.tolist()) == (["p01", "p1"], ["yes", "no"])
    assert (merged.bags.sizes.tolist(), merged.groups) == ([4, 2], None)
    np.testing.assert_array_equal(merged.bags.tokens, found.bags.tokens)
    apart = read(pack([folder / f"{n}.npy" for n in ("a1", "b1", "a2")], tmp_path / "p", **given))
    one = read(tmp_path / "p", merge_groups=True)
    np.testing.assert_array_equal(one.bags.tokens, apart.bags[[0, 2, 1]].tokens)
    whole = pack(folder, tmp_path / "merged", merge_groups=True, **given)
    assert read(whole).bags.equals(merged.bags)
    sheet(tmp_path, "a1,p01,yes", "a2,p01,no", "b1,p1,no", head="FILENAME,PATIENT,isMSIH")
    with pytest.raises(InvalidInput, match=r"the same in all bags of a group.*yes and no"):
        read(folder, merge_groups=True, **given)
    with pytest.raises(InvalidInput, match="groups must be given to merge their bags"):
        read(folder, merge_groups=True, labels=None)


@pytest.mark.parametrize(
    ("head", "given", "told"),
    [
        ("slide,label", {"labels": "grade"}, "column grade; got 'columns slide, label'. labels= n"),
        ("slide,label", {"id": "case"}, "with the column case; .*id= names another"),
        ("slide,label", {"groups": "who"}, "with the column who; .*groups= names another"),
        ("name,label", {}, "with the column bag or id or slide_id.*id= names another"),
        ("slide,label", {"labels": "slide"}, "with a column each for ids, labels and groups"),
        ("id,slide,label", {}, "with the column bag or id .*got 'columns id, slide"),
        ("id,grade", {}, "with the column label or y; .*labels= names another"),
        ("label,id", {}, "the column id of the sheet labels.csv must be without missing values"),
        ("id,label,label", {}, "labels.csv must be one with columns .*several named label"),
    ],
)
def test_columns_that_are_not_there_name_the_option(
    head: str, given: dict[str, Any], told: str, tmp_path: Path
) -> None:
    labels = sheet(tmp_path, "a" + "," * head.count(","), head=head)
    with pytest.raises(InvalidInput, match=told):
        read(slides(tmp_path, "a"), sheet=labels, **given)


@pytest.mark.parametrize(
    ("cells", "kind"), [(("0", "1"), "i"), (("0.5", "1"), "f"), (("01", "1"), "U"), ("ab", "U")]
)
def test_labels_are_numbers_if_all_are_written_so(
    cells: tuple[str, str], kind: str, tmp_path: Path
) -> None:
    labels = sheet(tmp_path, *(f"{name},{cell}" for name, cell in zip("ab", cells, strict=True)))
    y = read(slides(tmp_path, "a", "b"), sheet=labels).y
    assert y.dtype.kind == kind
    assert (
        "None"
        in read(
            slides(tmp_path / "slides", "a", "b"), sheet=sheet(tmp_path, "a,None", "b,II")
        ).y.tolist()
    )


def test_truth_values_are_told_from_texts(tmp_path: Path) -> None:
    folder = slides(tmp_path, "a", "b", "c")
    found = read(folder, sheet=sheet(tmp_path, "a,True", "b,false", "c,TRUE"))
    assert found.y.tolist() == [True, False, True]
    found = read(folder, sheet=sheet(tmp_path, "a,True", "b,no", "c,TRUE"))
    assert found.y.tolist() == ["True", "no", "TRUE"]


@pytest.mark.parametrize("ending", [".tsv", ".parquet", ".xlsx"])
def test_other_sheets(ending: str, tmp_path: Path) -> None:
    frame = pandas.DataFrame({"slide": ["007", "1"], "y": [1, 0]})
    path = tmp_path / f"labels{ending}"
    if ending == ".tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif ending == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        pytest.importorskip("openpyxl", reason="openpyxl is not installed")
        frame.to_excel(path, index=False)
    assert read(slides(tmp_path, "007", "1"), sheet=str(path)).y.tolist() == [1, 0]


WHOLE, SPLIT = "caf\u00e9", "cafe\u0301"  # one text; names of files on macOS are split


@pytest.mark.parametrize(("bag", "key"), [(WHOLE, SPLIT), (SPLIT, WHOLE)])
def test_letters_are_compared_whole(bag: str, key: str, tmp_path: Path) -> None:
    folder = slides(tmp_path, bag, "other")
    rows = sheet(tmp_path, "other,0", f"{key}.svs,1")
    for given in ({"sheet": rows}, {"labels": {"other": 0, key: 1}}):
        found = read(folder, **given)
        assert dict(zip(found.ids.tolist(), found.y.tolist(), strict=True)) == {
            WHOLE: 1,
            "other": 0,
        }
    packed = read(pack(folder, tmp_path / "packed", sheet=sheet(tmp_path, "other,0", f"{key},1")))
    assert set(packed.ids.tolist()) == {WHOLE, "other"}
    np.savez(tmp_path / "bags.npz", X=np.eye(2), bag=[bag, "other"])
    for given in ({"sheet": rows}, {"labels": {"other": 0, key: 1}}):
        assert read(tmp_path / "bags.npz", **given).y.tolist() == [1, 0]


def test_groups_of_the_same_letters_are_one(tmp_path: Path) -> None:
    """Else the slides of a patient would be on both sides of a split."""
    folder = slides(tmp_path, "a", "b", "c")
    found = read(folder, labels={"a": 1, "b": 0, "c": 0}, groups={"a": WHOLE, "b": SPLIT, "c": "x"})
    assert found.groups.tolist() == [WHOLE, WHOLE, "x"]


def test_two_files_of_the_same_letters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="several files caf"):
        read(slides(tmp_path, WHOLE, SPLIT), labels=None)


def test_a_sheet_has_the_groups_that_are_named_so(tmp_path: Path) -> None:
    folder = slides(tmp_path, "a", "b")
    found = read(folder, sheet=sheet(tmp_path, "a,1,01", "b,0,1", head="id,label,groups"))
    assert found.groups.tolist() == ["01", "1"]
    frame = pandas.DataFrame({"bag": ["a", "b"], "f": [0.1, 0.2], "groups": ["x", "y"]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = read(tmp_path / "rows.csv", sheet=sheet(tmp_path, "a,1", "b,0"))
    assert found.groups.tolist() == ["x", "y"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".xlsx", ".parquet"])
def test_two_columns_of_one_name_are_refused(ending: str, tmp_path: Path) -> None:
    path, rows = tmp_path / f"labels{ending}", [("id", "label", "label"), ("a", "0", "1")]
    frame = pandas.DataFrame(rows[1:], columns=["id", "label", "other"])
    if ending == ".xlsx":
        pytest.importorskip("openpyxl", reason="openpyxl, of the extra data, is not installed")
        pandas.DataFrame(rows).to_excel(path, header=False, index=False)
    elif ending == ".parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, of data, is not installed")
        table = pyarrow.Table.from_pandas(frame).rename_columns(rows[0])
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        by = "\t" if ending == ".tsv" else ","
        path.write_text("\n".join(map(by.join, rows)))
    folder = slides(tmp_path, "a")
    with pytest.raises(InvalidInput, match="different names; got 'several named label'"):
        read(folder, sheet=path)
    frame.columns = [*rows[0]]
    with pytest.raises(InvalidInput, match=r"the sheet .*got 'several named label'"):
        read(folder, sheet=frame)
    renamed = pandas.DataFrame({"id": ["a"], "label": [0], "label.1": [1]})
    assert read(folder, sheet=renamed).y.tolist() == [0]
