"""What the names of arrays and columns say: which are tokens, and which are where tokens lie."""

from __future__ import annotations

import re

TOKENS, OFFSETS, IDS, LABEL, GROUPS = "tokens", "offsets", "ids", "y", "groups"
COORDINATES, COLUMNS = "coordinates", "columns"
"""The arrays of a packed folder, each in an .npy file of its own; the last four may be absent."""

_PLACE = re.compile(
    r"(coords?|coordinates?|positions?|pos|locations?|locs?|centroids?|centers?|centres?|xy|yx|xyz"
    r"|pixels?|px|bbox(es)?)"
)
_TOKENS = re.compile(r"(features?|feats?|embeddings?|embeds?|emb|tokens?|instances?)")


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
