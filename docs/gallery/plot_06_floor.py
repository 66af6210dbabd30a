"""
The floor: what no learner can beat
===================================

The Bayes-optimal learner knows the law of the data, but not the direction of the signal. Its
error is a floor under every method, at each number of labels.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

problem = st.SparseTokenProblem(length=10, informative=1, strength=4.0)
alpha = np.geomspace(0.25, 8, 8)
floor = [st.oracle.learning_error(problem, a, points=256).test_error for a in alpha]
readout = st.Readout("logistic", ridge=1e-2, alpha=alpha / 2)
attention = st.predict(problem, st.Attention(st.TwoSteps(alpha=alpha / 2)), readout, tolerance=2e-3)

fig, ax = plt.subplots(layout="constrained")
ax.plot(alpha, attention.test_error, label="attention, half of the labels for the query")
ax.plot(alpha, floor, "k--", label="floor")
ax.set(xscale="log", xlabel="all labels per dimension", ylabel="test error", ylim=(0, None))
ax.legend()
