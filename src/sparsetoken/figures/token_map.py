"""The tokens of a bag where they lie, coloured by what is said of them."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

from sparsetoken.base.validation import InvalidInput
from sparsetoken.figures.style import COLOURS

_SIDE = 2.6  # inches of a map
_MOST_COLUMNS = 3
_LINE = 32  # characters above a map
_FARTHEST = 1e12  # of coordinates, whose squares and their sums are finite
CORNERS = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
"""Of a square, in units of its side, from the corner where its token lies."""


def checked_places(name: str, given: object, length: int) -> np.ndarray:
    """Return coordinates of the tokens of a bag, or raise `InvalidInput`."""
    places = np.asarray(given, float)
    legal = f"an array of shape ({length}, 2), of numbers of magnitude at most {_FARTHEST:g}"
    if places.shape != (length, 2):
        raise InvalidInput(name, legal, f"shape {places.shape}")
    if not (sound := np.abs(places) <= _FARTHEST).all():
        raise InvalidInput(name, legal, float(places[~sound][0]))
    return places


def maps(n: int) -> tuple[Figure, np.ndarray]:
    """Return a figure with room for n maps, and their axes."""
    rows = math.ceil(n / _MOST_COLUMNS)
    columns = math.ceil(n / rows)
    figure = pyplot.figure(figsize=(columns * _SIDE + 1, rows * _SIDE), layout="constrained")
    axes = np.array([figure.add_subplot(rows, columns, i + 1) for i in range(n)])
    return figure, axes


def draw_map(
    axes: Axes,
    w: np.ndarray,
    places: np.ndarray,
    top: np.ndarray,
    truth: np.ndarray,
    name: str,
    image: np.ndarray | None,
    scale: float,
    **look: Any,
) -> PolyCollection:
    """Draw a square for each token, with frames around top and true ones, and an image below.

    The first coordinate points to the right and the second down, as in pictures. An image has
    `scale` units of the coordinates in a pixel.
    """
    side = spacing(places) or 1.0
    squares = places[:, None] + side * CORNERS
    if image is not None:
        height, width = (scale * pixels for pixels in image.shape[:2])
        axes.imshow(image, cmap="gray", extent=(0, width, height, 0))
        look["alpha"] = 0.6
    map_ = PolyCollection(list(squares), array=w, lw=0, rasterized=len(w) > 1000, **look)
    axes.add_collection(map_)
    for picked, colour in ((np.flatnonzero(truth), COLOURS["readout_cosine"]), (top, "black")):
        axes.add_collection(PolyCollection(list(squares[picked]), fc="none", ec=colour, lw=1.2))
    axes.set_xlim(places[:, 0].min() - side / 2, places[:, 0].max() + 1.5 * side)
    axes.set_ylim(places[:, 1].max() + 1.5 * side, places[:, 1].min() - side / 2)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_title(textwrap.fill(name, _LINE))
    return map_


def draw_scale_bar(axes: Axes, microns: float) -> None:
    """Draw a bar of a round length, at most a third of a map with so many microns in a unit."""
    most = microns * float(np.ptp(axes.get_xlim())) / 3
    decade = 10.0 ** math.floor(math.log10(most))
    length = max(m * decade for m in (1, 2, 5) if m * decade <= most)
    text = f"{length / 1000:g} mm" if length >= 1000 else f"{length:g} µm"
    place = {"loc": "upper right", "bbox_to_anchor": (1, 0), "bbox_transform": axes.transAxes}
    bar = AnchoredSizeBar(axes.transData, length / microns, text, frameon=False, pad=0, **place)
    axes.add_artist(bar)


def spacing(places: np.ndarray) -> float:
    """Return the usual distance from a token to the nearest one, 0 for a token alone."""
    from scipy.spatial import cKDTree

    different = np.unique(places, axis=0)
    if len(different) < 2:
        return 0.0
    return float(np.median(cKDTree(different).query(different, 2)[0][:, 1]))
