"""
Figure 1 of the paper: test error and training loss of three models
===================================================================

One token in ten carries the signal. Attention, mean pooling and concatenated
tokens are fitted with the square loss and almost no ridge.
"""

# %%
# Lines are the limit of high dimension, points are means of eight trials at
# dimension 1000 with their standard errors.

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

curve = st.presets.learning_curves("square", alpha1=np.geomspace(0.25, 16, 61))
few = st.presets.learning_curves("square", alpha1=[0.5, 1, 2, 4])
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for model in curve.models:
    theory = st.predict(curve.problem, model, curve.readout, tolerance=1e-3)
    trials = st.simulate(
        few.problem, model, few.readout, dimension=1000, trials=8
    )
    for quantity, ax in zip(("test_error", "training_loss"), axes, strict=True):
        theory.plot(quantity, ax)
        trials.plot(quantity, ax)
axes[0].get_legend().remove()  # the one on the right is of both

# %%
# Each test error peaks where the training set is just fitted exactly: at as many
# bags as weights, which are d for attention and pooling and 10 d for concatenated
# tokens. From there on the training loss rises from 0.

plt.show()  # without a display: fig.savefig("figure_1.png")
