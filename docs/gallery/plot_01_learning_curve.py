"""
Learning curves: how many labels?
=================================

One token in ten carries the signal. Mean pooling dilutes it; attention looks
for it. How does the test error of each fall with the number of labelled bags?
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

# %%
# The task: ten tokens, one of which carries a signal of strength 5 in the
# positive bags. Attention learns its query from :math:`n_0 = d` bags, where d is
# the dimension of a token, and its readout from :math:`n` others.

problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
models = {
    "attention": st.Attention(st.TwoSteps(alpha0=1.0)),
    "mean pooling": st.Pooled(),
}

# %%
# Arrays broadcast, and a result has a plot. Lines are exact in the limit of
# high dimension, points are experiments at dimension 200 with their standard
# errors. The dash-dotted line is the error of the Bayes-optimal learner with as
# many labels as attention has in both stages.

curve = st.Readout("logistic", ridge=1e-2, alpha1=np.geomspace(0.25, 8, 15))
few = st.Readout("logistic", ridge=1e-2, alpha1=np.array([0.5, 2.0, 6.0]))
fig, ax = plt.subplots(layout="constrained")
for name, model in models.items():
    predicted = st.predict(problem, model, curve, tolerance=1e-3)
    predicted.plot(ax=ax, label=name)
    measured = st.simulate(problem, model, few, dimension=200, trials=6)
    measured.plot(ax=ax, label=name)
labels = np.geomspace(0.25, 8, 7)
best = [st.oracle.learning_error(problem, 1.0 + a).test_error for a in labels]
ax.plot(labels, best, "-.", color="0.4", label="Bayes-optimal error")
ax.legend()
ax.set_ylim(0, 0.5)
