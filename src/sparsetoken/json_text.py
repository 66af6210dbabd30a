"""Values as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON: arrays become lists, and numbers that JSON lacks become null.

    Examples
    --------
    >>> from sparsetoken.json_text import json_text
    >>> json_text({"auc": float("nan"), "steps": (1, 2)})
    '{"auc": null, "steps": [1, 2]}'
    """
    return json.dumps(_plain(value), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
