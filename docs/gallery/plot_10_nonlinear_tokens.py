"""
Nonlinear tokens: features first, then attention
================================================

Where the signal is not linear in the tokens, no linear score of a token sees it.
Random features of the tokens make it linear.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

import sparsetoken as st
from sparsetoken.estimators import TokenTransformer

# %%
# In positive bags one token is three times as large as the others. Its mean is
# zero, like that of all tokens: a linear score cannot tell them apart. The other
# members of :class:`sparsetoken.BagClassifier` see a part of the difference.

rng = np.random.default_rng(0)
labels = np.arange(500) % 2
bags = rng.standard_normal((500, 8, 6))
bags[labels == 1, 2] *= 3.0

# %%
# A further member of the classifier is a pipeline of scikit-learn, which computes
# features of a Gaussian kernel for each token and averages them. Its weight
# reflects its gain on held-out bags.

kernel = make_pipeline(
    TokenTransformer(Nystroem(gamma=0.1, n_components=200, random_state=0)),
    st.estimators.PooledClassifier(),
)
models = {
    "tokens as they are": st.BagClassifier(),
    "features beside": st.BagClassifier([("kernel", kernel)]),
}
accuracy = {
    name: model.fit(bags[:400], labels[:400]).score(bags[400:], labels[400:])
    for name, model in models.items()
}
print(accuracy)
print(models["features beside"].summary())

# %%
# Half of the new bags would be right by chance (dotted).

fig, ax = plt.subplots(layout="constrained", figsize=(5, 3.6))
ax.bar(list(accuracy), list(accuracy.values()), 0.5)
ax.axhline(0.5, color="black", linestyle=":")
ax.set(ylabel="accuracy on new bags", ylim=(0, 1))
