"""The page without a server: one file, with results on a grid inside."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.explorer.page import page
from sparsetoken.explorer.settings import PARAMETERS, Settings
from sparsetoken.explorer.views import capacity, descent, floors, networks, predictions, query
from sparsetoken.files import require_place, written_whole
from sparsetoken.progress import progress_of

GRID: dict[str, tuple[float, ...]] = {
    "length": (5, 10, 20),
    "informative": (1, 2),
    "strength": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    "alpha0": (0.3, 1.0, 3.0),
}
"""What can be moved on a static page."""
LOADS = (0.25, 0.4, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
DESCENT_LOADS = (1.0, 4.0)
"""n1/d of the courses of descent, which take a second each, and of those of networks."""
DESCENT_KEY = ("length", "informative", "strength")
NETWORK_EVENTS = 4
"""The floor, softmax attention, several heads and gated attention: self-attention takes longer."""
MODELS = ("attention", "pooled", "vectorized", "floor")
TOLERANCE = 2e-3


def export(folder: Path, grid: dict[str, tuple[float, ...]] | None = None) -> Path:
    """Write the page with its results, and return its path.

    Parameters
    ----------
    folder : Path
        Made if it is missing.
    grid : dict, optional
        Values of each of the parameters of `GRID`; by default those.

    Returns
    -------
    Path
        ``index.html`` in the folder, which a browser opens without any server.

    Raises
    ------
    InvalidInput
        If the folder cannot be written.
    OSError
        If it cannot be made, or the disk is full; an older page then stays.
    """
    path = folder / "index.html"
    folder.mkdir(parents=True, exist_ok=True)
    require_place("folder", path)  # before the work
    axes = GRID if grid is None else grid
    places = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    points = [Settings(p) for p in places if p["informative"] <= p["length"]]
    found: dict[str, Any] = {}
    descents: dict[str, Any] = {}
    courses: dict[str, Any] = {}
    task = {"length": axes["length"][len(axes["length"]) // 2], "informative": 1}
    with progress_of("settings", len(points)) as done:
        for settings in points:
            found[_key(settings, axes)] = _point(settings)
            if _key(settings, DESCENT_KEY) not in descents:
                descents[_key(settings, DESCENT_KEY)] = _descents(settings)
            strength = _key(settings, ("strength",))
            if strength not in courses and all(settings[n] == task[n] for n in task):
                courses[strength] = _networks(settings)
            done()
    content = {
        "axes": {**axes, "alpha1": LOADS},
        "fixed": {p.name: p.default for p in PARAMETERS if p.name not in axes},
        "key": list(axes),
        "loads": LOADS,
        "models": MODELS,
        "tolerance": TOLERANCE,
        "presets": ["default"],
        "points": found,
        "descent_key": DESCENT_KEY,
        "descents": descents,
        "networks": {"task": task, "courses": courses},
    }
    with written_whole(path) as aside:
        aside.write_text(page(content), encoding="utf-8")
    return path


def _key(settings: Settings, names: Iterable[str]) -> str:
    """Return the values of parameters as JavaScript writes them."""
    return "|".join(f"{settings[name]:g}" for name in names)


def _point(settings: Settings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in MODELS[:3]:
        results = predictions(settings, name, LOADS, TOLERANCE)
        found[name] = np.where(results.converged, results.test_error.round(5), np.nan)
    found["floor"] = np.full(len(LOADS), np.nan)
    found["floor"][::3] = [f.test_error.round(5) for f in floors(settings, LOADS[::3])]
    (told,) = query(settings)
    found["query"] = [round(told[name], 4) for name in ("cosine", "sharpness")]
    found["capacity"] = list(capacity(settings))
    return found


def _descents(settings: Settings) -> list[dict[str, Any]]:
    """Return the exact course of descent at each of `DESCENT_LOADS`."""
    found = []
    for alpha1 in DESCENT_LOADS:
        *_, course = descent(settings.replace(alpha1=alpha1))
        rounded = {
            name: course[name].round(5) for name in ("test_error", "training_loss", "cosine")
        }
        found.append({"alpha1": alpha1, **course, **rounded})
    return found


def _networks(settings: Settings) -> list[dict[str, Any]]:
    """Return the events of the view of networks at each of `DESCENT_LOADS`."""
    found = []
    for alpha1 in DESCENT_LOADS:
        stream = networks(settings.replace(alpha1=alpha1))
        events = [
            {n: x.round(5) if isinstance(x, np.ndarray) else x for n, x in event.items()}
            for event in itertools.islice(stream, NETWORK_EVENTS)
        ]
        found.append({"alpha1": alpha1, "events": events})
    return found
