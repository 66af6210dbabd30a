"""
Nonlinear tokens: features first, then attention
================================================

Where the signal is not linear in the tokens, no linear score of a token sees it.
Random features of the tokens make it linear.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# In positive bags one token is three times as large as the others. Its mean is
# zero, as that of all tokens: a linear score cannot tell them apart.

rng = np.random.default_rng(0)
labels = np.arange(500) % 2
bags = rng.standard_normal((500, 8, 6))
bags[labels == 1, 2] *= 3.0

# %%
# ``token_features="auto"`` compares the plain tokens with features of a Gaussian
# kernel by the left-out loss, and takes what is better.

models = {
    "tokens as they are": st.AttentionClassifier(random_state=0),
    "features chosen": st.AttentionClassifier(
        token_features="auto", random_state=0
    ),
}
accuracy = {
    name: model.fit(bags[:400], labels[:400]).score(bags[400:], labels[400:])
    for name, model in models.items()
}
print(accuracy)

# %%
# Half of the new bags would be right by chance (dotted).

fig, ax = plt.subplots(layout="constrained", figsize=(5, 3.6))
ax.bar(list(accuracy), list(accuracy.values()), 0.5)
ax.axhline(0.5, color="black", linestyle=":")
ax.set(ylabel="accuracy on new bags", ylim=(0, 1))
