"""
A model of your own
===================

A model is a network with a query, and a network is a class with a method that
returns the weights of the tokens. Theory and simulation can then use it. Here
the two tokens with the largest scores share the weight.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# The network computes the weights of the tokens from their scores under the
# query. The model has a query, as attention has, and this network.


class LargestTwo(st.networks.QueryNetwork):
    """The mean of the two tokens with the largest scores."""

    trainable = False  # by descent: the weights jump

    def weights(self, scores):
        """Return 1/2 for the two largest of each row."""
        chosen = np.zeros_like(scores)
        largest = np.argsort(scores, axis=-1)[..., -2:]
        np.put_along_axis(chosen, largest, 0.5, axis=-1)
        return chosen


class TopTwo(st.model.QueriedModel):
    """The model with this network."""

    name = "top_two"
    network = LargestTwo()


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
