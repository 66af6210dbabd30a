"""The files of --out and --plot: they are whole, and replace nothing but such files."""

import contextlib

import pytest

from command_line import invoke
from sparsetoken.cli import grid

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


def refused(*arguments):
    found = invoke(*arguments)
    assert (found.exit_code, found.stdout) == (2, ""), found
    assert len(found.stderr.splitlines()) == 1
    return found.stderr


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
    out, written = tmp_path / "d.zarr", grid.store_written_whole

    @contextlib.contextmanager
    def interrupted(path):
        monkeypatch.setattr(grid, "store_written_whole", written)
        with written(path) as aside:
            assert invoke("align", "--strength", "3,4,5", "--out", out).exit_code == 0
            yield aside

    monkeypatch.setattr(grid, "store_written_whole", interrupted)
    assert invoke(*POINTS, "--out", out).exit_code == 0
    assert stores.open_zarr(out).cosine.shape == (2,)
    assert [path.name for path in tmp_path.iterdir()] == ["d.zarr"]


@pytest.mark.parametrize("kept", ["d.zarr", "d.zarr/kept"])
def test_arrays_do_not_replace_the_folder_of_kept_results(kept, tmp_path, counted):
    said = refused(*POINTS, "--keep", tmp_path / kept, "--out", tmp_path / "d.zarr")
    assert "--out must be a file other than the input" in said
    assert not counted
