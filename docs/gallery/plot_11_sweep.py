"""
A sweep, on all cores or a cluster
==================================

A grid of predictions and simulations goes into a store that survives every interruption. The same
specification runs on all cores, or on a dask cluster: ``sparsetoken sweep SPEC.toml --cluster
ADDRESS``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from sparsetoken import sweep

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

[plot]
x = "alpha1"
value = "test_error"
"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "spec.toml"
    path.write_text(SPEC)
    grid = sweep.read_spec(path)
    with sweep.Store(Path(folder) / "sweep.sqlite") as store:
        counts = sweep.run(store, sweep.GridPlan(grid))
        rows = list(sweep.summaries(store))
print(counts)

# %%
# Lines are theory, points are means of two trials.

fig, ax = plt.subplots(layout="constrained")
for name in ("attention", "pooled"):
    for quantity, mark in (("theory", "-"), ("simulation", "o")):
        some = [r for r in rows if r.point["model"] == name and r.quantity == quantity]
        x = [row.point["alpha1"] for row in some]
        y = [row.values["test_error"] for row in some]
        ax.plot(
            x, y, mark, color="C0" if name == "attention" else "C1", label=f"{name}, {quantity}"
        )
ax.set(xscale="log", xlabel="labelled bags per dimension", ylabel="test error")
ax.legend()
