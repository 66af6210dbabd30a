"""Files that are written whole or not at all."""

import os
from pathlib import Path

import pytest

from sparsetoken.base.files import require_place, store_written_whole, written_whole
from sparsetoken.base.validation import InvalidInput


def test_a_file_takes_its_place_at_the_end(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with written_whole(path) as aside:
        aside.write_text("new")
        assert aside.suffix == ".csv"
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_what_was_there_and_nothing_beside_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def fail(aside):
        aside.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), written_whole(path) as aside:
        fail(aside)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_the_mode_is_the_usual_one(tmp_path):
    path, link = tmp_path / "t.csv", tmp_path / "link.csv"
    path.touch()
    link.symlink_to(path)
    with written_whole(link) as aside:
        aside.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("in.csv", "a file other than the input"),
        (".", "the folder"),
        ("no/t.csv", "writable folder"),
        ("pipe", "the pipe, device or socket"),
    ],
)
def test_places_that_are_refused(name, words, tmp_path):
    (tmp_path / "in.csv").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match=words):
        require_place("--out", tmp_path / name, tmp_path / "in.csv")


def test_a_missing_folder_is_told_with_the_path_that_was_given(tmp_path):
    path = tmp_path / "missing" / "model.skops"
    with pytest.raises(FileNotFoundError) as caught, written_whole(path):
        pass
    assert caught.value.filename == str(path)


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="a regular file"), written_whole(tmp_path / "link"):
        pass
    assert (tmp_path / "pipe").is_fifo()


def store(path, text):
    path.mkdir()
    (path / "zarr.json").write_text(text)


def test_a_folder_that_came_meanwhile_and_is_no_store_stays(tmp_path):
    path = tmp_path / "d.zarr"

    def come(aside):
        store(aside, "new")
        path.mkdir()
        (path / "thesis.txt").write_text("precious")

    with pytest.raises(OSError, match="no zarr group"), store_written_whole(path) as aside:
        come(aside)
    assert (path / "thesis.txt").read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_a_store_that_comes_at_the_last_moment_is_replaced(tmp_path, monkeypatch):
    path, rename, came = tmp_path / "d.zarr", Path.rename, []

    def late(this, to):
        if to == path and not came:
            came.append(1)
            store(path, "other")
        return rename(this, to)

    store(path, "old")
    with store_written_whole(path) as aside:
        store(aside, "new")
        monkeypatch.setattr(Path, "rename", late)
    assert came
    assert (path / "zarr.json").read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_a_store_unchanged(tmp_path):
    path = tmp_path / "d.zarr"
    store(path, "old")

    def fail(aside):
        store(aside, "half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), store_written_whole(path) as aside:
        fail(aside)
    assert (path / "zarr.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
