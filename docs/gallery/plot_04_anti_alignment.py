"""
Anti-alignment: when the query turns away
=========================================

Two gradient steps turn the query towards the signal, if classes are balanced.
With rare positives and a small step of the bias it learns to look away from
the signal, and more data make this worse.
"""

import numpy as np

import sparsetoken as st

# %%
# Six bags in a hundred are positive. The step size of the bias in the first
# gradient step decides: after a small step the bias does not match the rare
# positives, and the many negative bags turn the query away from the signal.

alpha0, eta_b = np.geomspace(0.1, 100, 25), np.array([[0.5], [5.0], [20.0]])
rare = st.presets.anti_alignment(0.06, alpha0=alpha0, eta_b=eta_b)
ax = st.align(rare.problem, rare.query).plot("cosine")
ax.axhline(0, color="black", linewidth=0.8)

# %%
# The advice of a prediction explains it, with a remedy.

found = st.predict(rare.problem, st.Attention(st.TwoSteps(alpha0=2.0)))
print(*found.advice[0].split(". "), sep=".\n")
