"""
Nonlinear tokens: features first, then attention
================================================

Signal in the size of a token, not in its mean: no linear score of tokens sees it. Random Fourier
features of the tokens make it linear, in an ordinary pipeline.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

rng = np.random.default_rng(0)
labels = np.arange(500) % 2
bags = rng.standard_normal((500, 8, 6))
bags[labels == 1, 2] *= 3.0  # one large token

frequencies, phases = 0.5 * rng.standard_normal((6, 100)), rng.uniform(0, 2 * np.pi, 100)
features = np.cos(bags @ frequencies + phases)

scores = {}
for name, tokens in (("tokens", bags), ("random features", features)):
    model = st.AttentionClassifier(random_state=0).fit(tokens[:400], labels[:400])
    scores[name] = model.score(tokens[400:], labels[400:])

fig, ax = plt.subplots(layout="constrained")
ax.bar(list(scores), list(scores.values()))
ax.axhline(0.5, color="black", linestyle=":")
ax.set(ylabel="accuracy on new bags")
