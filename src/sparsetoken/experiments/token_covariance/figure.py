"""Figure: test error against the shared covariance, and against the decay of the spectrum."""

from __future__ import annotations

from matplotlib.figure import Figure

from sparsetoken.experiments.rows import Rows, select, series
from sparsetoken.experiments.token_covariance.rows import Simulated, Theory
from sparsetoken.experiments.token_covariance.work import CLASSIFIERS
from sparsetoken.figures import style

LABELS = {
    "between": "size of the covariance that a sample shares",
    "decay": "power by which eigenvalues fall",
}
COLOURS = {
    "attention": style.COLOURS["attention"],
    "whitened": style.COLOURS["vectorized"],
    "pooled": style.COLOURS["pooled"],
}
NAMES = {"whitened": "attention, whitened tokens"}


def draw(rows: Rows) -> Figure:
    """Draw one panel for each change."""
    figure, panels = style.new_figure(8.4, 3.7, 2)
    shown = []
    for axes, (change, classifiers) in zip(panels, CLASSIFIERS.items(), strict=True):
        for name in classifiers:
            place = {"change": change, "classifier": name}
            line = series(select(rows, Theory, **place), "value", "test_error")
            points = series(select(rows, Simulated, **place), "value", "test_error")
            shown += style.compared(axes, line, points, COLOURS[name])
        axes.set_ylim(0, None)
        style.axis_text(axes, x=LABELS[change], y="test error" * (axes is panels[0]))
    keys = [(NAMES.get(name, name), colour) for name, colour in COLOURS.items()]
    style.legend(figure, keys, shown)
    return figure


PICTURES = {"token_covariance": draw}
