"""What is printed: texts of users as they are, and numbers with the fewest digits."""

import sys

import numpy as np
import pytest

from sparsetoken.base.tables import json_text
from sparsetoken.cli.bag_tables import answered, written
from sparsetoken.cli.output import message, put, table

HOSTILE = "[/red]1 [b] :smile: \x1b[31m \u202e \udcff\nnext"


@pytest.mark.parametrize("show", [message, put, lambda text: put(*table(text, {text: text}))])
def test_texts_are_printed_as_they_are(show, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    show(HOSTILE)
    found = "".join(capsys.readouterr())
    assert r"[/red]1 [b] :smile: \x1b[31m \u202e \udcff\nnext" in found
    assert "\x1b" not in found


def test_json_numbers_have_the_fewest_digits_of_their_type():
    single = np.array([0.1, 1 / 3], "f4")
    values = {"double": 0.1 + 0.2, "single": single, "one": single[0], "count": np.int64(3)}
    found = json_text(values)
    assert found == (
        '{"double": 0.30000000000000004, "single": [0.1, 0.33333334], "one": 0.1, "count": 3}'
    )


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_names_of_files_that_are_no_utf8_stand_in_tables(tmp_path, ending):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"t{ending}"
    assert written({"bag": np.array(["a\udcff", "é\n"]), "x": np.array([0.5, 1.0])}, path) == ""
    found = pandas.read_csv(path) if ending == ".csv" else pandas.read_parquet(path)
    assert found["bag"].tolist() == [r"a\udcff", "é\n"]
    assert found["x"].tolist() == [0.5, 1.0]


def test_tables_of_bags_have_six_digits_on_a_terminal_but_for_places(monkeypatch):
    columns = {"bag": np.array(["a"]), "x": np.array([1234567.5]), "attention": np.array([1 / 3])}
    shown = answered("tokens", 1, columns, None)
    assert shown.lines == ["bag,x,attention", "a,1234567.5,0.3333333333333333"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    short = answered("tokens", 1, columns, None)
    assert short.lines == ["bag,x,attention", "a,1234567.5,0.333333"]
    assert short.values == shown.values
