"""Draw tasks.png: descent on five tasks, and what a finite number of samples costs.

    python docs/images/tasks.py

Lines are theory, squares simulations with real tensors and one standard error.
"""

import math
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads are slower on busy cores

import matplotlib as mpl
import matplotlib.pyplot
import numpy as np

import sparsetoken as st
from sparsetoken.figures import style
from sparsetoken.figures.palette import BLACK, CYCLE, GREY, SEQUENCE, SKY, WINE
from sparsetoken.studies.descent_settings import TASKS

mpl.use("Agg")
STEPS, LOADS, TASK, TRIALS = 12, (2.0, 4.0, 8.0, 16.0, 32.0), "single location", 24
PLACE, VALUE = "overlap_q_place", "overlap_w_value"
DIMENSION = 600


def descents(task, alpha):
    """Return the limit of a descent, and its simulation if samples are finite."""
    problem, loss, q, w, c, overlaps = TASKS[task]
    descent = st.Descent(
        alpha=alpha,
        steps=STEPS,
        rates={"q": q, "w": w},
        rate_c=c,
        start={"q": 0.5, "w": 0.3},
        start_overlaps={"q": overlaps, "w": {}},
        loss=loss,
    )
    limit = st.descend(problem, descent, replicas=16, tolerance=2e-3).columns()
    if alpha == math.inf:
        return limit, None
    found = st.simulation.descend(problem, descent, dimension=DIMENSION, trials=TRIALS, at=[STEPS])
    return limit, found


def draw(axes, x, limit, at, measured, error, colour, label):
    """Draw a line of theory, and squares."""
    style.draw(axes, x, limit, colour=colour, label=label)
    style.draw(axes, at, measured, error, engine="tensors", colour=colour, ms=6)


def at_end(found, name):
    """Return mean and standard error of a quantity after the last step."""
    return found.mean.columns()[name][-1], found.standard_error.columns()[name][-1]


with style.styled():
    figure = mpl.pyplot.figure(figsize=(13.0, 4.2), layout="constrained")
    tasks, queries, costs = figure.subplots(1, 3)
    steps = np.arange(STEPS + 1)
    for task, colour in zip(TASKS, CYCLE, strict=False):
        limit, found = descents(task, LOADS[0])
        end = at_end(found, "test_error")
        draw(tasks, steps, limit["test_error"], [STEPS], *end, colour, task)
    runs = {alpha: descents(TASK, alpha) for alpha in (*LOADS, math.inf)}
    most = runs[math.inf][0]
    for alpha, colour in zip(runs, (*SEQUENCE, BLACK), strict=True):
        limit, found = runs[alpha]
        name = "n = ∞" if alpha == math.inf else f"n/d = {alpha:g}"
        end = at_end(found, PLACE) if found else (math.nan, math.nan)
        draw(queries, steps, limit[PLACE], [STEPS], *end, colour, name)
    for name, quantity, colour in (
        ("query: share of its overlap that is missing", PLACE, WINE),
        ("readout: share of its overlap that is missing", VALUE, SKY),
        ("test error above that of n = ∞", "test_error", GREY),
    ):
        full, sign = most[quantity][-1], 1.0 if quantity == "test_error" else -1.0
        scale = 1.0 if quantity == "test_error" else full
        ends = [at_end(found, quantity) for _, found in runs.values() if found]
        limits = [runs[alpha][0][quantity][-1] for alpha in LOADS]
        draw(
            costs,
            LOADS,
            sign * (np.array(limits) - full) / scale,
            LOADS,
            sign * (np.array([mean for mean, _ in ends]) - full) / scale,
            np.array([error for _, error in ends]) / abs(scale),
            colour,
            name,
        )
    note = f"squares: d = {DIMENSION}"
    tasks.set(title=f"softmax attention, n/d = {LOADS[0]:g}, {note}", ylabel="test error")
    queries.set(title=f"{TASK}, {note}", ylabel="overlap of query and place")
    costs.set(title=f"{TASK}, step {STEPS}, {note}", xlabel="n/d")
    for axes in (tasks, queries):
        axes.set(xlabel="steps", xticks=range(0, STEPS + 1, 2))
    style.log_axis(costs.xaxis, LOADS)
    costs.set(yscale="log")
    tasks.legend(loc="center left", bbox_to_anchor=(0, 0.6))
    queries.legend(loc="upper left")
    costs.legend(loc="lower left")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130)
