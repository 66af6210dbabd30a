"""
Tasks: what finite samples cost
===============================

Single-location regression: one of six tokens is marked, and the target is a
number that it carries. Papers follow descent on the population loss, which is
the limit of unlimited samples; with n samples the query lags behind.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# The task is one of ``st.tasks``. The query starts with a small overlap
# with the mark.

task = st.tasks.single_location_regression(length=6)
rates = {"q": 1.5, "w": 0.3}


def descent(alpha):
    """Return the descent on n = alpha d samples."""
    start = {"q": 0.5, "w": 0.3}
    overlaps = {"q": {"place": 0.3}, "w": 0.0}
    return st.Descent(
        loss="square",
        alpha=alpha,
        steps=12,
        rates=rates,
        start=start,
        start_overlaps=overlaps,
    )


# %%
# Lines are theory, points four runs on real tokens at dimension 400. With one
# sample per dimension the noise is learned before the query turns.

shown, steps = ("test_error", "overlap_q_place"), np.arange(13)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for i, alpha in enumerate((1.0, 4.0, math.inf)):
    trajectory = st.descend(task, descent(alpha), replicas=4, tolerance=0.05)
    label = "unlimited" if alpha == math.inf else f"n/d = {alpha:g}"
    for ax, name in zip(axes, shown, strict=True):
        ax.plot(steps, trajectory.columns()[name], color=f"C{i}", label=label)
    if alpha < math.inf:
        run = st.simulation.descend(task, descent(alpha), dimension=400, trials=4)
        for ax, name in zip(axes, shown, strict=True):
            ax.plot(steps, run.mean.columns()[name], ".", color=f"C{i}")
axes[0].set(xlabel="step", ylabel="squared error on new bags", ylim=(0, None))
axes[1].set(xlabel="step", ylabel="overlap of query and mark", ylim=(0, None))
axes[1].legend()
