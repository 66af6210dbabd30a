"""
A loss of your own
==================

Its value is enough: slope, curvature and Moreau envelope are derived. Here a logistic loss that
asks for twice the margin, against the built-in one.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.losses import CustomLoss

steep = CustomLoss("steep_logistic", lambda y, z: jnp.logaddexp(0.0, -2 * y * z) / 2)
problem = st.SparseTokenProblem(length=10, strength=5.0)
for loss in ("logistic", steep):
    readout = st.Readout(loss, ridge=1e-2, alpha=np.array([0.5, 2.0]))
    print(readout.loss.name, st.predict(problem, st.Pooled(), readout).test_error)

# %%
# The two losses of a positive label.

z = np.linspace(-3, 3, 61)
fig, ax = plt.subplots(layout="constrained")
for loss in (st.losses.get_loss("logistic"), steep):
    ax.plot(z, [float(loss.value(1.0, score)) for score in z], label=loss.name)
ax.set(xlabel="score", ylabel="loss")
ax.legend()
