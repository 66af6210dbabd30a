"""
A sweep, on all cores or a cluster
==================================

A grid of predictions and simulations becomes named arrays on disk, which
survive every interruption. On the command line the same file runs on all cores,
``sparsetoken sweep SPEC.toml --store FILE --workers 8``, or on a dask cluster,
with ``--cluster ADDRESS``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import xarray as xr

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
# Run it. A second run would find nothing left to do; after a kill it would
# resume. The folder also has them as a Zarr group, ``results.zarr``.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "spec.toml"
    path.write_text(SPEC)
    print(sweep.run(sweep.read_spec(path), f"{folder}/sweep"))
    found = sweep.to_xarray(f"{folder}/sweep")

# %%
# An xarray Dataset has a dimension for each axis, and one for the trials.

errors = xr.Dataset(
    {
        "theory": found.theory_test_error,
        "simulation": found.simulation_test_error.mean("trial"),
    }
)
table = errors.to_dataframe()[["theory", "simulation"]]
print(table.unstack("model").round(3))

# %%
# Lines are theory, points are means of two trials.

fig, ax = plt.subplots(layout="constrained")
for color, model in zip(("C0", "C1"), errors.model.values, strict=True):
    part = errors.sel(model=model)
    ax.plot(part.alpha1, part.theory, color=color, label=model)
    ax.plot(part.alpha1, part.simulation, "o", color=color)
ax.set_xscale("log")
ticks = [0.5, 1, 2, 4, 8]
ax.set_xticks(ticks, labels=ticks)
ax.minorticks_off()
ax.set(xlabel="labelled bags per dimension, n/d", ylabel="test error")
ax.legend()
