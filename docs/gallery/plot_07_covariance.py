"""
Covariance, bag effects and whitening
=====================================

Real embeddings have a steep spectrum, and tokens of one bag are alike. The large directions pull
the query, and what a bag shares goes into the mean. Whitening takes the first away.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

d = 100
spectrum = np.arange(1, d + 1) ** -0.8
spectrum /= spectrum.mean()
flat, signal = np.ones(d), np.full(d, d**-0.5)
whitened_strength = 5.0 * np.sqrt(np.sum(signal**2 / spectrum))
tokens = {
    "isotropic": (st.Isotropic(), 5.0),
    "steep spectrum": (st.TokenCovariance(spectrum, signal=signal), 5.0),
    "the same, whitened": (st.Isotropic(), whitened_strength),
    "isotropic, bag effect": (st.TokenCovariance(flat, flat, signal=signal), 5.0),
}
readout = st.Readout("square", ridge=1e-2)
attention = st.Attention(st.TwoSteps(alpha=1.0, eta_q=7.0, loss="square"))

errors = {}
for name, (law, strength) in tokens.items():
    problem = st.SparseTokenProblem(length=10, strength=strength, tokens=law)
    errors[name] = [
        st.predict(problem, model, readout, tolerance=5e-3).test_error
        for model in (attention, st.Pooled())
    ]

fig, ax = plt.subplots(layout="constrained")
place = np.arange(len(errors))
for shift, model in ((-0.2, "attention"), (0.2, "mean pooling")):
    ax.bar(place + shift, [e[int(shift > 0)] for e in errors.values()], 0.38, label=model)
ax.set(ylabel="test error")
ax.set_xticks(place, errors, rotation=15)
ax.legend()
