"""
Leave-one-out: a test error from the training set alone
=======================================================

One Newton step for each sample gives its score under the fit to the others; the estimate follows
the true test error over the ridge.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.losses import get_loss
from sparsetoken.numerics.leave_one_out import leave_one_out

problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
model, loss = st.Attention(st.Query(0.9, 1.0)), "square"
features, labels = st.simulation.draw_training_set(problem, model, 2.0, dimension=200)
ridges = np.geomspace(1e-3, 3, 8)
estimated = [leave_one_out(features, labels, get_loss(loss), ridge) for ridge in ridges]
true = st.predict(problem, model, st.Readout(loss, ridge=ridges, alpha=2.0), tolerance=1e-3)

fig, ax = plt.subplots(layout="constrained")
errors = [found.standard_error for found in estimated]
ax.errorbar(ridges, [found.test_error for found in estimated], errors, fmt="o", capsize=2)
ax.plot(ridges, true.test_error)
ax.set(xscale="log", xlabel="ridge", ylabel="test error", ylim=(0, None))
