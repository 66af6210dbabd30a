"""
Forecast: handwritten digits
============================

Bags of handwritten digits; a bag is positive if it holds a zero. From a pilot of 120 labelled
bags, what would twice as many bring, and with which pooling?
"""

import numpy as np
from sklearn.datasets import load_digits

import sparsetoken as st

images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
labels = np.arange(120) % 2


def bag(positive):
    others = rng.choice(np.flatnonzero(digits != 0), 8, replace=False)
    if positive:
        others[0] = rng.choice(np.flatnonzero(digits == 0))
    return images[others]


bags = np.stack([bag(label) for label in labels])
found = st.forecast(bags, labels, sizes=[120, 240])
print(found.recommended)

# %%
# Points are expected errors, bars hold nine of ten futures.

import matplotlib.pyplot as plt  # noqa: E402

fig, ax = plt.subplots(layout="constrained")
for name, points in found.curves.items():
    errors = np.array([point.error for point in points])
    ends = np.abs(np.array([(point.low, point.high) for point in points]).T - errors)
    ax.errorbar([point.n for point in points], errors, ends, fmt="o-", capsize=3, label=name)
ax.set(xlabel="labelled bags", ylabel="expected test error", ylim=(0, 0.6))
ax.legend()
