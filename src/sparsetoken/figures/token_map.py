"""The tokens of a bag where they lie, coloured by their weights."""

from __future__ import annotations

import math

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from sparsetoken.base.validation import InvalidInput
from sparsetoken.figures.style import COLOURS

_SIDE = 2.6  # inches of a map
_MOST_COLUMNS = 3
CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def checked_places(name: str, given: object, length: int) -> np.ndarray:
    """Return coordinates of the tokens of a bag, or raise `InvalidInput`."""
    places = np.asarray(given, float)
    if places.shape != (length, 2) or not np.isfinite(places).all():
        legal = f"a finite array of shape ({length}, 2)"
        raise InvalidInput(name, legal, f"shape {places.shape}, or not finite")
    return places


def maps(n: int) -> tuple[Figure, np.ndarray]:
    """Return a figure with room for n maps, and their axes."""
    columns = min(n, _MOST_COLUMNS)
    rows = math.ceil(n / columns)
    figure = pyplot.figure(figsize=(columns * (_SIDE + 0.5), rows * _SIDE), layout="constrained")
    axes = np.array([figure.add_subplot(rows, columns, i + 1) for i in range(n)])
    return figure, axes


def draw_map(
    axes: Axes, w: np.ndarray, places: np.ndarray, top: np.ndarray, truth: np.ndarray, name: str
) -> PolyCollection:
    """Draw a square for each token, with frames around top and true ones.

    The first coordinate points to the right and the second down, as in pictures.
    """
    side = _spacing(places)
    squares = places[:, None] + side * CORNERS
    map_ = PolyCollection(list(squares), cmap="viridis", lw=0, rasterized=len(w) > 1000)
    map_.set_array(w)
    map_.set_clim(min(0.0, float(w.min())), float(w.max()) or 1.0)
    axes.add_collection(map_)
    for picked, colour in ((np.flatnonzero(truth), COLOURS["readout_cosine"]), (top, "black")):
        axes.add_collection(PolyCollection(list(squares[picked]), fc="none", ec=colour, lw=1.2))
    axes.set_xlim(places[:, 0].min() - side, places[:, 0].max() + side)
    axes.set_ylim(places[:, 1].max() + side, places[:, 1].min() - side)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.set_title(name)
    axes.figure.colorbar(map_, ax=axes, shrink=0.8, label="weight")
    return map_


def _spacing(places: np.ndarray) -> float:
    """Return the usual distance from a token to the nearest one, 1 for a token alone."""
    from scipy.spatial import cKDTree

    different = np.unique(places, axis=0)
    if len(different) < 2:
        return 1.0
    return float(np.median(cKDTree(different).query(different, 2)[0][:, 1]))
