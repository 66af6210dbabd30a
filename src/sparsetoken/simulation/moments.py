"""Means and standard errors of records, field by field."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["mean", "mean_error", "standard_error"]

Record = TypeVar("Record")


def mean(records: Sequence[Record]) -> Record:
    """Return the record of the means of each field; records may be nested."""
    return _fieldwise(lambda values: float(np.mean(values)), records)


def standard_error(records: Sequence[Record]) -> Record:
    """Return the record of the standard errors of the means; nan for one record."""
    return _fieldwise(mean_error, records)


def mean_error(values: Sequence[float] | np.ndarray) -> float:
    """Return sd / sqrt(n), the standard error of a mean; nan for one value."""
    n = len(values)
    return float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")


def _fieldwise(reduce: Callable[..., float], records: Sequence[Any]) -> Any:
    if not dataclasses.is_dataclass(records[0]):
        return reduce(records)
    names = [field.name for field in dataclasses.fields(records[0])]
    values = ([getattr(record, name) for record in records] for name in names)
    record: Any = type(records[0])
    return record(
        **{name: _fieldwise(reduce, value) for name, value in zip(names, values, strict=True)}
    )
