"""
Anti-alignment: when the query turns away
=========================================

With rare positives and small steps of the bias, the query learns to look away from the signal,
and more data make it worse. The result says so, with a remedy.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

problem = st.SparseTokenProblem(length=10, informative=3, strength=2.0, positive_rate=0.06)
alpha = np.geomspace(0.1, 100, 25)

fig, ax = plt.subplots(layout="constrained")
for eta_b in (0.5, 5.0, 20.0):
    found = st.align(problem, st.TwoSteps(alpha=alpha, eta_b=eta_b))
    ax.plot(alpha, found.cosine, label=f"step of the bias {eta_b:g}")
ax.axhline(0, color="black", linewidth=0.8)
ax.set(xscale="log", xlabel="samples per dimension, n0/d", ylabel="cosine of query and signal")
ax.legend()

# %%
# The advice belongs to the result.

print(st.predict(problem, st.Attention(st.TwoSteps(alpha=2.0))).advice[0])
