"""The page without a server: one file, with results on a grid inside."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sparsetoken.explorer.page import page
from sparsetoken.explorer.settings import PARAMETERS, Settings
from sparsetoken.explorer.views import capacity, descent, floor, numbers
from sparsetoken.files import require_place, written_whole
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.theory.query import working_query

GRID: dict[str, tuple[float, ...]] = {
    "length": (5, 10, 20),
    "informative": (1, 2),
    "strength": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    "alpha0": (0.3, 1.0, 3.0),
}
"""What can be moved on a static page."""
LOADS = (0.25, 0.4, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
DESCENT_LOADS = (1.0, 4.0)
"""n1/d of the courses of descent, which take a second each."""
DESCENT_KEY = ("length", "informative", "strength")
MODELS = ("attention", "pooled", "vectorized", "floor")
TOLERANCE = 2e-3


def export(
    folder: Path,
    grid: dict[str, tuple[float, ...]] | None = None,
    on_point: Callable[[int, int], None] = lambda done, of: None,
) -> Path:
    """Write the page with its results, and return its path.

    Parameters
    ----------
    folder : Path
        Made if it is missing.
    grid : dict, optional
        Values of each of the parameters of `GRID`; by default those.
    on_point : callable
        Called as on_point(done, of) after each point.

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
    points = [
        Settings(dict(zip(axes, values, strict=True)))
        for values in itertools.product(*axes.values())
        if dict(zip(axes, values, strict=True))["informative"] <= values[0]
    ]
    found: dict[str, Any] = {}
    descents: dict[str, Any] = {}
    for done, settings in enumerate(points, start=1):
        found[_key(settings, axes)] = _point(settings)
        if _key(settings, DESCENT_KEY) not in descents:
            descents[_key(settings, DESCENT_KEY)] = _descents(settings)
        on_point(done, len(points))
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
    }
    with written_whole(path) as aside:
        aside.write_text(page(content), encoding="utf-8")
    return path


def _key(settings: Settings, names: Iterable[str]) -> str:
    return "|".join(_text(settings[name]) for name in names)


def _text(value: float) -> str:
    """Return a number as JavaScript writes it."""
    return f"{value:g}"


def _point(settings: Settings) -> dict[str, Any]:
    problem = settings.problem()
    found: dict[str, Any] = {}
    for name in MODELS[:3]:
        readouts = [settings.readout(alpha) for alpha in LOADS]
        results = predict_readouts(problem, settings.model(name), readouts, TOLERANCE)
        found[name] = [round(p.test_error, 5) if p.status.converged else None for p in results]
    floors = {alpha: floor(settings, alpha, 256) for alpha in LOADS[::3]}
    found["floor"] = [
        round(floors[alpha].test_error, 5) if alpha in floors else None for alpha in LOADS
    ]
    query = working_query(problem, settings.model("attention"))
    assert query is not None
    found["query"] = [round(query.cosine, 4), round(query.sharpness, 4)]
    found["capacity"] = list(capacity(settings))
    return dict(numbers(found))


def _descents(settings: Settings) -> list[dict[str, Any]]:
    """Return the exact course of descent at each of `DESCENT_LOADS`."""
    found = []
    for alpha1 in DESCENT_LOADS:
        *_, course = descent(settings.replace(alpha1=alpha1))
        for name in ("test_error", "training_loss", "cosine"):
            course[name] = [round(value, 5) for value in course[name]]
        found.append({"alpha1": alpha1, **course})
    return list(numbers(found))
