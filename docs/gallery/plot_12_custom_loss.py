"""
A loss of your own
==================

Write its value; slope, curvature and Moreau envelope are derived from it.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.losses import CustomLoss

# %%
# A logistic loss with twice the slope. It must be convex in the score z, and
# written with the functions of JAX.

steep = CustomLoss(
    "steep_logistic", lambda y, z: jnp.logaddexp(0.0, -2 * y * z) / 2
)

# %%
# It can be used wherever a loss is named: in predictions and simulations.

problem = st.SparseTokenProblem(length=10, strength=5.0)
loads = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
few = np.array([0.5, 2.0])
fig, ax = plt.subplots(layout="constrained")
for loss in ("logistic", steep):
    curve = st.Readout(loss, ridge=1e-2, alpha1=loads)
    found = st.predict(problem, st.Pooled(), curve, tolerance=1e-3)
    found.plot(ax=ax, label=curve.loss.name)
    simulated = st.simulate(
        problem,
        st.Pooled(),
        st.Readout(loss, ridge=1e-2, alpha1=few),
        dimension=200,
    )
    simulated.plot(ax=ax, label=curve.loss.name)
