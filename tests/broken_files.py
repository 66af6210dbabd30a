"""Files that are broken: not what their names say, cut, or written by hand."""

import io
import os
import struct
import threading
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

TOKENS = np.random.default_rng(0).standard_normal((12, 3, 2))
Y = np.arange(12) % 2
PLAIN = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n"


def npy(header: str, body: bytes = b"") -> bytes:
    """Return a member of an .npz file with this header."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


# Members of .npz files in place of good ones, and a word of the refusal.
MEMBERS: dict[str, tuple[dict[str, bytes], str]] = {
    "no array": ({"X": b"hello"}, "array X must be an array"),
    "labels that are no array": ({"y": b""}, "array y must be an array"),
    "open bracket": ({"X": npy("((((\n")}, "TokenError"),
    "no type": ({"X": npy(PLAIN.replace("<f8", ",") % "(1,)")}, "SyntaxError"),
    "record": (
        {"y": npy(PLAIN.replace("'<f8'", "[('a', '<U1')]") % "(12,)", b"a\0\0\0" * 12)},
        "array y must be of texts",
    ),
    "more numbers than there are": ({"X": npy(PLAIN % "(1000,)")}, "EOF"),
}


def write_npz(path: Path, **members: bytes) -> Path:
    """Write the good bags with other members in their place."""
    good = {name: _npy_of(array) for name, array in (("X", TOKENS), ("y", Y))}
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in {**good, **members}.items():
            packed.writestr(f"{name}.npy", content)
    return path


def _npy_of(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def cut(path: Path, cases: int = 12) -> Iterator[Path]:
    """Cut a file at several places, from the first byte to the last but one."""
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, cases).astype(int).tolist():
        path.write_bytes(whole[:length])
        yield path


def flipped(path: Path, values: np.ndarray) -> Path:
    """Flip a bit of an array in a file, in which it stands as it is in memory."""
    whole, content = path.read_bytes(), values.tobytes()
    assert whole.count(content) == 1
    path.write_bytes(whole.replace(content, bytes([content[0] ^ 1]) + content[1:]))
    return path


@contextmanager
def little_memory(most: float = 20e6) -> Iterator[None]:
    """Check that no more memory than that, in bytes, is taken at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@contextmanager
def writers_of(pipe: Path) -> Iterator[list[bool]]:
    """Open a pipe for whoever waits for it, who reads nothing, and keep that it was opened."""
    opened: list[bool] = []
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(0.05):
            with suppress(OSError):  # nobody waits
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                opened.append(True)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield opened
    finally:
        ended.set()
        thread.join()
