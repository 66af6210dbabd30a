"""Packed bags: a folder with the concatenated tokens of many files, read as a memory map.

A fit passes over the tokens about 30 times. Laid out in one array once, they are read at the
speed of the disk, or from the cache of the system, and are never in memory as a whole.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.files import loaded
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.npz import NAMES, TOKENS
from sparsetoken.bags.options import Options, is_name
from sparsetoken.bags.slides import npy
from sparsetoken.base.files import path_of, write_file
from sparsetoken.base.validation import InvalidInput


def pack(source: str | Path | Sequence[str | Path], to: str | Path, **options: Any) -> Path:
    """Concatenate the tokens of many files in a folder that `read` opens as a memory map.

    Of files with a bag each one is in memory at a time. Shapes are compared before anything is
    written; the folder takes its place when it is complete, and an error leaves nothing.

    Parameters
    ----------
    source : path, or list of paths
        As of `read`; a table or an .npz file is in memory once.
    to : path
        The folder to write, which must not be there yet. It takes as much disk as the tokens.
    **options
        The parameters of `read`. Where each file is a bag, ``labels=None`` packs no labels.

    Returns
    -------
    Path
        That of the folder: ``tokens.npy`` (N, d), ``offsets.npy`` (n + 1,), ``ids.npy`` (n,) and,
        with labels, groups, coordinates and named columns, ``y.npy`` (n,), ``groups.npy`` (n,),
        ``coordinates.npy`` (N, k) and ``columns.npy`` (d,). ``names.npy`` has the columns that
        labels and groups were named by, so that `read` finds them by these too. Float16 becomes
        float32, integers float64.

    Raises
    ------
    InvalidInput
        As `read`; or if the folder is there already, or the disk is too small.

    See Also
    --------
    read : Bags from a file.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from sparsetoken.bags import pack, read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, size in (("tumour_1", 3), ("normal_1", 2)):
    ...         np.save(Path(folder) / f"{name}.npy", np.ones((size, 4), np.float32))
    ...     packed = pack(folder, folder + ".bags", labels={"tumour_1": 1, "normal_1": 0})
    >>> bags, y, ids = read(packed)
    >>> bags, y.tolist(), ids.tolist()
    (Bags(2 bags of 2 to 3 tokens, d = 4, float32), [0, 1], ['normal_1', 'tumour_1'])
    >>> import shutil
    >>> shutil.rmtree(packed)
    """
    folder = path_of("to", to)
    if folder.exists():
        raise InvalidInput("to", "a path that is not there yet", str(folder), "Name another one.")
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise InvalidInput("to", "in a folder that is there", str(folder))
    aside = parent / f".{folder.name}.{secrets.token_hex(4)}"
    try:
        aside.mkdir()
        asked = Options(**options)
        found = loaded(source, asked, aside)
        named = [str(one or "") if is_name(one) else "" for one in (asked.labels, asked.groups)]
        for name, values in {**_arrays(found), NAMES: np.array(named)}.items():
            if not (aside / f"{name}.npy").exists():
                write_file(aside / f"{name}.npy", npy(values.shape, values.dtype, [values]))
        del found  # and its map
        aside.rename(folder)
    except OSError as error:
        remedy = f"{error.strerror or error}: nothing was written."
        raise InvalidInput("to", "a folder that can be written", str(folder), remedy) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # gone already where all went well
    return folder


def _arrays(found: LabelledBags) -> dict[str, np.ndarray]:
    """Return what a folder keeps of labelled bags, by the names of its files."""
    bags = found.bags
    every = {
        TOKENS: bags.tokens,
        "offsets": bags.offsets,
        "ids": found.ids,
        "y": found.y if len(found.y) else None,
        "groups": found.groups,
        "coordinates": bags.coordinates,
        "columns": None if bags.feature_names is None else np.array(bags.feature_names),
    }
    return {name: one for name, one in every.items() if one is not None}
