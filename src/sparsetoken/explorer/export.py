"""The page without a server: one file, with results on a grid inside."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from sparsetoken.base.files import require_place, write_whole
from sparsetoken.base.progress import progress_of
from sparsetoken.explorer.events import BAYES_POINTS
from sparsetoken.explorer.page import page
from sparsetoken.explorer.settings import PRESETS, Settings
from sparsetoken.explorer.training import descent
from sparsetoken.explorer.views import capacity, peak_loads, query
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout
from sparsetoken.model.tokens import Isotropic
from sparsetoken.theory import predict
from sparsetoken.theory.oracle import learning_error

Axes = Mapping[str, Sequence[float]]

LOADS = (0.25, 0.4, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
MODELS = ("attention", "pooled", "vectorized", "bayes")
TOLERANCE, REPLICAS = 2e-3, 3
UNKEPT = ("working", "code")
"""Events that are not for the page; code of what lies on a grid of its own would say less."""
LABELS = np.geomspace(0.25, 64, 7)
"""Of readout and query, between which the Bayes-optimal error is interpolated."""


def export(folder: Path, grids: Mapping[str, Axes] | None = None) -> Path:
    """Write the page with its results, and return its path, which a browser opens without a server.

    The grids say, by the name of a story, the values of each parameter at which its sliders stop;
    stories left out are not on the page. By default they are all stories with their own grids. If
    the disk is full, an older page stays; a folder that is not there yet is made with its page.
    """
    path = folder / "index.html"
    there = next(one for one in (folder, *folder.resolve().parents) if one.exists())
    require_place("--export", there / "index.html")  # before the work
    stories = {preset["name"]: preset for preset in PRESETS}
    chosen = {name: story["grid"] for name, story in stories.items()} if grids is None else grids
    sheets = {name: _sheet(stories[name], grid) for name, grid in chosen.items()}
    with progress_of("settings", sum(len(sheet["points"]) for sheet in sheets.values())) as done:
        for sheet in sheets.values():
            for key, settings in sheet["points"].items():
                sheet["points"][key] = _point(settings, sheet)
                done()
    content = {"loads": LOADS, "models": MODELS, "tolerance": TOLERANCE, "sheets": sheets}
    folder.resolve().mkdir(parents=True, exist_ok=True)  # that of a link, too
    write_whole(path, page(content).encode())
    return path


def _sheet(story: dict[str, Any], grid: Axes) -> dict[str, Any]:
    """Return what is fixed and what moves in a story, and its settings by their places in axes.

    The load alpha1 always moves, and has no part in the keys: a point holds all loads.
    """
    axes = {"alpha1": LOADS, **grid}
    names = [name for name in axes if name != "alpha1"]
    points = {}
    for places in itertools.product(*(range(len(axes[name])) for name in names)):
        moved = {name: axes[name][i] for name, i in zip(names, places, strict=True)}
        values = {**PRESETS[0]["settings"], **story["settings"], **moved}
        if "informative" not in moved or moved["informative"] <= moved.get("length", np.inf):
            points["|".join(map(str, places))] = Settings(values)
    start = Settings({**PRESETS[0]["settings"], **story["settings"]})
    fixed = {name: value for name, value in start.values.items() if name not in axes}
    peaks = itertools.chain.from_iterable(map(peak_loads, points.values()))
    return {
        "view": story["view"],
        "axes": axes,
        "key": names,
        "fixed": fixed,
        "loads": sorted({*LOADS, *peaks}),
        "points": points,
    }


def _point(settings: Settings, sheet: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results at one setting; the errors are those at the loads of the sheet."""
    point: dict[str, Any] = {}
    readout = settings.readout(sheet["loads"])
    for name in MODELS[:3]:
        point[name] = _errors(settings.problem(), settings.model(name), readout)
    labels = np.array(sheet["loads"]) + settings["alpha0"]
    point["bayes"] = _bayes(settings.problem())(np.log(labels)).round(5)
    point["query"] = _rounded(next(query(settings)))
    point["capacity"] = [event for event in capacity(settings) if event["kind"] not in UNKEPT]
    if sheet["view"] == "descent":  # which takes seconds for a setting and load
        at_loads = (settings.replace(alpha1=alpha1) for alpha1 in sheet["axes"]["alpha1"])
        followed = (descent(at, replicas=(REPLICAS,)) for at in at_loads)
        point["descent"] = [
            [_rounded(event) for event in events if event["kind"] not in UNKEPT]
            for events in followed
        ]
    return point


@functools.cache
def _errors(problem: SparseTokenProblem, model: Model, readout: Readout) -> np.ndarray:
    """Return the test error of a model at each load: settings of the query are those of one."""
    found = predict(problem, model, readout, tolerance=TOLERANCE, progress=False)
    return np.where(found.converged, found.test_error.round(5), np.nan)


@functools.cache
def _bayes(problem: SparseTokenProblem) -> Callable[[np.ndarray], np.ndarray]:
    """Return the Bayes-optimal error over the logarithm of the labels."""
    if not isinstance(problem.tokens, Isotropic):
        return lambda labels: np.full(len(labels), np.nan)
    errors = [learning_error(problem, n, points=BAYES_POINTS).test_error for n in LABELS.tolist()]
    return PchipInterpolator(np.log(LABELS), errors)


def _rounded(value: Any) -> Any:
    """Return results with numbers of the page's accuracy."""
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return np.round(value, 5) if isinstance(value, np.ndarray | float) else value
