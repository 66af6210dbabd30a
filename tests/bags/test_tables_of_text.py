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
    ("rows", "told"),
    [
        ([f"{k},{row}" for k, row in enumerate(ROWS)], "got '6 cells in line 2, 5 in the header"),
        ([f"{row}," for row in ROWS], "got '6 cells in line 2, 5 .*leave out one at the end of ro"),
        ([f"{row},1,2" for row in ROWS], "got '7 cells in line 2, 5 in the header"),
        ([*ROWS, f"9,{ROWS[0]}"], "got '6 cells in line 5, 5 in the header'.*row.names=FALSE"),
        ([*ROWS, f"{ROWS[0]},"], "got '6 cells in line 5, 5 in the header"),
        ([*ROWS, "s1,p1,0.3,0.5"], r"got '4 cells in line 5, 5 in the header'\.$"),
        ([row.rpartition(",")[0] for row in ROWS], "got '4 cells in line 2, 5 in the header"),
        (['"s1\n,",p1,0.1,0.2,no', *ROWS, "s3,p1"], "got '2 cells in line 7, 5 in the header"),
    ],
)
@pytest.mark.parametrize("by", [",", "\t"])
def test_each_row_has_the_cells_of_the_header(
    rows: list[str], told: str, by: str, tmp_path: Path
) -> None:
    lines = [line.replace(",", by) for line in (HEAD, *rows)]
    path = table(tmp_path, *lines, name="rows.csv" if by == "," else "rows.tsv")
    with pytest.raises(InvalidInput, match=told):
        read(path)
    with pytest.raises(InvalidInput, match=told):
        read(path, labels=path, label="label", id="bag")


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
    for labels in ("", path):
        with pytest.raises(InvalidInput, match=r"can't decode.*Save it as UTF-8"):
            read(path, labels=labels)


@pytest.mark.parametrize("given", [{}, {"groups": "groups"}])
def test_ids_and_groups_keep_their_zeros(given: dict[str, Any], tmp_path: Path) -> None:
    cells = ("1", "01", "1.0", "007", "7")
    rows = [f"{one},{one},0.{k},no" for k, one in enumerate(cells)]
    found = read(table(tmp_path, "bag,groups,a,label", *rows), **given)
    assert found.groups is not None
    assert (found.ids.tolist(), found.groups.tolist()) == (list(cells), list(cells))


def test_ids_and_groups_of_data_keep_their_zeros(tmp_path: Path) -> None:
    rows = ("a,01,007,0.1,0.", "b,1,7,0.2,1.")
    found = read(table(tmp_path, *rows, name="rows.data"), bag="1", groups="2")
    assert found.groups is not None
    assert (found.ids.tolist(), found.groups.tolist()) == (["01", "1"], ["007", "7"])


@pytest.mark.parametrize("end", ["", ","])
@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1.", "0."), [1, 0]),
        (("01.", "1."), ["01", "1"]),
        (("v1.0", "v1"), ["v1.0", "v1"]),
        (("1.0", "1."), [1.0, 1.0]),
        ((" yes.", "no."), ["yes", "no"]),
    ],
)
def test_labels_of_data_that_are_written_differently_stay_distinct(
    cells: tuple[str, str], values: list[Any], end: str, tmp_path: Path
) -> None:
    rows = [f"s{k},a{k},0.{k},{cell}{end}" for k, cell in enumerate(cells)]
    found = read(table(tmp_path, *rows, name="rows.data"))
    assert (found.y.tolist(), found.columns) == (values, ["2"])
    assert found.y.dtype == np.array(values).dtype
    assert np.vstack(list(found.bags)).ravel().tolist() == [0.0, 0.1]


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
    y = read(path, label="" if name == "label" else name).y
    assert y.tolist() == values
    assert y.dtype == np.array(values).dtype
    sheet = table(tmp_path, f"bag,{name}", f"s1,{cells[0]}", f"s2,{cells[1]}", name="sheet.csv")
    if "true" not in cells:
        told = read(path, labels=sheet, label=name).y.tolist()
        assert told == [one.strip() if isinstance(one, str) else one for one in values]


def test_a_label_that_is_missing_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, "bag,label,a", "s1,1,0.5", "s2,,0.25")
    with pytest.raises(InvalidInput, match="without missing labels; got 'nan for bag s2"):
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


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("b,b1,?,4,1.", "nan at bag 1, token 0, column 0"),
        ("b,b1,3,n,1.", "column 3 must be of numbers or of texts; got .*'n.*' in row 1"),
        ("b,b1,3,4,?", "without missing labels; got 'nan for bag b"),
        ("?,b1,3,4,1.", "bag_ids must be without missing values; got 'nan in row 1"),
        ("b,b1,3,4", "without missing labels; got 'nan for bag b"),
    ],
)
def test_values_that_are_missing_in_data(row: str, told: str, tmp_path: Path) -> None:
    rows = ("a,a1,1,2,0.", row, "c,c1,5,6,0.")
    with pytest.raises(InvalidInput, match=told):
        read(table(tmp_path, *rows, name="rows.data"))


def test_texts_that_are_missing_in_data_are_no_tokens(tmp_path: Path) -> None:
    rows = ("1,a,0.5,0.", "?,b,0.25,1.")
    found = read(table(tmp_path, *rows, name="rows.data"), bag="1")
    assert (found.columns, found.left_out) == (["2"], ["0"])


ARFF = """@relation r
@attribute id {a,b}
@attribute bag relational
@attribute f numeric
@attribute g numeric
@attribute n string
@end bag
@attribute class {0,1}
@data
a,"1,2,x\\n3,4,y",0
"""
FLAT = """@relation r
@attribute bag string
@attribute f numeric
@attribute g {1,2,other}
@attribute label {0,1}
@data
a,1,1,0
a,2,2,0
"""


@pytest.mark.parametrize(("start", "row"), [(ARFF, 'b,"?,6,z",1'), (FLAT, "b,?,other,1")])
def test_values_that_are_missing_in_arff(start: str, row: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nan at bag 1, token 0, column 0"):
        read(table(tmp_path, start + row, name="rows.arff"))
    found = read(table(tmp_path, start + row.replace("?", "5"), name="rows.arff"))
    assert (found.columns, found.bags.tokens[2, 0]) == (["f", "g"] if start == ARFF else ["f"], 5)


@pytest.mark.parametrize("order", [("bag", "class"), ("class", "bag"), ("class", "x", "bag")])
def test_the_ids_of_arff_are_no_labels(order: tuple[str, ...], tmp_path: Path) -> None:
    values = {"bag": "s{}", "class": "{}", "x": "q"}
    head = [f"@attribute {name} string" for name in order]
    rows = [",".join([*(values[n].format(k) for n in order), f'"{k},2"']) for k in (0, 1)]
    lines = (*head, "@attribute of relational", "@attribute f numeric", "@attribute g numeric")
    path = table(tmp_path, *lines, "@end of", "@data", *rows, name="rows.arff")
    found = read(path, label="class")
    assert (found.ids.tolist(), found.y.tolist()) == (["s0", "s1"], ["0", "1"])
    assert set(read(path).y.tolist()) == ({"q"} if "x" in order else {"0", "1"})
    with pytest.raises(InvalidInput, match="labels must be another column than that of the bag"):
        read(path, label="bag")


@pytest.mark.parametrize("column", ["groups", "patient"])
def test_bags_of_a_relation_have_groups(column: str, tmp_path: Path) -> None:
    beside = ("@attribute slide numeric", "@attribute class {a,b}", f"@attribute {column} string")
    lines = (*beside, "@attribute of relational", "@attribute f numeric", "@attribute g numeric")
    rows = [f'{7 + k},{"ab"[k % 2]},{"007" if k < 2 else "7"},"{k},2"' for k in range(4)]
    path = table(tmp_path, *lines, "@end of", "@data", *rows, name="rows.arff")
    found = read(path, label="class", groups="" if column == "groups" else column)
    assert found.groups.tolist() == ["007", "007", "7", "7"]
    assert found.ids.tolist() == ["7", "8", "9", "10"]
    if column == "groups":
        assert read(path).y.tolist() == list("abab")
    with pytest.raises(InvalidInput, match="groups= names the column of the groups"):
        read(path, label="class", groups="pat")
    with pytest.raises(InvalidInput, match="columns must be None for a relational attribute"):
        read(path, label="class", columns=["f"])


def test_what_is_wrong_with_groups_is_said_of_groups(tmp_path: Path) -> None:
    path = table(tmp_path, HEAD, *ROWS)
    with pytest.raises(InvalidInput, match=r"column pat; .* groups= names the column of the gro"):
        read(path, groups="pat")
    with pytest.raises(InvalidInput, match="a must be one group for each bag; got 'two groups in"):
        read(path, groups="a")
    np.savez(tmp_path / "bags.npz", X=np.eye(2), bag=[0, 1], y=[0, 1])
    with pytest.raises(InvalidInput, match=r"array pat; .* groups= names the array of the groups"):
        read(tmp_path / "bags.npz", groups="pat")
