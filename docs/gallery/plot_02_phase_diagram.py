"""
Phase diagram: who wins where
=============================

Attention has to find its query from noisy labels. With few labels or a weak
signal the query is almost random, and mean pooling is the better choice.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

import sparsetoken as st

# %%
# Two of five tokens are informative. Arrays of strengths and of loads broadcast
# to a plane of predictions. Attention spends three bags per ten dimensions on its
# query; both models have the same number of bags for the readout.

strengths, loads = np.linspace(1, 6, 16), np.geomspace(0.25, 8, 16)
problem = st.SparseTokenProblem(
    length=5, informative=2, strength=strengths[:, None]
)
readout = st.Readout("logistic", ridge=1e-2, alpha1=loads[None, :])
attention = st.Attention(st.TwoSteps(alpha0=0.3))
pooled = st.predict(problem, st.Pooled(), readout, tolerance=5e-3)
attended = st.predict(problem, attention, readout, tolerance=5e-3)

# %%
# Blue: attention is better. Orange: mean pooling is. On the black line they tie.

lead = 100 * (pooled.test_error - attended.test_error)
fig, ax = plt.subplots(layout="constrained")
sides = LinearSegmentedColormap.from_list("", ["C1", "white", "C0"])
shown = ax.pcolormesh(loads, strengths, lead, cmap=sides, vmin=-15, vmax=15)
ax.contour(loads, strengths, lead, levels=[0.0], colors="black")
fig.colorbar(shown, label="lead of attention, points of test error")
ax.set(xlabel="labelled bags per dimension, n/d", ylabel="signal strength")
ax.set_xscale("log")
ticks = [0.25, 0.5, 1, 2, 4, 8]
ax.set_xticks(ticks, labels=ticks)
ax.minorticks_off()
ax.grid(False)
