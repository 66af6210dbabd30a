"""
Leave-one-out: a test error from the training set alone
=======================================================

What would the fit to all other samples say of this one? One Newton step for each
sample answers, without a second fit.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.losses import get_loss
from sparsetoken.numerics.leave_one_out import leave_one_out

# %%
# One training set: features of attention for 400 bags at dimension 200.

problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
model = st.Attention(st.Query(cosine=0.9, sharpness=1.0))
features, labels = st.simulation.draw_training_set(
    problem, model, 2.0, dimension=200
)

# %%
# The estimate at each ridge, from these samples alone, and the exact test error.

loss, ridges = "square", np.geomspace(1e-3, 3, 8)
estimates = [
    leave_one_out(features, labels, get_loss(loss), ridge) for ridge in ridges
]
readout = st.Readout(loss, ridge=ridges, alpha1=2.0)
exact = st.predict(problem, model, readout, tolerance=1e-3)

# %%
# Points share their 400 samples: they lie above or below the line together.

fig, ax = plt.subplots(layout="constrained")
exact.plot(ax=ax, label="exact")
ax.errorbar(
    ridges,
    [found.test_error for found in estimates],
    [found.standard_error for found in estimates],
    fmt="o",
    capsize=2,
    label="leave-one-out",
)
ax.set(ylim=(0, None))
ax.legend()
