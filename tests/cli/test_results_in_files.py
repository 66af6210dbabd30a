"""The files of --out and --plot: they are whole, and replace nothing but such files."""

import json
import shutil

import pytest

from command_line import invoke, limited, refused
from sparsetoken.base import files

POINTS = ["align", "--strength", "1,2"]


@pytest.fixture
def stores():
    pytest.importorskip("zarr")
    return pytest.importorskip("xarray")


@pytest.fixture
def counted(monkeypatch):
    """The settings that are computed."""
    from sparsetoken import theory

    done, align = [], theory.align
    monkeypatch.setattr(theory, "align", lambda *a, **k: done.append(1) or align(*a, **k))
    return done


@pytest.mark.parametrize("kind", ["folder", "file", "link", "missing parent"])
def test_arrays_replace_nothing_else(kind, tmp_path, stores, counted):
    out, real = tmp_path / "d.zarr", tmp_path / "d"
    if kind == "file":
        out.write_text("precious")
    elif kind == "missing parent":
        out = tmp_path / "none" / "d.zarr"
    else:
        folder = out if kind == "folder" else real
        folder.mkdir()
        (folder / "thesis.txt").write_text("precious")
        if kind == "link":
            out.symlink_to(real)
    before = sorted(tmp_path.rglob("*"))
    assert "--out must be" in refused(*POINTS, "--out", out)
    assert sorted(tmp_path.rglob("*")) == before
    assert not counted


@pytest.mark.parametrize("linked", [False, True])
def test_arrays_replace_earlier_ones(linked, tmp_path, stores):
    out = tmp_path / "d.zarr"
    if linked:
        (tmp_path / "real").mkdir()
        out.symlink_to(tmp_path / "real" / "d.zarr")
    for strengths in ("1,2", "3,4,5"):
        found = invoke("align", "--strength", strengths, "--out", out)
        assert found.exit_code == 0, found.stderr
    assert stores.open_zarr(out).strength.values.tolist() == [3, 4, 5]
    assert out.is_symlink() == linked
    assert [path.name for path in out.resolve().parent.iterdir()] == ["d.zarr"]


def test_what_is_named_like_an_unfinished_store_stays(tmp_path, stores):
    other = tmp_path / ".d.zarr.unfinished"
    other.mkdir()
    (other / "thesis.txt").write_text("precious")
    assert invoke(*POINTS, "--out", tmp_path / "d.zarr").exit_code == 0
    assert (other / "thesis.txt").read_text() == "precious"


def test_of_two_writers_of_a_store_the_last_one_wins_whole(tmp_path, stores, monkeypatch):
    """The second one writes while the first one does."""
    out, write = tmp_path / "d.zarr", files.write_file

    def interrupted(path, parts):
        monkeypatch.setattr(files, "write_file", write)
        assert invoke("align", "--strength", "3,4,5", "--out", out).exit_code == 0
        write(path, parts)

    monkeypatch.setattr(files, "write_file", interrupted)
    assert invoke(*POINTS, "--out", out).exit_code == 0
    assert stores.open_zarr(out).cosine.shape == (2,)
    assert [path.name for path in tmp_path.iterdir()] == ["d.zarr"]


@pytest.mark.parametrize(
    ("kept", "legal"),
    [("d.zarr", "a file other than the input"), ("d.zarr/kept", "no folder of an input")],
)
def test_arrays_do_not_replace_the_folder_of_kept_results(kept, legal, tmp_path, counted):
    said = refused(*POINTS, "--keep", tmp_path / kept, "--out", tmp_path / "d.zarr")
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


def test_files_are_checked_before_a_simulation(tmp_path, monkeypatch):
    from sparsetoken import simulation

    monkeypatch.setattr(simulation, "descend", None)
    words = ["descend", "--steps", "1", "--dimension", "20"]
    assert "--out must be" in refused(*words, "--out", tmp_path / "a.txt")


@pytest.mark.parametrize(
    "name", ["a.csv", "a.parquet", "a.nc", "a.zarr", "a.svg", "a.png", "a.pdf"]
)
def test_results_are_printed_where_a_disk_is_full(name, tmp_path, stores):
    expected = json.loads(invoke(*POINTS, "--json").stdout)
    option = "--plot" if name.endswith(("svg", "png", "pdf")) else "--out"
    path, kept = tmp_path / name, tmp_path / "kept"
    invoke(*POINTS, option, path, "--keep", kept)  # loads modules, which may write files
    shutil.rmtree(path) if path.is_dir() else path.unlink()
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
