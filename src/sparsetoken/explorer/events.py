"""What the views share: events, each a dict that JSON can carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Events = Iterator[dict[str, Any]]
"""A stream is a generator: when its reader stops, nothing more is computed."""
BAYES_POINTS = 256
"""Of the Bayes-optimal error."""


def named(result: Any, *names: str) -> dict[str, Any]:
    """Return some quantities of a result by their names."""
    return {name: getattr(result, name) for name in names}
