"""The files of --out and --plot: they are whole, and replace nothing but such files."""

import json

import pytest

from command_line import invoke, limited, refused

POINTS = ["align", "--strength", "1,2"]


@pytest.fixture
def counted(monkeypatch):
    """The settings that are computed."""
    from sparsetoken import theory

    done, align = [], theory.align
    monkeypatch.setattr(theory, "align", lambda *a, **k: done.append(1) or align(*a, **k))
    return done


@pytest.mark.parametrize(
    ("kept", "legal"),
    [("d.nc", "a file other than the input"), ("d.nc/kept", "no folder of an input")],
)
def test_results_do_not_replace_the_folder_of_kept_results(kept, legal, tmp_path, counted):
    said = refused(*POINTS, "--keep", tmp_path / kept, "--out", tmp_path / "d.nc")
    assert f"--out must be {legal}" in said
    assert not counted


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ([], "none"),
        (["--loss", "square,logistic"], "none"),
        (["--strength", "1,2", "--length", "4,8", "--eta-b", "1,2"], "length, strength, eta_b"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_the_work(options, got, tmp_path, counted):
    said = refused("align", *options, "--plot", tmp_path / "a.svg")
    assert f"--plot must be given with one or two numbers that are several; got '{got}'" in said
    assert not counted


def test_a_descent_is_drawn_over_its_steps_and_at_most_one_number(tmp_path):
    descend = ["descend", "--steps", "1", "--tolerance", "0.1", "--plot", tmp_path / "a.svg"]
    assert invoke(*descend).exit_code == 0
    assert (tmp_path / "a.svg").exists()
    said = refused(*descend, "--strength", "1,2", "--alpha", "1,2")
    assert "got 'strength, alpha, step'" in said
    said = refused(*descend, "--alpha", "1:2:21")
    assert "--plot must be given with at most 20 curves; got 21." in said


def test_files_are_checked_before_a_simulation(tmp_path, monkeypatch):
    from sparsetoken import simulation

    monkeypatch.setattr(simulation, "descend", None)
    words = ["descend", "--steps", "1", "--dimension", "20"]
    assert "--out must be" in refused(*words, "--out", tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.nc", "a.svg", "a.png", "a.pdf"])
def test_results_are_printed_where_a_disk_is_full(name, tmp_path):
    expected = json.loads(invoke(*POINTS, "--json").stdout)
    option = "--plot" if name.endswith(("svg", "png", "pdf")) else "--out"
    path, kept = tmp_path / name, tmp_path / "kept"
    invoke(*POINTS, option, path, "--keep", kept)  # loads modules, which may write files
    path.unlink()
    with limited(100):
        found = invoke(*POINTS, option, path, "--keep", kept, "--json")
        shown = invoke(*POINTS, option, path).stdout
    assert found.exit_code == 1
    assert json.loads(found.stdout) == {**expected, option[2:]: None}
    *_, last = found.stderr.splitlines()
    reason = f"was not written: File too large. Name another file with {option}."
    assert last == f"Error: {path} {reason} {kept} has the results."
    assert "cosine" in shown
    assert list(tmp_path.iterdir()) == [kept]
