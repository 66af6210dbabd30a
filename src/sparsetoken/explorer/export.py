"""The page without a server: one file, with results on a grid inside."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.base.files import require_place, written_whole
from sparsetoken.base.progress import progress_of
from sparsetoken.explorer.page import page
from sparsetoken.explorer.settings import PRESETS, Settings
from sparsetoken.explorer.views import VIEWS, capacity, floors, predictions, query

Axes = Mapping[str, Sequence[float]]

LOADS = (0.25, 0.4, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
SLOW = ("descent", "networks")
"""Views that take seconds for a setting: in the story that starts with one, for each load."""
MODELS = ("attention", "pooled", "vectorized", "floor")
TOLERANCE = 2e-3


def export(folder: Path, grids: Mapping[str, Axes] | None = None) -> Path:
    """Write the page with its results, and return its path, which a browser opens without a server.

    The grids say, by the name of a story, the values of each parameter at which its sliders stop;
    stories left out are not on the page. By default they are all stories with their own grids. If
    the disk is full, an older page stays.
    """
    path = folder / "index.html"
    folder.mkdir(parents=True, exist_ok=True)
    require_place("folder", path)  # before the work
    stories = {preset["name"]: preset for preset in PRESETS}
    chosen = {name: story["grid"] for name, story in stories.items()} if grids is None else grids
    sheets = {name: _sheet(stories[name], grid) for name, grid in chosen.items()}
    with progress_of("settings", sum(len(sheet["points"]) for sheet in sheets.values())) as done:
        for sheet in sheets.values():
            for key, settings in sheet["points"].items():
                sheet["points"][key] = _point(settings, sheet["view"], sheet["axes"]["alpha1"])
                done()
    content = {"loads": LOADS, "models": MODELS, "tolerance": TOLERANCE, "sheets": sheets}
    with written_whole(path) as aside:
        aside.write_text(page(content), encoding="utf-8")
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
    return {"view": story["view"], "axes": axes, "key": names, "fixed": fixed, "points": points}


def _point(settings: Settings, view: str, loads: Sequence[float]) -> dict[str, Any]:
    point: dict[str, Any] = {}
    for name in MODELS[:3]:
        results = predictions(settings, name, LOADS, TOLERANCE)
        point[name] = np.where(results.converged, results.test_error.round(5), np.nan)
    point["floor"] = np.full(len(LOADS), np.nan)
    point["floor"][::3] = [f.test_error.round(5) for f in floors(settings, LOADS[::3])]
    point["query"] = _rounded(*query(settings))
    point["capacity"] = list(capacity(settings))
    if view in SLOW:
        point[view] = [
            [_rounded(event) for event in VIEWS[view](settings.replace(alpha1=alpha1))]
            for alpha1 in loads
        ]
    return point


def _rounded(event: dict[str, Any]) -> dict[str, Any]:
    return {n: np.round(x, 5) if isinstance(x, np.ndarray | float) else x for n, x in event.items()}
