"""The common style of all figures: colours, lines, markers.

Theory is a line, simulation a point with its standard error: a square for real tensors, a disc for
the reduced engine. Points that did not converge are hollow.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib
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

MARKERS = {"reduced": "o", "tensors": "s"}

STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=CYCLE),
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
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
}
"""Settings of matplotlib; the gallery of the site has them too."""


@contextlib.contextmanager
def styled(salt: str = "sparsetoken") -> Iterator[None]:
    """Use the style in this block only; `salt` makes the ids of an SVG its own."""
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        yield


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty figure and its row of axes; call it inside `styled`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)
    return figure, list(axes[0])


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
    try:
        written = str(text)
    except ValueError:  # of more than 4300 digits
        raise InvalidInput("name or label", "a text", text) from None
    return written.encode(errors="backslashreplace").decode().replace("$", r"\$")


def axis_text(axes: Axes, *, x: str, y: str, title: str = "") -> None:
    """Set labels and title."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if title:
        axes.set_title(title, loc="left")


def note(
    axes: Axes, text: str, at: tuple[float, float], shift: tuple[float, float] = (3, 0), **look: Any
) -> None:
    """Write a text so many points beside a place; `look` is that of matplotlib."""
    axes.annotate(text, at, xytext=shift, textcoords="offset points", **look)


class Shown(NamedTuple):
    """A number that is drawn, predicted (engine theory) or measured, with its error.

    Rows of experiments have the same attributes.
    """

    value: float
    error: float
    engine: str
    status: str

    @property
    def converged(self) -> bool:
        """Whether it may be trusted."""
        return self.status == "converged" and math.isfinite(self.value)


Series = Sequence[tuple[float, Any]]
"""Pairs of a coordinate and a `Shown` or a row."""


def series_of(engine: str, *arrays: np.ndarray) -> list[tuple[float, Shown]]:
    """Return what is drawn of x, values, errors and statuses; nothing where one is missing."""
    rows = zip(*(array.tolist() for array in arrays), strict=True)
    return [(at, Shown(v, error, engine, s)) for at, v, error, s in rows if s != "missing"]


def log_ticks(axes: Axes, *, x: Sequence[float] = (), y: Sequence[float] = ()) -> None:
    """Make an axis logarithmic, with plain numbers at these ticks alone."""
    if x:
        axes.set_xscale("log")
        axes.set_xticks(x, [f"{t:g}" for t in x])
    if y:
        axes.set_yscale("log")
        axes.set_yticks(y, [f"{t:g}" for t in y])
    axes.minorticks_off()


def log_axis(axis: Any) -> None:
    """Make an axis logarithmic; where at most three decades are drawn, with plain numbers."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    if axis.get_data_interval()[1] <= 1000 * axis.get_minpos():
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(NullLocator())


def predicted(axes: Axes, series: Series, colour: str | None, line: str = "-", **look: Any) -> Any:
    """Draw pairs (x, value) as a line; values that did not converge are hollow and off it.

    The colour is returned: without one it is the next of the cycle.
    """
    nan = float("nan")
    values = [v.value if v.converged else nan for _, v in series]
    given = {"linestyle": line, "color": colour} | cbook.normalize_kwargs(look, Line2D)
    (drawn,) = axes.plot([x for x, _ in series], values, **given)
    fallen = [(x, v.value) for x, v in series if not v.converged and math.isfinite(v.value)]
    if fallen:
        xs, ys = zip(*fallen, strict=True)
        hollow(axes, xs, ys, drawn.get_color())
    return drawn.get_color()


def hollow(axes: Axes, xs: Any, ys: Any, colour: Any, size: float = 4.5) -> None:
    """Mark points that did not converge."""
    axes.plot(xs, ys, "D", mfc="none", mec=colour, ms=size)


def measured(axes: Axes, series: Series, colour: Any, **look: Any) -> None:
    """Draw pairs (x, value) as points with one standard error up and down.

    The marker, `fmt`, is by default that of the engine.
    """
    look = cbook.normalize_kwargs(look, Line2D)
    for engine, converged in dict.fromkeys((v.engine, v.converged) for _, v in series):
        some = [(x, v) for x, v in series if (v.engine, v.converged) == (engine, converged)]
        given = {
            "fmt": MARKERS[engine],
            "color": colour,
            "markerfacecolor": colour if converged else "white",
            "markeredgecolor": "white" if converged else colour,
            "markeredgewidth": 0.6 if converged else 1.3,
            "markersize": 9 if engine == "tensors" else 5,
            "elinewidth": 1.3,
            "capsize": 2.5,
            "zorder": 3 if engine == "reduced" else 2.5,
        }
        xs, values = [x for x, _ in some], [v.value for _, v in some]
        bars = axes.errorbar(xs, values, yerr=[v.error for _, v in some], **(given | look))
        colour = bars.lines[0].get_color()
        look = {name: x for name, x in look.items() if name != "label"}  # once in a legend


def meanings(shown: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Return what the marks of drawn numbers mean, as entries of a legend."""
    shown, marks = list(shown), {}
    shape = {"color": GREY, "ls": "none", "mec": "white", "mew": 0.6}
    if any(v.engine == "reduced" for v in shown):
        marks["simulation"] = {"marker": "o", **shape}
    if any(v.engine == "tensors" for v in shown):
        marks["simulation, real tensors"] = {"marker": "s", "ms": 8, **shape}
    if not all(v.converged for v in shown):
        marks["not converged"] = {"marker": "D", "mfc": "none", "mec": GREY, "ls": "none"}
    return marks


def legend(
    figure: Figure, marks: Mapping[str, Mapping[str, Any]], columns: int = 0, beside: bool = False
) -> None:
    """Put a legend above the panels or beside them: labels with the look of their lines or marks.

    The columns of one above are at most so many, by default one for each label.
    """
    handles = [Line2D([], [], label=label, **look) for label, look in marks.items()]
    if beside:
        figure.legend(handles=handles, loc="outside right upper")
    else:
        _above(figure, handles, list(marks), columns or len(handles))


def _above(figure: Figure, handles: Sequence[Any], labels: Sequence[str], most: int) -> None:
    """Put a legend above the panels, in as many columns as fit into the figure."""
    for ncols in range(most, 0, -1):
        legend = figure.legend(handles, labels, loc="outside upper center", ncols=ncols)
        if ncols == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


_SIZE = (5.6, 3.9)  # of a new figure with one panel, in inches


@contextlib.contextmanager
def drawing(ax: Axes | None) -> Iterator[Axes]:
    """Give the axes to draw on: those of the caller, or a new figure in the package's style."""
    with style_of(ax):
        yield panels(ax, 1, 1, _SIZE)[0, 0]


def style_of(ax: Axes | None) -> contextlib.AbstractContextManager[None]:
    """Return the style of the package for a new figure, and nothing for axes that have a style."""
    return styled() if ax is None else contextlib.nullcontext()


def panels(
    ax: Axes | None, rows: int, columns: int, size: tuple[float, float], **share: Any
) -> np.ndarray:
    """Return axes in rows and columns, in a new figure or in the place of one axes.

    For more than one panel the place of the axes is divided, and it is switched off. The size is
    that of a new figure in inches; to share are ``sharex`` and ``sharey``.
    """
    if ax is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=size, layout="constrained")
        return figure.subplots(rows, columns, squeeze=False, **share)
    if not isinstance(ax, Axes):
        raise InvalidInput("ax", "a matplotlib Axes or None", type(ax).__name__)
    if rows * columns == 1:
        return np.array([[ax]])
    place = ax.get_subplotspec()
    if place is None:
        legal = f"None or an Axes of a grid, for {rows * columns} panels"
        raise InvalidInput("ax", legal, "an Axes without a grid", "pyplot.subplots makes one.")
    ax.set_axis_off()
    return place.subgridspec(rows, columns).subplots(squeeze=False, **share)
