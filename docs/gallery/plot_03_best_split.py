"""
The best split: how many labels for the query?
==============================================

Labels may go to the query or to the readout. Theory says which share is best.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

problem = st.SparseTokenProblem(length=10, informative=1, strength=4.0)
total, shares = 2.0, np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
attention = st.Attention(st.TwoSteps(alpha=total * shares))
readout = st.Readout("logistic", ridge=1e-2, alpha=total * (1 - shares))
table = st.predict(problem, attention, readout, tolerance=1e-3)

fig, ax = plt.subplots(layout="constrained")
ax.plot(shares, table.test_error, "o-")
ax.set(xlabel="share of the labels that goes to the query", ylabel="test error")

# %%
# The search for the best share does this to a given accuracy.

best = st.tuning.best_split(
    problem, st.Attention(), st.Readout("logistic", ridge=1e-2), total, tolerance=1e-3
)
print(best)
