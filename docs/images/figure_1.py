"""Draw figure_1.png, the picture of the README: the first example of the gallery.

    python docs/images/figure_1.py

A dashed line is added, the test error of mean pooling with infinitely many labels.
"""

import dataclasses
import math
import os
import runpy
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads are slower on busy cores

import matplotlib as mpl

import sparsetoken as st
from sparsetoken.figures.style import COLOURS, STYLE

HERE = Path(__file__).parent
TICKS = (0.25, 0.5, 1, 2, 4, 10, 16)

mpl.use("Agg")
mpl.rcParams.update(STYLE)
example = runpy.run_path(str(HERE.parent / "gallery" / "plot_00_figure_1.py"))
curve = example["curve"]
endless = dataclasses.replace(curve.readout, alpha1=math.inf)
least = float(st.predict(curve.problem, st.Pooled(), endless).test_error)
fig, axes = example["fig"], example["axes"]
ax = axes[0]
ax.axhline(least, color=COLOURS["pooled"], linestyle="--", linewidth=1)
ax.text(1.6, least, "mean pooling, α₁ = ∞", va="bottom", fontsize="small")
ax.set_ylim(bottom=0)
for axis in axes:
    axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axis.set_xlabel("labels of the classifier per dimension, α₁ = n₁/d")
    for line in axis.lines:
        line.set_zorder(line.get_zorder() + (line.get_color() == COLOURS["attention"]))
axes[1].get_legend().set_title(None)  # the title of the figure says it
title = (
    "Lines: limit d → ∞. Points: simulations at d = 1000. "
    "Attention has one more label per dimension, to learn where to look."
)
fig.suptitle(title, fontsize="medium")
fig.savefig(HERE / "figure_1.png", dpi=200)
