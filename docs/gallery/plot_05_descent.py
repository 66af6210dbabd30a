"""
Joint training of all weights, and when to stop
===============================================

Gradient descent on query, readout and bias together, all steps on the same
data. Dynamical mean-field theory follows it step by step, and includes the
dependence between steps that use the same data.
"""

import matplotlib.pyplot as plt

import sparsetoken as st

# %%
# Twelve steps on three bags per dimension, from a query and a readout in
# random directions.

problem = st.SparseTokenProblem(
    length=5, informative=1, strength=3.0, positive_rate=0.4
)
descent = st.Descent(
    st.networks.Softmax(), alpha=3, steps=12, rates={"q": 4, "w": 1}
)
trajectory = st.descend(problem, descent, tolerance=1e-2)
measured = st.simulation.descend(problem, descent, dimension=200, trials=4)
print("stop after step", trajectory.best_step)

# %%
# Lines are theory, points four runs at dimension 200. The test error has a
# minimum (dotted), the training loss has none: what is learned after that is the
# noise of these bags. The Bayes-optimal error is far below.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, quantity in zip(axes, ("test_error", "training_loss"), strict=True):
    trajectory.plot(quantity, ax=ax, label="theory")
    measured.plot(quantity, ax=ax, label="simulation", color="C0")
best = st.oracle.learning_error(problem, alpha=3).test_error
axes[0].axhline(best, color="0.4", linestyle="-.", label="Bayes-optimal error")
axes[0].legend()
axes[0].axvline(trajectory.best_step, color="black", linestyle=":")
axes[0].set_ylim(0, None)
