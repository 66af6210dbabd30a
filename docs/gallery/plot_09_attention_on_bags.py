"""
A classifier of bags, and where it looks
========================================

`AttentionClassifier` follows scikit-learn. On bags in which one token is informative it finds
which one, from labels of bags alone.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

rng = np.random.default_rng(0)
labels = np.arange(400) % 2
bags = rng.standard_normal((400, 12, 20))
bags[labels == 1, 4, 0] += 5.0

model = st.AttentionClassifier(random_state=0).fit(bags[:300], labels[:300])
pooled = st.PooledLinearClassifier().fit(bags[:300], labels[:300])
print("attention", model.score(bags[300:], labels[300:]))
print("mean pooling", pooled.score(bags[300:], labels[300:]))

# %%
# Weights of the tokens in the first positive bags: token 4 stands out.

weights = model.attention_weights(bags[300:320][labels[300:320] == 1])
fig, ax = plt.subplots(layout="constrained")
ax.imshow(np.stack(list(weights)), cmap="Blues", aspect="auto")
ax.set(xlabel="token", ylabel="bag")
