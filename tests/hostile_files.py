"""Files that nobody should have: written by hand, or damaged by chance."""

import io
import json
import os
import random
import struct
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

TOKENS = np.random.default_rng(0).standard_normal((12, 3, 2))
Y = np.arange(12) % 2
PLAIN = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n"
TEXT = "{'descr': '<U1', 'fortran_order': False, 'shape': (12,), }\n"


def npy(header: str, body: bytes = b"") -> bytes:
    """Return a member of an .npz file with this header."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


def _texts(code: int) -> bytes:
    """Return labels, of which every second one has this code point."""
    return npy(TEXT, struct.pack("<II", 97, code) * 6)


# Members of .npz files in place of good ones, and a word of the refusal.
MEMBERS: dict[str, tuple[dict[str, bytes], str]] = {
    "no array": ({"X": b"hello"}, "array X must be an array"),
    "labels that are no array": ({"y": b""}, "array y must be an array"),
    "open string": ({"X": npy("{'descr': '''<f8\n")}, "TokenError"),
    "open bracket": ({"X": npy("((((\n")}, "TokenError"),
    "no type": ({"X": npy(PLAIN.replace("<f8", ",") % "(1,)")}, "SyntaxError"),
    "record": (
        {"y": npy(PLAIN.replace("'<f8'", "[('a', '<U1')]") % "(12,)", b"a\0\0\0" * 12)},
        "y",
    ),
    "deep": ({"X": npy("-" * 9000 + "1\n")}, "MemoryError"),
    "shape above 2^63": ({"X": npy(PLAIN % f"({2**70}, 3, 2)")}, "OverflowError"),
    "empty shape above 2^63": ({"X": npy(PLAIN % f"(0, {2**64})")}, "OverflowError"),
    "shape of 2^63": ({"X": npy(PLAIN % f"({2**63},)")}, "can be read"),
    "shape whose product is 0 in 64 bits": ({"X": npy(PLAIN % f"({2**32}, {2**32})")}, "reshape"),
    "more numbers than there are": ({"X": npy(PLAIN % "(1000000,)")}, "EOF"),
    "code point above 0x10FFFF": ({"y": _texts(0x110000)}, "0x110000"),
    "code point of 32 bits": ({"y": _texts(2**32 - 1)}, "0xffffffff"),
    "surrogate": ({"y": _texts(0xD800)}, "0xd800"),
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


def _columns(**more: object) -> Callable[[dict], dict]:
    return lambda told: {**told, "columns": [{**one, **more} for one in told["columns"]]}


# What stands in a Parquet file for pandas: bytes, or a function of what should stand there.
METADATA: dict[str, bytes | Callable[[dict], object]] = {
    "no JSON": b"{nope",
    "no UTF-8": b"\xff\xfe",
    "deep": b"[" * 100000,
    "number": b"3",
    "empty": b"{}",
    "index that is missing": lambda told: {**told, "index_columns": ["nothere"]},
    "index of odd kind": lambda told: {**told, "index_columns": [{"kind": "odd"}]},
    "index of a mapping": lambda told: {**told, "index_columns": {"a": 1}},
    "range above 2^63": lambda told: {
        **told,
        "index_columns": [{"kind": "range", "name": None, "start": 0, "stop": 10**30, "step": 1}],
    },
    "columns that are numbers": lambda told: {**told, "columns": [1]},
    "intervals": _columns(numpy_type="interval[int64]"),
    "unknown type": _columns(numpy_type="odd"),
    "one name": _columns(name=None),
    "names that are no decimals": lambda told: {
        **told,
        "column_indexes": [
            {"name": "x", "field_name": "x", "pandas_type": "decimal", "numpy_type": "object"}
        ],
    },
}


def write_parquet(path: Path, told: bytes | Callable[[dict], object] | None = None) -> Path:
    """Write the good bags as Parquet without checksums, with other metadata for pandas."""
    import pandas
    import pyarrow
    from pyarrow import parquet

    frame = pandas.DataFrame(TOKENS.reshape(36, 2), columns=["0", "1"])
    frame = frame.assign(bag=np.repeat(range(12), 3), label=np.repeat(np.where(Y, "yes", "no"), 3))
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    if callable(told):
        told = json.dumps(told(json.loads(table.schema.metadata[b"pandas"]))).encode()
    if told is not None:
        table = table.replace_schema_metadata({b"pandas": told})
    parquet.write_table(table, path)
    return path


def damaged(whole: bytes, cases: int = 60) -> Iterator[bytes]:
    """Return a file with one bit flipped, or, one time in four, cut."""
    chance = random.Random(0)
    for case in range(cases):
        place = chance.randrange(len(whole))
        if case % 4 == 3:
            yield whole[:place]
        else:
            flipped = bytes([whole[place] ^ 1 << chance.randrange(8)])
            yield whole[:place] + flipped + whole[place + 1 :]


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
