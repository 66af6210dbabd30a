"""
Forecast: handwritten digits
============================

A pilot of 120 labelled bags is at hand. What would more bags bring, and with
which pooling? A forecast continues the learning curves of both models with the
theory, fitted to the pilot.
"""

import numpy as np
from sklearn.datasets import load_digits

import sparsetoken as st

# %%
# A bag holds eight images of handwritten digits. It is positive if one of them is
# a zero; which one is not told.

images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)


def bag(positive):
    others = rng.choice(np.flatnonzero(digits != 0), 8, replace=False)
    if positive:
        others[0] = rng.choice(np.flatnonzero(digits == 0))
    return images[others]


def draw(n):
    labels = np.arange(n) % 2
    return np.stack([bag(label) for label in labels]), labels


bags, labels = draw(120)

# %%
# The forecast gives the errors to expect, with 90% intervals, and recommends a
# model.

sizes = [120, 240, 480]
found = st.forecast(bags, labels, sizes=sizes)
print(found)

# %%
# Is it right? Here more bags can be drawn. Crosses are the errors on 2000
# new bags of classifiers fitted to a new training set of each size, and squares
# what cross-validation measured on the pilot.

ax = found.plot()
classifiers = st.estimators.PooledLinearClassifier(), st.BagClassifier()
for color, classifier in zip(("C0", "C1"), classifiers, strict=True):
    fits = [classifier.fit(*draw(n)).score(*draw(2000)) for n in sizes]
    ax.plot(sizes, 1 - np.array(fits), "x", color=color, markersize=9)
