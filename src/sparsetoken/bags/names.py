"""What the names of arrays and columns say: which are tokens, and which are where tokens lie."""

from __future__ import annotations

import re
from collections.abc import Collection

TOKENS, OFFSETS, IDS, LABEL, GROUPS = "tokens", "offsets", "ids", "y", "groups"
COORDINATES, COLUMNS = "coordinates", "columns"
"""The arrays of a packed folder, each in an .npy file of its own; the last four may be absent."""

_PLACE = re.compile(
    r"(coords?|coordinates?|positions?|pos|locations?|locs?|centroids?|centers?|centres?|xy|yx|xyz"
    r"|pixels?|px|bbox(es)?)"
)
_TOKENS = re.compile(r"(features?|feats?|embeddings?|embeds?|emb|tokens?|instances?)")
_AXES = ({"x", "y"}, {"row", "col"}, {"row", "column"}, {"i", "j"})


def _words(name: str) -> list[str]:
    """Return the words of a name, of which ``patchCoords_20x`` has patch, coords and x."""
    return re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())


def is_place(name: str) -> bool:
    """Whether a name is that of coordinates; of an array in groups the last part counts."""
    return any(_PLACE.fullmatch(word) for word in _words(name.rsplit("/", 1)[-1]))


def is_of_coordinates(name: str) -> bool:
    """Whether a name says coordinates in this word; of an array in groups the last part counts."""
    return name.rpartition("/")[2].lower().startswith("coord")


def is_of_tokens(name: str) -> bool:
    """Whether a name is that of embeddings; of an array in groups the last part counts."""
    last = name.rsplit("/", 1)[-1]
    return any(_TOKENS.fullmatch(word) for word in _words(last)) and not is_place(last)


def places(used: Collection[str], beside: Collection[str] = ()) -> list[str]:
    """Return the used columns that say where a token lies, of all that a table has beside them.

    One named x alone may be any number; one with a column y is an axis.
    """
    every = {name.lower() for name in (*used, *beside)}
    axes = set().union(*(pair for pair in _AXES if pair <= every))
    return [name for name in used if name.lower() in axes or is_place(name)]
