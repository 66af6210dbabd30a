"""Means and standard errors of records, field by field."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

Record = TypeVar("Record")


def mean(records: Sequence[Record]) -> Record:
    """Return the record of the means of each field; records may be nested."""
    return _fieldwise(lambda values: float(np.mean(values)), records)


def standard_error(records: Sequence[Record]) -> Record:
    """Return the record of the standard errors of the means; nan for one record."""
    return _fieldwise(_mean_error, records)


def _mean_error(values: Sequence[float]) -> float:
    """Return sd / sqrt(n)."""
    n = len(values)
    return float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")


def _fieldwise(reduce: Callable[..., float], records: Sequence[Any]) -> Any:
    if not dataclasses.is_dataclass(records[0]):
        return reduce(records)
    names = [field.name for field in dataclasses.fields(records[0])]
    kind: Any = type(records[0])
    return kind(**{name: _fieldwise(reduce, [getattr(r, name) for r in records]) for name in names})
