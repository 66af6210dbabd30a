"""Untrusted files: damage ends in one message, and the unpacked size is checked first."""

from __future__ import annotations

import contextlib
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sparsetoken.base.machine import machine_memory
from sparsetoken.base.validation import Failure, InvalidInput, one_line

LARGEST_SHARE = 1 / 3  # of the memory of the machine, for what a file unpacks to: it is copied once
LONGEST_REASON = 200  # characters; NumPy quotes a header of any length
LARGEST_NUMBER = 8  # bytes, also of the integers that become floats

_END = struct.Struct("<4s6xH10x")  # of a zip file: a mark, and how many members there are


@contextlib.contextmanager
def refused(name: str, legal: str, path: Path) -> Iterator[None]:
    """Turn whatever a package raises while it reads a file into one `InvalidInput`.

    The types are not listed: a damaged file takes a reader to places that its authors did not
    foresee. Only calls of such readers stand inside, so that errors of this package are not hidden.
    """
    try:
        yield
    except (InvalidInput, Failure):
        raise
    except Exception as error:
        raise unreadable(name, legal, path, error) from None


def unreadable(name: str, legal: str, path: Path, error: Exception) -> InvalidInput:
    """Return the error for a file whose reader failed."""
    reason = one_line(error).removesuffix(":")
    return InvalidInput(name, legal, str(path), reason[:LONGEST_REASON])


def check_unpacked(path: Path, size: int, remedy: str = "") -> None:
    """Refuse a file that would exhaust the memory, before it is unpacked."""
    largest = int(LARGEST_SHARE * machine_memory())
    if size > largest:
        legal = f"that unpacks to at most {largest / 1e9:.1f} GB, a third of the memory"
        raise InvalidInput(f"FILE {path.name}", legal, f"{size / 1e9:.1f} GB", remedy)


def padded_size(shape: Sequence[int], chunks: Sequence[int]) -> int:
    """Return the bytes of all chunks of an array, of which those at the edges are whole."""
    return LARGEST_NUMBER * math.prod(-(-n // c) * c for n, c in zip(shape, chunks, strict=True))


def check_inflated(content: bytes, most: int) -> None:
    """Raise `ValueError` if a gzip or zlib stream has more bytes, or is not the only one."""
    stream = zlib.decompressobj(wbits=47)  # with either header
    if len(stream.decompress(content, most + 1)) > most or stream.unused_data:
        raise ValueError(f"a chunk unpacks to more than the {most} bytes of its array")


def members_of(path: Path, packed: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members of a zip file, whose declared sizes bound what is read of them.

    That does not hold for the methods bzip2 and LZMA, which Python unpacks a block at once.
    Python does not count the members: a flipped bit in the directory could hide one.
    """
    members = packed.infolist()
    with path.open("rb") as file:
        file.seek(-_END.size, os.SEEK_END)
        mark, count = _END.unpack(file.read())[:2]
    if mark == b"PK\5\6" and count not in (len(members) % 2**16, 2**16 - 1):  # or it is elsewhere
        legal = "a zip file whose directory is whole"
        raise InvalidInput(f"FILE {path.name}", legal, f"{len(members)} members of {count}")
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            got = f"the method {member.compress_type} for {member.filename}"
            raise InvalidInput(f"FILE {path.name}", "a zip file that is stored or deflated", got)
        packed.open(member).close()  # its name is in two places: a damaged one is not overlooked
    return {member.filename: member for member in members}


def check_text(name: str, array: np.ndarray) -> None:
    """Refuse texts with invalid code points, which Python cannot decode or print."""
    if array.dtype.kind != "U" or not array.nbytes:
        return
    codes = array.reshape(-1).view(array.dtype.byteorder + "u4")
    wrong = codes[(codes > 0x10FFFF) | (codes >> 11 == 0xD800 >> 11)]
    if len(wrong):
        legal = "of Unicode texts, of code points to 0x10FFFF without 0xD800 to 0xDFFF"
        raise InvalidInput(name, legal, hex(wrong[0]))
