"""
A classifier of bags, and where it looks
========================================

:class:`sparsetoken.BagClassifier` follows scikit-learn. From labels of bags
alone it finds which token is informative.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.figures import AttentionDisplay

# %%
# Each bag has twelve tokens. In positive bags one of them, at a random place, is
# shifted.

rng = np.random.default_rng(0)
labels = np.arange(400) % 2
bags = rng.standard_normal((400, 12, 20))
places = rng.integers(12, size=400)
shifted = labels == 1
bags[shifted, places[shifted], 0] += 5.0

model = st.BagClassifier().fit(bags[:300], labels[:300])
pooled = st.estimators.PooledClassifier().fit(bags[:300], labels[:300])
print("bag classifier", model.score(bags[300:], labels[300:]))
print("mean pooling  ", pooled.score(bags[300:], labels[300:]))

# %%
# What the fit found, in words.

print(model.summary())

# %%
# How often is the token that speaks most for the class the shifted one?

new = np.flatnonzero(shifted)[-50:]
tops = [top[0] for top in model.top_tokens(bags[new])]
print(f"{np.mean(tops == places[new]):.0%} of {len(new)} positive bags")

# %%
# The display shows a few bags, with the token that was shifted marked.

few = new[:4]
truth = [np.arange(12) == place for place in places[few]]
AttentionDisplay.from_estimator(model, bags[few], true_tokens=truth)
plt.show()
