"""Files that are written whole or not at all."""

import errno
import os

import pytest

from command_line import limited
from sparsetoken.base.files import require_place, write_whole
from sparsetoken.base.validation import InvalidInput


def test_a_file_takes_its_place(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    write_whole(path, b"new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("size", [5000, 50_000])  # less and more than what Python gathers
def test_a_full_disk_leaves_what_was_there_and_nothing_beside_it(tmp_path, size):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with limited(4096), pytest.raises(OSError, match="File too large") as caught:
        write_whole(path, bytes(size))
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_disk_has_lost_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda number: os.ftruncate(number, 2))
    with pytest.raises(OSError, match="The disk has 2 of 3 bytes") as caught:
        write_whole(tmp_path / "t.csv", b"new")
    assert caught.value.errno == errno.EIO
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link_and_the_mode_is_the_usual_one(tmp_path):
    path, link = tmp_path / "t.csv", tmp_path / "link.csv"
    path.touch()
    link.symlink_to(path)
    write_whole(link, b"new")
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
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(path, b"")
    assert caught.value.filename == str(path)


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="a regular file"):
        write_whole(tmp_path / "link", b"")
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_that_leads_to_itself_is_no_place_to_write(tmp_path):
    link = tmp_path / "loop.csv"
    link.symlink_to(link)
    with pytest.raises(InvalidInput, match="--out must be a path without a loop of links"):
        require_place("--out", link)
