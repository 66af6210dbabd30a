"""Seeds of simulated places: hashes of names and whole numbers, the same on every machine."""

from __future__ import annotations

import hashlib
import json

from sparsetoken.validation import InvalidInput

__all__ = ["place_seed"]


def place_seed(*parts: str | int) -> int:
    """Return a seed below 2^63, a hash of what declares a place.

    Places that are compared with one another take the same seed: they then share their
    random numbers, and their difference varies less than either.

    Parameters
    ----------
    *parts : str or int
        The experiment, the list and the number of the place in it, and the user's seed. A
        computed number has no place here: it differs in its last digit between machines.

    Raises
    ------
    InvalidInput
        If a part is neither a text nor a whole number.
    """
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (str, int)):
            raise InvalidInput("part of a seed", "a text or a whole number", part)
    digest = hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
