"""Bags of embeddings: many short lists of tokens, each with one label.

The forms are an array (n, L, d) with or without a mask, a list of arrays (L_i, d), and rows
with bag ids (arrays, pandas). `read` reads files. Inside, `Bags` hold one flat array and offsets.
"""

from sparsetoken.bags.container import Bags, Padded
from sparsetoken.bags.convert import as_bags
from sparsetoken.bags.files import LabelledBags, read
from sparsetoken.bags.long_form import (
    IdentifiedBags,
    LongForm,
    from_frame,
    from_long,
    to_frame,
    to_long,
    token_order,
    write_parquet,
)
from sparsetoken.bags.separation import SeparatingColumn, separating_columns

__all__ = [
    "Bags",
    "IdentifiedBags",
    "LabelledBags",
    "LongForm",
    "Padded",
    "SeparatingColumn",
    "as_bags",
    "from_frame",
    "from_long",
    "read",
    "separating_columns",
    "to_frame",
    "to_long",
    "token_order",
    "write_parquet",
]
