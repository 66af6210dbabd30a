"""
Networks: one head or two, and gated attention
==============================================

A bag is positive if it holds both of two signals, and negative if it holds one
of them or none. All weights of a network are trained together; theory follows
each step exactly, and gives the share of bags whose most attended token holds a
signal.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# Two signals of equal strength. One head cannot attend to both sharply: a bag
# with one of them would then look like a bag with both. A search over all weights
# of one head finds no error below 0.16.

task = st.model.ConceptProblem(
    length=5,
    strengths=[5.0, 5.0],
    patterns=[[1, 1], [0, 0], [1, 0], [0, 1]],
    rates=[0.4, 0.2, 0.2, 0.2],
    labels=[1, 0, 0, 0],
)

# %%
# Small overlaps of the queries with the signals break the symmetry of the two, as
# random overlaps do at every finite dimension.

networks = {
    "one head": (st.networks.Softmax(), {"q": [0.1, 0.0]}),
    "gated, 2 units": (
        st.networks.Gated(2),
        {"v1": [0.1, 0], "v2": [0, 0.1], "g1": [0.1, 0], "g2": [0, 0.1]},
    ),
    "two heads": (st.networks.Softmax(2), {"q1": [0.1, 0], "q2": [0, 0.1]}),
}


def descent(network, overlaps):
    """Return the descent of a network: slow readouts, fast biases."""
    names = network.column_names(outputs=1)
    return st.Descent(
        network,
        alpha=8.0,
        steps=20,
        rates=[0.25 if name.startswith("w") else 1.0 for name in names],
        rate_c=4.0,
        start_overlaps=np.array([overlaps.get(name, [0, 0]) for name in names]),
    )


# %%
# Lines are theory, points are two runs on real tokens at dimension 200. One head
# stays above 0.16 (dotted), gated or not; of two heads each attends to one
# signal.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, (network, overlaps) in networks.items():
    model = descent(network, overlaps)
    trajectory = st.theory.descend(task, model, replicas=2)
    run = st.simulation.descend(task, model, dimension=200, trials=2)
    for ax, quantity in zip(axes, ("test_error", "attended"), strict=True):
        steps = np.arange(model.steps + 1)
        (line,) = ax.plot(steps, getattr(trajectory, quantity), label=name)
        ax.plot(steps, getattr(run.mean, quantity), ".", color=line.get_color())
axes[0].axhline(0.16, color="black", linestyle=":")
axes[0].set(xlabel="step", ylabel="test error", ylim=(0, 0.52))
axes[1].set(
    xlabel="step", ylabel="most attended token holds a signal", ylim=(0, 1)
)
for ax in axes:
    ax.set_xticks(range(0, 21, 5))
axes[1].legend()
