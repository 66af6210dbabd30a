"""
A model of your own
===================

A class, a law and a sampler: theory, simulation and sweeps then know it. Here the two tokens with
the largest scores share the weight.
"""

import dataclasses
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.models import ModelEntry, QueriedModel, register
from sparsetoken.simulation.features.queried import QueriedSampler
from sparsetoken.theory import TokenFeatures, sampled_law


@dataclasses.dataclass(frozen=True)
class TopTwo(QueriedModel):
    """The mean of the two tokens with the largest scores."""

    name: ClassVar[str] = "top_two"


def weights(scores):
    """Return 1/2 for the two largest of each row."""
    chosen = np.zeros_like(scores)
    np.put_along_axis(chosen, np.argsort(scores, axis=-1)[..., -2:], 0.5, axis=-1)
    return chosen


def law(model, problem, query, points):
    """Return the law of the features."""
    return sampled_law(TokenFeatures(problem, query, weights, sees_mean=False), points)


class Sampler(QueriedSampler):
    """Draws the features."""

    def weights(self, scores):
        """Return the weights of the tokens."""
        return weights(scores)


register(ModelEntry(TopTwo, theory=law, simulation=Sampler, summary="the two largest scores"))

problem = st.SparseTokenProblem(length=6, strength=4.0)
cosines = np.array([0.4, 0.6, 0.8, 0.95])
fig, ax = plt.subplots(layout="constrained")
for kind in (TopTwo, st.Attention):
    model = kind(st.Query(cosine=cosines, sharpness=1.0))
    st.predict(problem, model, tolerance=5e-3).plot(ax=ax)
    ax.lines[-1].set_label(kind.name)
    st.simulate(problem, model, dimension=100, trials=4).plot(ax=ax)
ax.set(xlabel="cosine of query and signal", ylabel="test error")
ax.legend()
