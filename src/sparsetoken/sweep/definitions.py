"""The losses and models of a sweep that are not part of this package."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Any

import cloudpickle

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss
from sparsetoken.model.models import MODELS, Model, ModelEntry


def outside_models(names: Collection[str | None]) -> tuple[ModelEntry, ...]:
    """Return the entries of those of the named models that are not part of this package."""
    entries = [MODELS[name] for name in names if name is not None and name in MODELS]
    return tuple(entry for entry in entries if entry.kind.__module__ != Model.__module__)


@dataclasses.dataclass(frozen=True)
class Definitions:
    """Losses by their labels, and models, which other processes do not know by name.

    They are pickled by cloudpickle, so that classes and functions of a script or a notebook
    can be sent. A process that receives them reads them when they are first needed: an error
    then belongs to the rows that need them, and does not end the process.
    """

    losses: Mapping[str, Loss]
    models: tuple[ModelEntry, ...] = ()
    pickled: bytes = b""  # of definitions from another process

    def known(self) -> Definitions:
        """Return the definitions, whose models are in the table from here on."""
        found = _read(self.pickled) if self.pickled else self
        for entry in found.models:
            MODELS.setdefault(entry.name, entry)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.losses and not self.models:
            return Definitions, ({}, (), self.pickled)
        try:
            return Definitions, ({}, (), cloudpickle.dumps((dict(self.losses), self.models)))
        except InvalidInput:  # of a loss
            raise
        except Exception as error:
            names = ", ".join(entry.name for entry in self.models)
            got = f"{names}, which cannot be ({type(error).__name__}: {error})"
            raise InvalidInput("model", "one that can be pickled", got) from None


NOTHING = Definitions({})


@functools.lru_cache(maxsize=16)
def _read(pickled: bytes) -> Definitions:
    try:
        return Definitions(*cloudpickle.loads(pickled))
    except Exception as error:
        legal = "of definitions that can be read in every process"
        remedy = "Define them in the script, or in a module that workers can import."
        raise InvalidInput("sweep", legal, f"{type(error).__name__}: {error}", remedy) from None
