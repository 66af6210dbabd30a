"""
Tutorial: from a file of bags to a decision
===========================================

Somebody went through pages of twelve handwritten digits and noted one thing:
does the page contain an eight? From 120 such labels we fit a classifier, look
at the digits that it relies on, forecast what more labels would bring, and
decide how many to buy.
"""

# %%
# The file
# --------
#
# What you need is one table with a row for each token: the bag that it belongs
# to, the label of that bag, and the embedding. Here the table is made of the
# scans that scikit-learn ships, with the 64 pixels of a digit as its embedding.
# With data of your own, begin at the next step.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_digits
from sklearn.metrics import (
    PrecisionRecallDisplay,
    RocCurveDisplay,
    recall_score,
)

import sparsetoken as st

scans, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
pixels = [f"grey_{i}" for i in range(64)]


def scan_pages(n):
    """Return pages as bags, labels, and where the eights are."""
    labels = np.arange(n) % 2
    picked = rng.choice(np.flatnonzero(digits != 8), (n, 12))
    eights = rng.choice(np.flatnonzero(digits == 8), n)
    picked[labels == 1, 0] = eights[labels == 1]
    picked = rng.permuted(picked, axis=1)
    tokens, bounds = scans[picked.ravel()], 12 * np.arange(n + 1)
    pages = st.bags.Bags(tokens, bounds, pixels)
    return pages, labels, digits[picked] == 8


pages, labels, _ = scan_pages(120)
table = pd.DataFrame(pages.tokens, columns=pixels)
table.insert(0, "bag", np.repeat(np.arange(120), 12))
table.insert(1, "label", np.repeat(labels, 12))
file = Path(tempfile.mkdtemp()) / "pages.parquet"
table.to_parquet(file)

# %%
# Fit
# ---
#
# :func:`sparsetoken.bags.read` reads Parquet and ``.npz`` files.
# :class:`sparsetoken.BagClassifier` is a weighted average of several classifiers:
# mean pooling, column maxima, attention, similarities to single tokens, trees and
# others. The weights minimise the loss on held-out bags; the summary shows them.

bags, y, ids = st.bags.read(file)
model = st.BagClassifier().fit(bags, y)
print(model.summary())

# %%
# Tokens
# ------
#
# Which digit made a page positive? The model has seen no label of a digit.
# Above each digit of three new pages stands its probability of being the
# reason.

new_pages, new_labels, is_eight = scan_pages(1000)
positive = np.flatnonzero(new_labels == 1)
tops = [top[0] for top in model.top_tokens(new_pages[positive])]
hits = np.mean(is_eight[positive, tops])
print(f"top token is the eight: {hits:.0%} of {len(tops)} positives")

fig, axes = plt.subplots(3, 12, figsize=(9, 3), layout="constrained")
few = new_pages[positive[:3]]
for row, page, chances in zip(
    axes, few, model.predict_token_proba(few), strict=True
):
    for ax, scan, chance in zip(row, page, chances, strict=True):
        ax.imshow(scan.reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{chance:.2f}", fontsize="small")
        ax.set_axis_off()

# %%
# Where to draw the line
# ----------------------
#
# The curves are those of scikit-learn, for the new pages; the dotted line is
# perfect calibration. With ``threshold=`` a page is called positive if its
# probability reaches a threshold: the largest at which 95% of the held-out
# positive training pages are found.

fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
test = new_pages, new_labels
RocCurveDisplay.from_estimator(model, *test, ax=axes[0])
PrecisionRecallDisplay.from_estimator(model, *test, ax=axes[1])
CalibrationDisplay.from_estimator(
    model, *test, n_bins=6, strategy="quantile", ax=axes[2]
)
axes[0].set(xlabel="false positive rate", ylabel="true positive rate")
axes[1].set(xlabel="recall", ylabel="precision")
axes[2].set(xlabel="mean probability", ylabel="share of positives")
axes[2].get_legend().remove()
wish = {"sensitivity": 0.95}
sensitive = st.BagClassifier(threshold=wish).fit(bags, y)
called = sensitive.predict(new_pages)
print(
    f"from {sensitive.threshold_:.2f} on: sensitivity "
    f"{recall_score(new_labels, called):.2f}, specificity "
    f"{recall_score(new_labels, called, pos_label=0):.2f}"
)

# %%
# Forecast
# --------
#
# The theory, fitted to the 120 pages, continues the learning curves, with 90%
# intervals. ``pooled`` is mean pooling, ``bag`` the classifier above.
# ``print(forecast)`` also shows the cross-validated errors, and which to use.

forecast = st.forecast(bags, y, sizes=[120, 240, 480])
curves = forecast.to_frame()[["model", "n", "error", "low", "high"]]
print(curves.round(3).to_string(index=False))

# %%
# What to buy
# -----------
#
# Let a label cost 1, and let the model sort 20 000 pages, each of which costs
# 0.3 if it is sorted wrongly: n labels cost n + 6000 times the error in all.

cost = {}
for point in forecast.curves["bag"]:
    n, errors = point.n, (point.error, point.low, point.high)
    cost[n], low, high = (n + 6000 * error for error in errors)
    print(f"{n} labels: {cost[n]:.0f} ({low:.0f} to {high:.0f})")
print(f"cheapest: {min(cost, key=cost.get)} labels in all")

# %%
# The intervals are wide, because 120 pages say little about a learning curve. So
# buy up to the cheapest size, and forecast again from all labels before you buy
# more.

# %%
# Was that right? Here more pages can be drawn, with scans of the same 1797.
# Crosses are the errors on 1000 new pages of classifiers fitted to a new
# training set of each size.

ax, found, inside = forecast.plot(), {}, 0
classifiers = {"bag": st.BagClassifier()}
classifiers["pooled"] = st.estimators.PooledClassifier()
for name, color in (("bag", "#882255"), ("pooled", "C1")):
    for point in forecast.curves[name]:
        fitted = classifiers[name].fit(*scan_pages(point.n)[:2])
        error = 1 - fitted.score(new_pages, new_labels)
        ax.plot(point.n, error, "x", color=color, markersize=9)
        inside += point.low <= error <= point.high
        found[name, point.n] = point.n + 6000 * error
plt.show()
print(f"{inside} of 6 errors are within the intervals")
model, n = min(found, key=found.get)
print(f"cheapest, as measured: {model} with {n} labels")

# %%
# For files of your own, ``sparsetoken bags forecast FILE`` prints the same
# forecast, and :doc:`For practitioners </practitioners>` says what else can be
# read.
