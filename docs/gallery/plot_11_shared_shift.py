"""
A shift that bags share, and centred attention
==============================================

Slides of one laboratory, or of one patient, are often shifted as a whole: all
tokens of a bag share a random vector. Weights of attention that add up to one
pass it on to the readout. Centred attention, the attended token less the mean
token, does not see it at all, at the price of the noise of the mean token.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# One of ten tokens is informative. The shift has the given variance in each
# direction, relative to the noise of a token.

d, query = 300, st.Query(cosine=0.9, sharpness=2.0)
sizes = np.geomspace(0.003, 1.0, 13)
models = {
    "attention": st.Attention(query),
    "centred attention": st.model.CentredAttention(query),
    "mean pooling": st.Pooled(),
}


def problem(size):
    """Return the task with a shift of this variance."""
    flat, signal = np.ones(d), np.full(d, d**-0.5)
    law = st.TokenCovariance(flat, size * flat, signal=signal)
    return st.SparseTokenProblem(length=10, strength=5.0, tokens=law)


# %%
# Predictions as lines, simulations as points.

readout = st.Readout("square", ridge=1e-2, alpha1=4.0)
fig, ax = plt.subplots(layout="constrained")
for name, model in models.items():
    errors = [
        st.predict(problem(size), model, readout).test_error for size in sizes
    ]
    (line,) = ax.plot(sizes, errors, label=name)
    for size in sizes[::4]:
        trials = st.simulate(problem(size), model, readout, dimension=d, trials=4)
        ax.plot(size, trials.mean.test_error, "o", color=line.get_color())
ax.set_xscale("log")
ax.set(xlabel="variance of the shared shift", ylabel="test error", ylim=0)
ax.legend()

# %%
# Where the shift is small, the mean token only adds noise, and attention is
# better. Where it is not, the comparison within the bag is what remains.
