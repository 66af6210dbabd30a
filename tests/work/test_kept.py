"""Kept results: what is read is what was written, whatever happens to the files."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from broken_files import little_memory, writers_of
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.work import Kept, Result, WorkerDied, canonical_text, digest, kept

VALUES = {"one": Result({"x": 0.1}), "two": Result([1.0, None])}


class Some(NamedTuple):
    """A piece of work: its calls are their own values."""

    keys: tuple[str, ...]


def square(piece):
    return {key: Result(int(key) ** 2) for key in piece.keys}


def values(store):
    return {key: result.value for key, result in store.read().results.items()}


def place(store, content):
    """Put a file into a store under the name of its content."""
    store.folder.make()
    store.folder.write(f"{digest(content)}.json", content)


@pytest.fixture
def store(tmp_path):
    return Kept(tmp_path / "pieces")


@pytest.fixture
def only(store):
    """The path of the only file of a store."""
    store.folder.make()
    store.write(VALUES)
    (name,) = store.folder.names()
    return Path(store.folder.path, name)


def test_what_is_read_is_what_was_written(store):
    pieces = [Some(("1", "2")), Some(("3",))]
    told = list(store.fill(square, pieces))
    assert [{key: one.value for key, one in found.items()} for found in told] == [
        {"1": 1, "2": 4},
        {"3": 9},
    ]
    known = store.read()
    assert known.damaged == 0
    assert known.results == {key: one for found in told for key, one in found.items()}
    assert known.results["1"].environment["python"]
    assert known.results["1"].seconds == known.results["2"].seconds > 0
    assert store.read({"3", "5"}).results.keys() == {"3"}


def test_what_nobody_asked_for_is_neither_decoded_nor_removed(store):
    place(store, file_of(values={"1": "of another version"}, errors={}).encode())
    numbers = Kept(store.folder, float)
    assert numbers.read({"2"}, mend=True) == ({}, 0)
    assert len(store.folder.names()) == 1
    assert numbers.read({"1"}).damaged == 1


def test_equal_results_are_one_file_and_order_does_not_matter(store, only):
    store.write(VALUES)
    assert len(store.folder.names()) == 1
    for number in range(8):  # as runs at once may find a call to rounding
        store.write({"one": Result(number)})
    first = only.with_name(store.folder.names()[0])
    assert store.read().results["one"].value == json.loads(first.read_bytes())["values"]["one"]


def test_a_value_comes_before_an_error(store):
    store.folder.make()
    for number in range(4):
        store.write({"one": Result(error=f"no {number}"), "two": Result(error="no")})
    store.write({"one": Result(5.0)})
    known = store.read().results
    assert (known["one"].value, known["one"].error) == (5.0, "")
    assert (known["two"].value, known["two"].error) == (None, "no")


def test_a_key_is_that_of_a_text_in_one_order():
    assert canonical_text({"b": 1, "a": [2.0]}) == '{"a":[2.0],"b":1}'
    assert digest(canonical_text({"b": 1, "a": 2})) == digest(canonical_text({"a": 2, "b": 1}))
    assert digest("1") != digest("1.0")


def test_a_flipped_bit_is_noticed(store, only):
    whole = only.read_bytes()
    for bit in range(0, 8 * len(whole), 3):  # each byte and each place in a byte
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        only.write_bytes(content)
        assert store.read() == ({}, 1)
    only.write_bytes(whole)
    assert store.read().results.keys() == VALUES.keys()


@pytest.mark.parametrize("length", [0, 1, 50])
def test_a_cut_file_is_removed_and_its_calls_are_missing(store, only, length):
    os.truncate(only, length)
    assert store.read() == ({}, 1)
    assert store.read(mend=True) == ({}, 1)
    assert store.read() == ({}, 0)
    assert store.folder.names() == []


def test_a_file_in_the_place_of_another_is_damaged(store, only):
    store.write({"three": Result(3)})
    other = next(name for name in store.folder.names() if name != only.name)
    only.with_name(other).replace(only)
    assert store.read() == ({}, 1)


def file_of(**changes):
    whole = {"seconds": 1.0, "environment": {}, "values": {"a": 1.0}, "errors": {"b": "no"}}
    return json.dumps({**whole, **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "[]",
        "[" * 100_000,
        "9" * 5000,
        file_of(seconds="long"),
        file_of(seconds=10**400),
        file_of(seconds=None),
        file_of(environment=3),
        file_of(values=[1]),
        file_of(values={"a": "text"}),
        file_of(errors={"b": ""}),
        file_of(errors={"b": 3}),
        file_of(errors={"b": "\ud800"}),
        file_of(errors={"b": "\x1b[2J"}),
        file_of(errors={"b": "x" * 2001}),
        json.dumps({"values": {"a": 1.0}}),
    ],
    ids=range(17),
)
def test_a_foreign_file_of_the_right_name_gives_no_result(store, text):
    foreign = Kept(store.folder.path, decoded=float)
    place(foreign, text.encode())
    assert foreign.read() == ({}, 1)
    place(foreign, file_of().encode())
    assert foreign.read().results.keys() == {"a", "b"}


def test_files_of_other_names_are_not_read_and_stay(store, only):
    names = ("thesis.json", "0" * 20, ".one.json", f"{'0' * 20}.json.old")
    for name in names:
        store.folder.write(name, b"mine")
    assert store.read(mend=True).damaged == 0
    assert {*names} < {*store.folder.names()}


def test_a_file_above_the_largest_size_is_neither_read_nor_written(store, only):
    os.truncate(only, 1 << 32)  # of holes: no space on disk
    with little_memory(3 * kept.LARGEST):
        assert store.read() == ({}, 1)
    with pytest.raises(Failure, match=f"bytes of results; {kept.LARGEST} can be"):
        store.write({"one": Result("x" * kept.LARGEST)})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_place_of_a_file_is_not_opened(store, only):
    only.unlink()
    os.mkfifo(only)
    with writers_of(only) as opened, pytest.raises(InvalidInput, match=r"a pipe.*Remove it"):
        store.read()
    assert not opened


def test_a_folder_in_place_of_a_file_is_named(store, only):
    only.unlink()
    only.mkdir()
    with pytest.raises(InvalidInput, match=r"a folder.*Remove it"):
        store.read()
    only.rmdir()
    only.parent.rmdir()
    only.parent.touch()
    with pytest.raises(Failure, match="cannot be read or written: NotADirectoryError"):
        store.read()


def test_links_are_followed_to_regular_files_alone(store, only, tmp_path):
    only.replace(tmp_path / "aside")
    only.symlink_to(tmp_path / "aside")
    assert values(store).keys() == VALUES.keys()
    for target, expected in [
        (tmp_path / "nothing", contextlib.nullcontext()),
        ("/dev/zero", pytest.raises(InvalidInput, match="a device")),
        (only, pytest.raises(Failure, match="cannot be read")),
    ]:
        only.unlink()
        only.symlink_to(target)
        with expected:
            assert store.read() == ({}, 0)


def test_a_folder_that_is_removed_ends_the_work(store):
    work = store.fill(square, [Some((str(n),)) for n in range(3)])
    next(work)
    for name in store.folder.names():
        store.folder.remove(name)
    os.rmdir(store.folder.path)
    with pytest.raises(Failure, match="pieces cannot be read or written: FileNotFoundError"):
        next(work)
    assert not os.path.exists(store.folder.path)
    assert store.read() == ({}, 0)


def test_a_full_disk_is_one_message_and_leaves_whole_files(store, monkeypatch):
    list(store.fill(square, [Some(("1",))]))

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sparsetoken.base.files.os.fsync", full)
    with pytest.raises(Failure, match="No space left") as caught:
        list(store.fill(square, [Some(("2",))]))
    assert "\n" not in str(caught.value)
    assert values(store) == {"1": 1}
    assert len(store.folder.names()) == 1


def test_a_piece_that_killed_its_workers_has_an_error_for_each_call(store, monkeypatch):
    died = iter([(Some(("1", "2")), WorkerDied("It died."))])
    monkeypatch.setattr(kept, "completed", lambda *_: died)
    (found,) = store.fill(square, [])
    for results in (found, store.read().results):
        assert {key: one.error for key, one in results.items()} == {
            "1": "It died.",
            "2": "It died.",
        }


def test_an_error_is_kept_as_a_line_that_a_terminal_shows(store):
    store.folder.make()
    store.write({"one": Result(error="a\n\x1b[2J" + "b" * 3000)})
    told = store.read().results["one"].error
    assert told.startswith("a  [2Jbbb")
    assert len(told) == 2000


def test_a_url_of_fsspec_is_a_folder():
    fsspec = pytest.importorskip("fsspec")
    store = Kept("memory://kept/pieces")
    assert store.read() == ({}, 0)
    list(store.fill(square, [Some(("1", "2")), Some(("3",))]))
    assert values(store) == {"1": 1, "2": 4, "3": 9}
    memory = fsspec.filesystem("memory")
    name = f"/kept/pieces/{store.folder.names()[0]}"
    memory.pipe_file(name, memory.cat_file(name)[1:])
    assert store.read(mend=True).damaged == 1
    assert store.read().damaged == 0
    assert len(store.folder.names()) == 1
    memory.rm("/kept", recursive=True)


def test_what_the_library_of_a_bucket_raises_is_one_message(monkeypatch):
    store = Kept("memory://kept")

    def broken(*_, **__):
        raise RuntimeError("no\nconnection")

    monkeypatch.setattr(store.folder._remote, "ls", broken)
    with pytest.raises(Failure, match=r"memory://kept cannot be .*: no connection"):
        store.read()


@pytest.mark.parametrize(("path", "words"), [("", "a folder, or a URL"), ("none://x", "none")])
def test_places_that_are_refused(path, words):
    with pytest.raises(InvalidInput, match=words):
        Kept(path)


WRITER = """
import sys
from sparsetoken.work import Kept, Result
store = Kept(sys.argv[1])
store.folder.make()
for number in range(100_000):
    store.write({str(number): Result(["x" * 10_000] * 10)})
    print(number, flush=True)
"""


def test_a_writer_may_be_killed_at_any_moment(store, tmp_path):
    (tmp_path / "writer.py").write_text(WRITER)
    command = [sys.executable, str(tmp_path / "writer.py"), store.folder.path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(50):
            told = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            told = line
    known = store.read()
    assert known.damaged == 0
    assert len(known.results) - int(told) - 1 in (0, 1)  # one may be kept and not yet told
