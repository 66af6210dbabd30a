"""How the features of each model are sampled, a file for each."""

from __future__ import annotations

from sparsetoken.model.models import Model, entry_of
from sparsetoken.simulation.features.base import FeatureSampler

__all__ = ["FeatureSampler", "sampler_of"]


def sampler_of(model: Model) -> FeatureSampler:
    """Return what samples the features of a model.

    Raises
    ------
    InvalidInput
        If the model is not in the table.
    """
    sampler: FeatureSampler = entry_of(model).resolve("simulation")(model)
    return sampler
