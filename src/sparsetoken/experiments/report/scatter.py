"""Figure: how the z of all comparisons with simulations scatter."""

from __future__ import annotations

import numpy as np
from scipy import stats

from sparsetoken.experiments.core.calibration import Scatter
from sparsetoken.experiments.core.rows import Row
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLACK, COLOURS

EDGE = 5.0  # of the histogram; what lies beyond is counted at the edge


def draw_scatter(scatter: Scatter) -> Plot:
    """Draw histograms of z, without the shift and with it, beside the standard normal."""
    edges, titles = np.linspace(-EDGE, EDGE, 21), ("without finite-size shift", "with the shift")
    panels = []
    for title, values in zip(titles, (scatter.raw, scatter.z), strict=True):
        counts, _ = np.histogram(np.clip(values, -EDGE, EDGE), edges)
        middles, line = (edges[1:] + edges[:-1]) / 2, np.linspace(-EDGE, EDGE, 201)
        expected = len(values) * (edges[1] - edges[0]) * stats.norm.pdf(line)
        numbers = _rows("counted", middles, counts)
        steps = Curve("comparisons", COLOURS["attention"], numbers, look={"drawstyle": "steps-mid"})
        normal = Curve("standard normal", BLACK, _rows("expected", line, expected))
        panels.append(Panel("z", Axis("z"), Axis("comparisons"), [steps, normal], title))
    return curves(panels, 8.0, 3.2)


def _rows(series: str, z: np.ndarray, counts: np.ndarray) -> list[Row]:
    pairs = zip(z.tolist(), counts.tolist(), strict=True)
    return [Row(series, "comparisons", count, at={"z": at}) for at, count in pairs]
