"""
Covariance, bag effects and whitening
=====================================

Few directions carry most of the variance of real embeddings (a steep spectrum),
and tokens of one bag are alike. The theory covers both:
:class:`sparsetoken.TokenCovariance` is the covariance of the tokens.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# The same signal in four kinds of noise, all of variance 1 in the mean over
# directions. The second has a steep spectrum. The third is the second after
# whitening: isotropic noise, and a signal that is larger where noise was small.
# In the fourth the tokens of a bag share a random shift as large as their noise.

d = 100
spectrum = np.arange(1, d + 1) ** -0.8
spectrum /= spectrum.mean()
flat, signal = np.ones(d), np.full(d, d**-0.5)
whitened = 5.0 * np.sqrt(np.sum(signal**2 / spectrum))
steep = st.TokenCovariance(spectrum, signal=signal)
shared = st.TokenCovariance(flat, flat, signal=signal)
kinds = {
    "isotropic": (st.model.Isotropic(), 5.0),
    "steep spectrum": (steep, 5.0),
    "the same,\nwhitened": (st.model.Isotropic(), whitened),
    "isotropic with\nbag effect": (shared, 5.0),
}

# %%
# One prediction for each kind and model.

readout = st.Readout("square", ridge=1e-2)
steps = st.TwoSteps(alpha0=1.0, eta_q=7.0, loss="square")
models = {"attention": st.Attention(steps), "mean pooling": st.Pooled()}
errors = {
    name: [
        st.predict(
            st.SparseTokenProblem(length=10, strength=strength, tokens=law),
            model,
            readout,
            # The query at the dimension of the tokens: a mean over data sets.
            dimension=law.dimension if name == "attention" else None,
            tolerance=5e-3,
        ).test_error
        for law, strength in kinds.values()
    ]
    for name, model in models.items()
}

# %%
# Directions of high variance bias the query; whiten the tokens first.
# A shared shift moves the mean token, and with it all that attention reads out,
# though not its weights.

fig, ax = plt.subplots(layout="constrained")
place = np.arange(len(kinds))
for shift, (name, heights) in zip((-0.2, 0.2), errors.items(), strict=True):
    ax.bar(place + shift, heights, 0.38, label=name)
ax.set_xticks(place, labels=kinds)
ax.set(ylabel="test error")
ax.legend()
