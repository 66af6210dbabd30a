"""
The best split: how many labels for the query?
==============================================

A labelled bag can serve the query or the readout. With too few bags the query
misses the signal; with too many nothing is left to fit the readout.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# In all there are two bags per dimension. An array of shares for the query gives
# arrays of settings for both stages.

problem = st.SparseTokenProblem(length=10, informative=1, strength=4.0)
total, shares = 2.0, np.linspace(0.1, 0.9, 17)
attention = st.Attention(st.TwoSteps(alpha0=total * shares))
readout = st.Readout("logistic", ridge=1e-2, alpha1=total * (1 - shares))
found = st.predict(problem, attention, readout, tolerance=1e-3)

# %%
# A search for the best share, to a stated accuracy.

best = st.tuning.best_training(
    problem,
    st.Attention(st.TwoSteps()),
    st.Readout("logistic", ridge=1e-2),
    total,
    free=["share"],
    tolerance=1e-3,
)
error = best.prediction.test_error
print(f"best share {best.share:.2f}: test error {error:.3f}")

# %%
# The valley is wide: between 40% and 70% the error changes little.

fig, ax = plt.subplots(layout="constrained")
ax.plot(shares, found.test_error, label="predicted")
ax.plot(best.share, error, "o", label="best split")
ax.set(xlabel="share of the labels for the query", ylabel="test error")
ax.legend()
