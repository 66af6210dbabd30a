"""Files that are written whole or not at all."""

import os

import pytest

from sparsetoken.base.files import require_place, written_whole
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
