"""
The Bayes-optimal error: what no learner can beat
=================================================

The Bayes-optimal learner knows the law of the data, but neither the direction of
the signal nor its positions. Its error is a lower bound for every method, at
each number of labels.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# Three levels: the four-stage training, the Bayes-optimal learner from as many
# labels, and the oracle, which knows the direction but not the positions.

problem = st.SparseTokenProblem(length=10, informative=1, strength=4.0)
alpha = np.geomspace(0.25, 8, 8)
readout = st.Readout("logistic", ridge=1e-2, alpha1=alpha / 2)
attention = st.Attention(st.TwoSteps(alpha0=alpha / 2))
trained = st.predict(problem, attention, readout, tolerance=2e-3)
bayes = st.oracle.learning_error(problem, alpha, points=256).test_error
oracle = st.oracle.bayes_error(problem).test_error

# %%
# With few labels nearly all of the error is that of the method; with many, most
# of it is unavoidable.

fig, ax = plt.subplots(layout="constrained")
ax.plot(alpha, trained.test_error, label="attention, half of the labels each")
ax.plot(alpha, bayes, "-.", color="0.4", label="Bayes-optimal error")
ax.axhline(oracle, color="black", linestyle=":", label="the direction is known")
ax.set(xlabel="all labels per dimension", ylabel="test error", ylim=(0, None))
ax.set_xscale("log")
ticks = [0.25, 0.5, 1, 2, 4, 8]
ax.set_xticks(ticks, labels=ticks)
ax.minorticks_off()
ax.legend()
