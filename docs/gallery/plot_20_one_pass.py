"""
One pass, and one task after another
====================================

One pass sees each bag once. Theory follows it by ordinary differential equations
in the time t, the bags seen per dimension. Training may also start from weights
that another task has trained. Both are exact in the limit of high dimension.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

problem = st.SparseTokenProblem(length=5, informative=1, strength=4.0)

# %%
# **One pass or many.** On the same number of bags, many steps with all of them
# reach a smaller test error than one step with each. The constant rates of one
# pass leave noise of single bags in the weights; smaller rates leave less of it
# and take longer.

times = np.linspace(0, 8, 17)
loads = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
descent = st.Descent(alpha=loads, steps=12, rates={"q": 4.0, "w": 1.0})
many = st.descend(problem, descent, replicas=4, tolerance=0.1).test_error.min(
    axis=1
)
rates = {"q": 2.0, "w": 0.5}
fast = st.OnePass(times=times, rates=rates)
slow = st.OnePass(
    times=times, rates={name: rate / 2 for name, rate in rates.items()}
)
found = {
    "one pass": st.descend(problem, fast),
    "half the rates": st.descend(problem, slow),
}
tensors = st.simulation.descend(problem, fast, dimension=200, trials=6)
with_many, with_one = many[-1], found["one pass"].test_error[-1]
print(f"With 8 d bags: {with_one:.3f} in one pass, {with_many:.3f} in 12 steps")

# %%
# **Escape.** A token with the signal or its negative makes a bag positive, and a
# network with the scores mean(H_q H_w) has no gradient along the signal where
# both columns are orthogonal to it. From overlaps of order 1/sqrt(d) the signal
# is found after a time that grows as log d.


def draw(u):
    coefficients = np.zeros((len(u), 4, 1))
    label = u[:, 0] < 0.5
    coefficients[:, 0, 0] = label * np.where(u[:, 1] < 0.5, -3.0, 3.0)
    return {"coefficients": coefficients, "label": np.where(label, 1, -1)}


def target(latent, Z):
    return latent["label"]


either = st.Task(4, 1, draw, target, metric="error", uniforms=2)
network = st.networks.Elementwise("linear")
later = np.linspace(0, 12, 61)
dimensions = [100, 300, 900]


def from_overlap(overlap):
    return st.OnePass(
        network, times=later, rates=0.5, start=0.3, start_overlaps=overlap
    )


def escape(overlaps):
    """Return when the first column has the overlap 1/2."""
    return np.interp(0.5, np.maximum.accumulate(overlaps), later)


leave, leave_tensors = [], []
for d in dimensions:
    start = from_overlap(2 / np.sqrt(d))
    weights = st.descend(either, start, replicas=2, tolerance=0.1).weights
    leave.append(escape(weights.overlaps[:, 0, 0]))
    trials = st.simulation.descend(
        either, start, dimension=d, trials=6, at=[60]
    ).trials
    leave_tensors.append(
        [escape(one.weights.overlaps[:, 0, 0]) for one in trials]
    )
print(
    "Times of escape:",
    np.round(leave, 1),
    np.mean(leave_tensors, axis=1).round(1),
)

# %%
# **What pre-training saves, and what fine-tuning forgets.** Attention is trained
# on a task with 3 d bags, then on one whose signal has the cosine rho with that
# of the first. If the signals are orthogonal, the new task needs more bags than
# from scratch.

settings = {"steps": 8, "rates": {"q": 4.0, "w": 1.0}}
first = st.descend(
    problem, st.Descent(alpha=3.0, **settings), replicas=4, tolerance=0.1
)
few = np.array([0.25, 0.5, 1.0, 2.0, 4.0])
scratch = st.descend(
    problem, st.Descent(alpha=few, **settings), replicas=4, tolerance=0.1
)
tuned = {
    rho: st.descend(
        problem,
        st.Descent(alpha=few, start=first, signal_cosines=rho, **settings),
        replicas=4,
        tolerance=0.1,
    )
    for rho in (0.0, 0.5, 0.8, 1.0)
}
for rho, path in tuned.items():
    on_both = path.test_error.min(axis=1)[2], path.previous_task_error[2, -1]
    text = (
        f"{on_both[0]:.3f} with d bags, then {on_both[1]:.3f} on the first task"
    )
    print(f"rho = {rho}: {text}")

# %%

figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
for name, path in found.items():
    axes[0, 0].plot(times, path.test_error, label=name)
axes[0, 0].errorbar(
    times,
    tensors.mean.test_error,
    tensors.standard_error.test_error,
    fmt=".",
    color="C0",
    label="tensors, d = 200",
)
axes[0, 0].plot(
    loads, many, "s", color="C2", label="best of 12 steps with all bags"
)
axes[0, 0].set(xlabel="bags per dimension", ylabel="test error")
axes[0, 1].plot(dimensions, leave, label="theory")
axes[0, 1].plot(dimensions, leave_tensors, ".", color="C0", alpha=0.5)
axes[0, 1].plot([], [], ".", color="C0", label="trials of tensors")
axes[0, 1].set(xscale="log", xlabel="dimension d", ylabel="time of escape")
axes[1, 0].plot(few, scratch.test_error.min(axis=1), "k--", label="from scratch")
for rho, path in tuned.items():
    axes[1, 0].plot(few, path.test_error.min(axis=1), label=f"rho = {rho}")
    axes[1, 1].plot(range(9), path.previous_task_error[2], label=f"rho = {rho}")
axes[1, 0].set(
    xscale="log",
    xlabel="bags of the second task per dimension",
    ylabel="test error",
)
axes[1, 1].set(
    xlabel="steps on the second task", ylabel="test error on the first"
)
axes[1, 0].set_xticks(few, few)
axes[1, 0].minorticks_off()
for ax in axes.flat:
    ax.legend()
