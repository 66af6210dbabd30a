"""
Leave-one-out: a test error from the training set alone
=======================================================

What would the fit to all other samples say of this one? One Newton step for each
sample answers, without a second fit.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.losses import get_loss

# %%
# The fit minimises the mean loss plus a ridge, over weights and bias. With
# :math:`f_i` the features of sample i and a 1 for the bias, :math:`H` the Hessian
# of the objective and :math:`\gamma_i = f_i^\top H^{-1} f_i / n`, the score of a
# sample in the fit without it is
# :math:`z_i + \gamma_i \ell'_i / (1 - \gamma_i \ell''_i)`: one Newton step from
# the fit to all samples. This is exact for the square loss, and for other losses
# as n and d grow together. It takes one fit and one factorisation, and works for
# any features and labels. The objective of the fit without a sample is still
# divided by n.

# %%
# One training set: features of attention for 400 bags at dimension 200.

problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
model = st.Attention(st.Query(cosine=0.9, sharpness=1.0))
features, labels = st.simulation.draw_training_set(
    problem, model, 2.0, dimension=200
)

# %%
# The estimate at each ridge, from these samples alone, and the exact test error.

loss, ridges = "square", np.geomspace(1e-3, 3, 8)
estimate = st.simulation.leave_one_out
estimates = [
    estimate(features, labels, get_loss(loss), ridge) for ridge in ridges
]
readout = st.Readout(loss, ridge=ridges, alpha1=2.0)
exact = st.predict(problem, model, readout, tolerance=1e-3)

# %%
# All points come from the same 400 samples: together they are above or below the
# line.

fig, ax = plt.subplots(layout="constrained")
exact.plot(ax=ax, label="exact")
ax.errorbar(
    ridges,
    [found.test_error for found in estimates],
    [found.standard_error for found in estimates],
    fmt="o",
    capsize=2,
    label="leave-one-out",
)
ax.set(ylim=(0, None))
ax.legend()

# %%
# The estimate fails where the step is long: at a small ridge with more samples
# than features, or with few samples in all or in one class. A sample that alone
# determines a direction has no leave-one-out score; ``converged`` is then false,
# and ``reason`` says why. ``standard_error`` treats the errors of different
# samples as independent, which they are not quite. The hinge loss has no second
# derivative and is refused; the squared hinge and smoothed losses are not.
