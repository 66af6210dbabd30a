"""
Does depth help?
================

A token with a mark carries a key, -1 or 1, two other tokens carry the keys -1
and 1 and a value each, and the label is the value of the token that has the
key: two hops. One layer of attention scores each token by itself, so that it
cannot compare a key with that of the marked token. Two layers with a residual
stream can: in the first, each token reads the key of the marked one, and what it
reads is added to it. Both descents are exact in the limit of high dimension.
"""

import matplotlib.pyplot as plt

import sparsetoken as st

# %%
# The two networks have six columns each and start half way towards a solution.
# One is a layer with three heads, of which two look for values, one for each key.

task = st.tasks.lookup(length=6, hops=2, strengths=4.0)
starts = {
    "one layer, three heads": (
        st.networks.Softmax(heads=3),
        {
            "q1": {"key": 0.5},
            "q2": {"key": -0.5},
            "q3": {"mark": 0.5},
            "w1": {"value": 0.5},
            "w2": {"value": 0.5},
            "w3": {"key": 0.0},
        },
    ),
    "two layers": (
        st.networks.Transformer(layers=2),
        {
            "Q": {"key": 0.5},
            "K": {"mark": 0.5},
            "V": {"key": 0.5},
            "O": {"mark": -0.25},
            "q": {"mark": -0.25},
            "w": {"value": 0.5},
        },
    ),
}


def trajectory(network, start, alpha):
    descent = st.Descent(
        network,
        alpha=alpha,
        steps=14,
        rates=0.1,
        normalised=True,
        start_overlaps=start,
        start=0.5,
    )
    return st.descend(task, descent, replicas=4, tolerance=0.2)


figure, axes = plt.subplots(1, 2, sharey=True, layout="constrained")
for ax, alpha in zip(axes, (2.0, 8.0), strict=True):
    for name, (network, start) in starts.items():
        found = trajectory(network, start, alpha)
        step = range(len(found.test_error))
        error = 2 * found.errors.test_error
        ax.errorbar(step, found.test_error, error, label=name, capsize=2)
    ax.set(title=f"{alpha:g} samples per dimension", xlabel="step")
    ax.set_xticks(range(0, 15, 5))
axes[0].set(ylabel="test error", ylim=(0, None))
axes[0].legend()
plt.show()
