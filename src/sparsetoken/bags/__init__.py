"""Bags of embeddings: many short lists of tokens, each with one label.

The forms are an array (n, L, d) with or without a mask, a list of arrays (L_i, d), and rows
with bag ids (arrays, pandas). `read` reads files, and `pack` concatenates those of large
bags. Inside, `Bags` hold one flat array and offsets.
"""

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_bags
from sparsetoken.bags.files import SkippedWarning, read
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.leaks import LeakWarning, find_leaks
from sparsetoken.bags.packed import pack
from sparsetoken.bags.tables import from_frame, from_long, to_frame

__all__ = [
    "Bags",
    "LabelledBags",
    "LeakWarning",
    "SkippedWarning",
    "as_bags",
    "find_leaks",
    "from_frame",
    "from_long",
    "pack",
    "read",
    "to_frame",
]
__dir__ = __all__.copy
