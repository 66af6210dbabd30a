"""
Dynamics: training everything at once, and when to stop
=======================================================

Gradient descent on query, readout and bias together, all steps on the same data: dynamical
mean-field theory follows it step by step. The test error has a minimum; the training loss none.
"""

import matplotlib.pyplot as plt

import sparsetoken as st

problem = st.SparseTokenProblem(length=5, informative=1, strength=3.0, positive_rate=0.4)
steps = st.JointDescent(alpha=3, steps=12, eta_w=1, eta_q=4, start_w=0.3, start_q=0.5)
course = st.predict(problem, st.Attention(steps), tolerance=1e-2)
measured = st.simulate(problem, st.Attention(steps), dimension=200, trials=4)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, quantity in zip(axes, ("test_error", "training_loss"), strict=True):
    course.plot(quantity, ax=ax)
    measured.plot(quantity, ax=ax)
axes[0].axvline(course.best_step, color="black", linestyle=":")
print("stop after step", course.best_step)
