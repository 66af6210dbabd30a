"""
A model of your own
===================

A class, the law of its features and a sampler: theory, simulation and sweeps then
know the model. Here the two tokens with the largest scores share the weight.
"""

import dataclasses
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.model import ModelEntry, QueriedModel, register
from sparsetoken.simulation.features.queried import QueriedSampler
from sparsetoken.theory import TokenFeatures, sampled_law

# %%
# The model is a value that has a query, as attention has.


@dataclasses.dataclass(frozen=True)
class TopTwo(QueriedModel):
    """The mean of the two tokens with the largest scores."""

    name: ClassVar[str] = "top_two"


# %%
# What it does: weights of the tokens, from their scores under the query.


def weights(scores):
    """Return 1/2 for the two largest of each row."""
    chosen = np.zeros_like(scores)
    largest = np.argsort(scores, axis=-1)[..., -2:]
    np.put_along_axis(chosen, largest, 0.5, axis=-1)
    return chosen


# %%
# Theory needs the law of the pooled features, simulation a way to draw them.


def law(model, problem, query, points):
    """Return the law of the features."""
    features = TokenFeatures(problem, query, weights, sees_mean=False)
    return sampled_law(features, points)


class Sampler(QueriedSampler):
    """Draws the features."""

    def weights(self, scores):
        """Return the weights of the tokens."""
        return weights(scores)


summary = "the two largest scores"
register(ModelEntry(TopTwo, theory=law, simulation=Sampler, summary=summary))

# %%
# Lines are theory, points are simulations.

problem = st.SparseTokenProblem(length=6, strength=4.0)
cosines = np.array([0.4, 0.6, 0.8, 0.95])
fig, ax = plt.subplots(layout="constrained")
for kind in (st.Attention, TopTwo):
    model = kind(st.Query(cosine=cosines, sharpness=1.0))
    predicted = st.predict(problem, model, tolerance=5e-3)
    predicted.plot(ax=ax, label=kind.name)
    measured = st.simulate(problem, model, dimension=100, trials=4)
    measured.plot(ax=ax, label=kind.name)
