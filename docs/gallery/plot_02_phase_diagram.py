"""
Phase diagram: who wins where
=============================

The lead of attention over mean pooling, in points of test error, over the number of labels and
the strength of the signal. Few labels for the query and a weak signal favour pooling.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

strengths, loads = np.linspace(1, 6, 8), np.geomspace(0.25, 8, 8)
problem = st.SparseTokenProblem(length=5, informative=2, strength=strengths[:, None])
readout = st.Readout("logistic", ridge=1e-2, alpha=loads[None, :])
attention = st.Attention(st.TwoSteps(alpha=0.3))
lead = (
    st.predict(problem, st.Pooled(), readout, tolerance=5e-3).test_error
    - st.predict(problem, attention, readout, tolerance=5e-3).test_error
)

# %%
# Blue: attention is better. Red: pooling is.

fig, ax = plt.subplots(layout="constrained")
shown = ax.pcolormesh(loads, strengths, 100 * lead, cmap="RdBu", vmin=-15, vmax=15)
ax.contour(loads, strengths, lead, levels=[0.0], colors="black")
fig.colorbar(shown, label="lead of attention, points of test error")
ax.set(xscale="log", xlabel="labelled bags per dimension", ylabel="signal strength")
