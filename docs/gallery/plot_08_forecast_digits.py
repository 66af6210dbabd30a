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
labels = np.arange(120) % 2


def bag(positive):
    others = rng.choice(np.flatnonzero(digits != 0), 8, replace=False)
    if positive:
        others[0] = rng.choice(np.flatnonzero(digits == 0))
    return images[others]


bags = np.stack([bag(label) for label in labels])

# %%
# The forecast names the errors to expect, with intervals that hold nine of ten
# futures, and what to take.

found = st.forecast(bags, labels, sizes=[120, 240, 480])
print(found)

# %%
# Squares are what cross-validation measured on the pilot.

ax = found.plot()
