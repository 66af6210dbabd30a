"""The common style of all figures: colours, lines, markers.

Theory is a line, simulation a point with its standard error: a square for whole bags, a disc for
features alone. Points that did not converge are hollow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib.style
import numpy as np
from cycler import cycler
from matplotlib import cbook
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from sparsetoken.base.validation import InvalidInput
from sparsetoken.figures.palette import COLOURS as COLOURS
from sparsetoken.figures.palette import CYCLE, GREY, GRID

DPI = 200
"""Of a figure that is made here, on a screen and in a file."""
MARKERS = {"reduced": "o", "tensors": "s"}

STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=CYCLE),
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "sparsetoken",  # for equal files of equal figures
}
"""Settings of matplotlib; the gallery of the site has them too."""


def styled() -> AbstractContextManager[None]:
    """Use the style in a block only, upon matplotlib's own settings in place of the user's.

    His may need a LaTeX that is not there, or make images of no size.
    """
    return matplotlib.style.context(["default", STYLE])


def as_written(text: object) -> str:
    r"""Return a name or a label of someone else as text that is drawn as it is written.

    Its dollars would begin a formula, which may not be one, and half a pair of surrogates is no
    character.

    Examples
    --------
    >>> from sparsetoken.figures.style import as_written
    >>> print(as_written("5$ or $6"))
    5\$ or \$6
    """
    return str(text).encode(errors="backslashreplace").decode().replace("$", r"\$")


def log_axis(axis: Any, ticks: Sequence[float] = ()) -> None:
    """Make an axis logarithmic, with plain numbers at these ticks alone.

    Without ticks they are matplotlib's, with plain numbers where at most three decades are drawn.
    """
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    if ticks:
        axis.set_ticks(ticks, labels=[f"{t:g}" for t in ticks])
    elif axis.get_data_interval()[1] <= 1000 * axis.get_minpos():
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    else:
        return
    axis.set_minor_locator(NullLocator())


def draw(
    axes: Axes,
    x: Any,
    value: Any,
    error: Any = 0.0,
    *,
    engine: Any = "theory",
    converged: Any = True,
    colour: Any = None,
    line: str = "-",
    fmt: str = "",
    band: Any = None,
    **look: Any,
) -> Any:
    """Draw predictions as a line, and measurements as points with one standard error.

    Predictions that did not converge are hollow and off the line, such measurements are hollow.
    Without a colour it is the next of the cycle; it is returned.

    Parameters
    ----------
    axes : Axes
    x, value, error, engine, converged
        Arrays of one length, or what holds for all. The engine is theory for predictions.
    colour
        As of matplotlib.
    line : str
        Dashes of the line.
    fmt : str
        Marker of the points, with dashes that join them; by default that of their engine.
    band : pair of arrays, optional
        Lower and upper ends of an interval, shaded in the same colour.
    **look
        More looks of the line and the points, as of matplotlib.
    """
    x, *arrays = np.broadcast_arrays(x, value, error, engine, converged)
    value, error, engine, converged = arrays
    look, known = cbook.normalize_kwargs(look, Line2D), engine == "theory"
    if known.any():
        sound = np.where(converged, value, np.nan)[known]
        (drawn,) = axes.plot(x[known], sound, **{"linestyle": line, "color": colour, **look})
        colour, fallen = drawn.get_color(), known & ~converged & np.isfinite(value)
        if fallen.any():
            hollow(axes, x[fallen], value[fallen], colour)
    measured = zip(engine[~known].tolist(), converged[~known].tolist(), strict=True)
    for name, sound in dict.fromkeys(measured):
        some = (engine == name) & (converged == sound)
        given = {
            "fmt": fmt or MARKERS[name],
            "color": colour,
            "markerfacecolor": colour if sound else "white",
            "markeredgecolor": "white" if sound else colour,
            "markeredgewidth": 0.6 if sound else 1.3,
            "markersize": 9 if name == "tensors" and not fmt else 5,
            "elinewidth": 1.3,
            "capsize": 2.5,
            "zorder": 3 if name == "reduced" else 2.5,
        }
        bars = axes.errorbar(x[some], value[some], yerr=error[some], **(given | look))
        colour = bars.lines[0].get_color()
        # Once in a legend, and by its name everywhere else.
        look["label"] = "_" + str(look.get("label", "")).removeprefix("_")
    if band is not None:
        axes.fill_between(x, *band, color=colour, alpha=0.2, linewidth=0)
    return colour


def hollow(axes: Axes, xs: Any, ys: Any, colour: Any) -> None:
    """Mark points that did not converge."""
    axes.plot(xs, ys, "D", mfc="none", mec=colour, ms=4.5)


def meanings(drawn: Collection[tuple[str, bool]]) -> dict[str, dict[str, Any]]:
    """Return what marks mean, as entries of a legend, by engines and whether they converged."""
    engines, sound = {engine for engine, _ in drawn}, all(converged for _, converged in drawn)
    marks: dict[str, dict[str, Any]] = {}
    if "reduced" in engines:
        marks["simulation"] = {"marker": "o", "mec": "white", "mew": 0.6}
    if "tensors" in engines:
        marks["simulation, all tokens"] = {"marker": "s", "ms": 8, "mec": "white", "mew": 0.6}
    if not sound:
        marks["not converged"] = {"marker": "D", "mfc": "none", "mec": GREY}
    return {label: {"color": GREY, "ls": "none", **look} for label, look in marks.items()}


def handles(marks: Mapping[str, Mapping[str, Any]]) -> list[Line2D]:
    """Return the entries of a legend: labels with the look of their lines or marks."""
    return [Line2D([], [], label=label, **look) for label, look in marks.items()]


def legend(figure: Figure, marks: Mapping[str, Mapping[str, Any]], columns: int = 0) -> None:
    """Put a legend of such entries above the panels; nothing if there are none.

    It has as many columns as fit into the figure, at most those given. One of a single column is
    beside the panels.
    """
    entries = handles(marks)
    if columns == 1:
        figure.legend(handles=entries, loc="outside right upper")
        return
    for ncols in range(columns or len(entries), 0, -1):
        legend = figure.legend(handles=entries, loc="outside upper center", ncols=ncols)
        if ncols == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


@contextlib.contextmanager
def drawing(ax: Axes | None) -> Iterator[Axes]:
    """Give an axes to draw in: the one given, or that of a new figure in the package's style."""
    if ax is None:
        from matplotlib import pyplot

        with styled():
            yield pyplot.figure(figsize=(5.6, 3.9), dpi=DPI, layout="constrained").subplots()
    elif isinstance(ax, Axes):
        yield ax
    else:
        raise InvalidInput("ax", "a matplotlib Axes or None", type(ax).__name__)
