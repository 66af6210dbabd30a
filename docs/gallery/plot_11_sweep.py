"""
A sweep, on all cores or a cluster
==================================

A grid of predictions and simulations goes into a store that survives every
interruption. On the command line the same file runs on all cores,
``sparsetoken sweep SPEC.toml --store FILE --workers 8``, or on a dask cluster,
with ``--cluster ADDRESS``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from sparsetoken import sweep

# %%
# What is fixed, and what is varied.

SPEC = """
experiment = "learning"
quantities = ["theory", "simulation"]
trials = 2
seed = 0

[fixed]
loss = "square"
ridge = 0.05
cosine = 0.8
sharpness = 1.0
dimension = 100
length = 5
tolerance = 1e-3

[axes]
model = ["attention", "pooled"]
alpha1 = { from = 0.5, to = 8, points = 5, scale = "logarithmic" }
"""

# %%
# Run it. A second run would find that nothing is left to do; after a kill it
# would go on.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "spec.toml"
    path.write_text(SPEC)
    grid = sweep.read_spec(path)
    with sweep.Store(Path(folder) / "sweep.sqlite") as store:
        counts = sweep.run(store, sweep.GridPlan(grid))
        found = list(sweep.summaries(store))
print(counts)

# %%
# The rows as a table.

rows = pd.DataFrame(
    {**row.point, "quantity": row.quantity, "error": row.values["test_error"]}
    for row in found
)
print(
    rows.pivot(
        index="alpha1", columns=["model", "quantity"], values="error"
    ).round(3)
)

# %%
# Lines are theory, points are means of two trials.

fig, ax = plt.subplots(layout="constrained")
colors = {"attention": "C0", "pooled": "C1"}
for (model, quantity), part in rows.groupby(["model", "quantity"]):
    mark = "-" if quantity == "theory" else "o"
    label = model if quantity == "theory" else None
    ax.plot(part.alpha1, part.error, mark, color=colors[model], label=label)
ax.set_xscale("log")
ticks = [0.5, 1, 2, 4, 8]
ax.set_xticks(ticks, labels=ticks)
ax.minorticks_off()
ax.set(xlabel="labelled bags per dimension, n/d", ylabel="test error")
ax.legend()
