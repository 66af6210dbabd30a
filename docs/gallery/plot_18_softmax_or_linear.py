"""
Softmax or linear attention, at the minimum
===========================================

One of the tokens is marked, at an unknown place, and the target is a number that
it carries: single-location regression, as in "Statistical Advantage of Softmax
Attention" by Duranthon, Marion, Boyer, Loureiro and Zdeborova (arXiv 2509.21936).
How much better is softmax than linear attention, when both are trained to the
minimum?
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# The model in fifteen lines: the task, two networks, and the minimum over all
# weights of each, with the same weight decay.

task = st.tasks.single_location_regression(length=4, strength=3.0, scale=1.0)
networks = {
    "linear attention": st.networks.Elementwise("linear"),
    "softmax attention": st.networks.Softmax(),
}
alpha = np.array([3.0, 5.0, 8.0])


def minimum(network, load):
    """Return the minimum of the squared error on n = load d samples."""
    return st.Minimum(network, alpha=load, ridge=0.1, loss="square")


found = {
    name: st.minimize(task, minimum(network, alpha), starts=["informed"])
    for name, network in networks.items()
}

# %%
# Lines are theory, points the mean of eight minima that L-BFGS finds with real
# tokens of dimension 150.

fig, ax = plt.subplots(layout="constrained")
for color, (name, network) in zip(("C1", "C0"), networks.items(), strict=True):
    ax.plot(alpha, found[name].test_error, color=color, label=name)
    for load in alpha:
        run = st.simulation.minimize(
            task,
            minimum(network, load),
            dimension=150,
            trials=8,
            start="informed",
        )
        error = run.standard_error.test_error
        ax.errorbar(load, run.mean.test_error, error, fmt="o", color=color)
ax.set(xlabel="samples per dimension", ylabel="squared error on new bags")
ax.set_ylim(0, None)
ax.legend()
print({name: curve.status.tolist() for name, curve in found.items()})
