"""
Three ways to train, and the Bayes-optimal error
================================================

Attention can be trained in four stages, with two steps for the query and then a
fit of the readout; by gradient descent on all weights; or to the minimum, over
all weights at once, of the loss with weight decay. The theory has the limits of
all three, and the error that no learner can beat.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# One token of five carries the signal. The minimum is taken at the best of three
# ridges, the four stages at the best of three ways to split the samples, and the
# descent after the best of 30 steps with the middle ridge.

problem = st.SparseTokenProblem(length=5, informative=1, strength=4.0)
alpha = np.array([1.0, 2.0, 4.0, 8.0])
curves = {}

minima = [
    st.minimize(
        problem, st.Minimum(alpha=alpha, ridge=ridge), starts=["informed"]
    ).test_error
    for ridge in (0.05, 0.1, 0.2)
]
curves["minimum over all weights"] = np.min(minima, axis=0)

share = np.array([0.25, 0.375, 0.5])[:, None]
stages = st.predict(
    problem,
    st.Attention(st.TwoSteps(alpha0=share * alpha)),
    st.Readout("logistic", ridge=0.05, alpha1=(1 - share) * alpha),
)
curves["four stages"] = stages.test_error.min(axis=0)

rates, decay = {"q": 1.5, "w": 1.0}, 0.1
trajectories = [
    st.descend(
        problem,
        st.Descent(alpha=load, steps=30, rates=rates, rate_c=1.0, decay=decay),
        replicas=4,
        tolerance=0.05,
    )
    for load in alpha
]
curves["descent"] = [trajectory.test_error.min() for trajectory in trajectories]

pooled = st.Readout("logistic", ridge=0.05, alpha1=alpha)
curves["mean pooling"] = st.predict(problem, st.Pooled(), pooled).test_error
bayes = st.oracle.learning_error(problem, alpha).test_error

# %%
# With few samples the minimum has the least error of the three, and the descent
# is on its way there; with eight per dimension all three are nearly alike.

fig, ax = plt.subplots(layout="constrained")
for name, curve in curves.items():
    ax.plot(alpha, curve, "o-", label=name)
    print(f"{name:26}", np.round(curve, 4))
ax.plot(alpha, bayes, "-.", color="0.4", label="Bayes-optimal error")
print(f"{'Bayes-optimal error':26}", np.round(bayes, 4))
ax.set(xlabel="samples per dimension", ylabel="test error", ylim=(0, None))
ax.set_xscale("log")
ax.set_xticks(alpha, [f"{load:g}" for load in alpha])
ax.minorticks_off()
ax.legend()
