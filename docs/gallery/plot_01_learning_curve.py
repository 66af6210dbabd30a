"""
Learning curves: how many labels?
=================================

One token in ten carries the signal. Mean pooling dilutes it; attention finds it. The lines are
exact in high dimension, the points are experiments at dimension 200.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
models = {
    "attention": st.Attention(st.TwoSteps(alpha=1.0)),
    "mean pooling": st.Pooled(),
}

# %%
# Arrays broadcast, and a table comes back that draws itself.

loads = st.Readout("logistic", ridge=1e-2, alpha=np.geomspace(0.25, 8, 15))
few = st.Readout("logistic", ridge=1e-2, alpha=np.array([0.5, 2.0]))
fig, ax = plt.subplots(layout="constrained")
for name, model in models.items():
    st.predict(problem, model, loads, tolerance=1e-3).plot(ax=ax)
    ax.lines[-1].set_label(name)
    st.simulate(problem, model, few, dimension=200, trials=6).plot(ax=ax)
ax.set(xlabel="labelled bags per dimension, n/d", ylim=(0, 0.5))
ax.legend()
