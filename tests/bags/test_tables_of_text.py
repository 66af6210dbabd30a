"""Tables of text: cells, rows and columns that a reader could take for others."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsetoken.bags import from_frame, read
from sparsetoken.base.validation import InvalidInput

pd = pytest.importorskip("pandas", reason="pandas, of the extra data, is not installed")
HEAD = "bag,patient,a,b,label"
ROWS = ("s1,p1,0.1,0.2,no", "s1,p1,0.3,0.5,no", "s2,p2,0.6,0.4,yes")


def table(folder: Path, *lines: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    "rows",
    [
        [f"{k},{row}" for k, row in enumerate(ROWS)],  # as R writes names of rows
        [*ROWS, f"9,{ROWS[0]}"],
        [*ROWS, "s1,p1,0.3"],
        [row.rpartition(",")[0] for row in ROWS],
    ],
)
@pytest.mark.parametrize("by", [",", "\t"])
def test_no_cell_of_a_row_of_another_length_is_lost(
    rows: list[str], by: str, tmp_path: Path
) -> None:
    lines = [line.replace(",", by) for line in (HEAD, *rows)]
    path = table(tmp_path, *lines, name="rows.csv" if by == "," else "rows.tsv")
    with pytest.raises(InvalidInput, match=r"Parser|missing values|NaN"):
        read(path)
    with pytest.raises(InvalidInput, match=r"Parser|missing values|NaN|a row for each|differ"):
        read(path, sheet=path, id="bag")


def test_tables_of_europe(tmp_path: Path) -> None:
    rows = [row.replace(",", ";").replace(".", ",") for row in (HEAD, *ROWS)]
    expected = read(table(tmp_path, HEAD, *ROWS), groups="patient")
    found = read(table(tmp_path, *rows), groups="patient")
    assert found.bags.equals(expected.bags)
    assert (found.y.tolist(), found.groups.tolist()) == (["no", "yes"], ["p1", "p2"])
    points = [row.replace(",", ";") for row in (HEAD, *ROWS)]
    assert read(table(tmp_path, *points), groups="patient").bags.equals(expected.bags)
    sheet = table(tmp_path, "bag;label", "s1;0", "s2;1", name="sheet.csv")
    assert read(tmp_path / "rows.csv", sheet=sheet).y.tolist() == [0, 1]
    sheet = table(tmp_path, "bag;label", "s1;0,5", "s2;1", name="sheet.csv")
    assert read(tmp_path / "rows.csv", sheet=sheet).y.tolist() == [0.5, 1.0]
    numbers = table(tmp_path, "bag;a;label", "s1;0,1;1,5", "s2;0,2;2", name="numbers.csv")
    assert read(numbers).y.tolist() == [1.5, 2.0]
    bad = [*points, "s3;p1;1.234,5;0,5;no"]
    with pytest.raises(InvalidInput, match=r"column a must be of numbers or of texts; .*1\.234,5"):
        read(table(tmp_path, *bad))


def test_separators_and_ends_of_lines_in_quotes_are_no_cells(tmp_path: Path) -> None:
    rows = ('"s,1","p\n1",0.1,0.2,no', "", '"s,1",,0.3,0.5,no', " ", '"s""2",,0.6,0.4,"y,\n"')
    found = read(table(tmp_path, HEAD, *rows))
    assert (found.ids.tolist(), found.y.tolist()) == (["s,1", 's"2'], ["no", "y,\n"])
    assert found.bags.tokens.tolist() == [[0.1, 0.2], [0.3, 0.5], [0.6, 0.4]]


def test_a_long_cell_and_an_empty_last_one_are_read(tmp_path: Path) -> None:
    rows = (f"s1,1.0,no,{'x' * 200_000}", "s1,2.0,no,", "s2,3.0,yes,")
    found = read(table(tmp_path, "bag,a,label,note", *rows))
    assert (found.bags.tokens.tolist(), found.left_out) == ([[1.0], [2.0], [3.0]], ["note"])


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_table_of_other_letters_is_refused(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("\n".join((HEAD, *ROWS, "s3,é,0.1,0.2,no")).encode(encoding))
    for sheet in (None, path):
        with pytest.raises(InvalidInput, match=r"can't decode.*Save it as UTF-8"):
            read(path, sheet=sheet)


@pytest.mark.parametrize("given", [{}, {"groups": "groups"}])
def test_ids_and_groups_keep_their_zeros(given: dict[str, Any], tmp_path: Path) -> None:
    cells = ("1", "01", "1.0", "007", "7")
    rows = [f"{one},{one},0.{k},no" for k, one in enumerate(cells)]
    found = read(table(tmp_path, "bag,groups,a,label", *rows), **given)
    assert found.groups is not None
    assert (found.ids.tolist(), found.groups.tolist()) == (list(cells), list(cells))


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("01", "1"), ["01", "1"]),
        (("1", "0"), [1, 0]),
        (("1", "1.0"), [1.0, 1.0]),
        (("0.5", " 1"), [0.5, 1.0]),
        (("true", "FALSE"), [True, False]),
        (("yes", " 1"), ["yes", " 1"]),
        (("1000000000000000001", "1000000000000000002"), [10**18 + 1, 10**18 + 2]),
        (("10000000000000000001", "10000000000000000002"), [str(10**19 + 1), str(10**19 + 2)]),
    ],
)
@pytest.mark.parametrize("name", ["label", "grade"])
def test_labels_of_a_table_are_one_number_only_where_all_are_numbers(
    name: str, cells: tuple[str, str], values: list[Any], tmp_path: Path
) -> None:
    path = table(tmp_path, f"bag,a,{name}", f"s1,0.5,{cells[0]}", f"s2,0.25,{cells[1]}")
    y = read(path, labels="" if name == "label" else name).y
    assert y.tolist() == values
    assert y.dtype == np.array(values).dtype
    sheet = table(tmp_path, f"bag,{name}", f"s1,{cells[0]}", f"s2,{cells[1]}", name="sheet.csv")
    told = read(path, sheet=sheet, labels=name).y.tolist()
    assert told == [one.strip() if isinstance(one, str) else one for one in values]


def test_a_label_that_is_missing_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, "bag,label,a", "s1,1,0.5", "s2,,0.25")
    with pytest.raises(InvalidInput, match="without missing values; got 'nan"):
        read(path)


@pytest.mark.parametrize("odd", ["n.d.", "?", '"1,000"', "-"])
def test_a_cell_that_is_no_number_among_numbers_is_refused(odd: str, tmp_path: Path) -> None:
    rows = ("s1,0.1,1,no", "s1,0.2,2,no", f"s2,0.3,{odd},yes", "s2,0.4,,yes")
    path = table(tmp_path, "bag,a,b,label", *rows)
    told = re.escape(odd.strip('"')) + r"' in row 2.*Mend the cell, or .* in columns="
    with pytest.raises(InvalidInput, match=r"column b must be of numbers or of texts.*" + told):
        read(path)
    with pytest.raises(InvalidInput, match=r"column b must be of real numbers; got .*in row 2"):
        read(path, columns=["a", "b"])
    assert read(path, columns=["a"]).left_out == ["b"]
    rows = (f"s{k},0.{k},{one},no" for k, one in enumerate(("1", "2", "3", odd)))
    assert read(table(tmp_path, "bag,a,b,label", *rows), groups="b").columns == ["a"]


def test_names_of_rows_are_no_tokens_unless_asked_for(tmp_path: Path) -> None:
    """R and pandas write them in a first column without a name."""
    path = table(tmp_path, '"","bag","a","label"', '"1","s1",0.5,0', '"2","s2",0.25,1')
    found = read(path)
    assert (found.columns, found.left_out) == (["a"], ["Unnamed: 0"])
    assert read(path, columns=["Unnamed: 0", "a"]).bags.dimension == 2
    assert from_frame(pd.read_csv(path), labels="label").columns == ["a"]


@pytest.mark.parametrize("cells", [("x", "y", "z", ""), ("12b", "a34", "2024-01-02", "7")])
def test_texts_are_no_tokens(cells: tuple[str, ...], tmp_path: Path) -> None:
    rows = [f"s{k},0.{k},{cell},no" for k, cell in enumerate(cells)]
    found = read(table(tmp_path, "bag,a,note,label", *rows))
    assert (found.columns, found.left_out) == (["a"], ["note"])


def test_what_is_wrong_with_groups_is_said_of_groups(tmp_path: Path) -> None:
    path = table(tmp_path, HEAD, *ROWS)
    with pytest.raises(
        InvalidInput, match=r"with the column pat; got .*Did you mean patient\? groups= names"
    ):
        read(path, groups="pat")
    with pytest.raises(InvalidInput, match=r"groups must be the same .*; got 'two in bag s1"):
        read(path, groups="a")
    np.savez(tmp_path / "bags.npz", X=np.eye(2), bag=[0, 1], y=[0, 1])
    with pytest.raises(InvalidInput, match=r"with the array pat; got .*groups= names another"):
        read(tmp_path / "bags.npz", groups="pat")


def test_a_table_has_no_array_to_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="dataset must be left out for a table; got 'feats'"):
        read(table(tmp_path, HEAD, *ROWS), dataset="feats")
