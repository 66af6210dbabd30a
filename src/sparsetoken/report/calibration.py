"""How the comparisons with simulations scatter: their z, and the shifts of finite dimension."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from sparsetoken.experiments.claims import Comparison
from sparsetoken.experiments.finite_dimension import SHIFTS, Shift, pooled_shift, scale_of
from sparsetoken.experiments.rules import LARGEST_Z
from sparsetoken.figures import style

EDGE = 5.0  # of the histogram; what lies beyond is counted at the edge


@dataclasses.dataclass(frozen=True)
class Scatter:
    """Of the comparisons with a simulation that have no bound below which nothing counts.

    Attributes
    ----------
    z, raw : tuple of float
        With the shift of finite dimension and without it; a correct theory has standard normal
        z. A z of exactly 0 is that of a one-sided comparison, and is left out.
    bounded : int
        The comparisons that are left out.
    """

    z: tuple[float, ...]
    raw: tuple[float, ...]
    bounded: int

    @property
    def spreads(self) -> dict[str, float]:
        """The standard deviations of z and raw by name; nan of fewer than two numbers."""
        return {name: _spread(getattr(self, name)) for name in ("z", "raw")}

    @property
    def mean(self) -> float:
        """The mean of z; nan of none."""
        return float(np.mean(self.z)) if self.z else math.nan

    @property
    def false_alarm(self) -> float:
        """The chance that a correct theory exceeds the bound in one comparison at least."""
        count = len(self.z) + self.bounded
        return float(-np.expm1(count * np.log1p(-2 * stats.norm.sf(LARGEST_Z))))


def scatter_of(comparisons: Iterable[Comparison]) -> Scatter:
    """Return how the comparisons with a simulation scatter."""
    judged = [c for c in comparisons if math.isfinite(c.z) and math.isfinite(c.raw_z)]
    free = [c for c in judged if c.allowance == 0 and c.raw_z]
    z, raw = tuple(c.z for c in free), tuple(c.raw_z for c in free)
    return Scatter(z, raw, len(judged) - len(free))


def shifts(comparisons: Iterable[Comparison]) -> dict[str, tuple[Shift, Shift]]:
    """Return c by quantity: as it is used, and as these comparisons measure it."""
    found: dict[str, list[tuple[float, float]]] = {}
    for c in comparisons:
        used, scale = SHIFTS.get(c.quantity), scale_of(c.quantity, c.theory)
        error = math.hypot(c.standard_error, c.numerical_error)
        known = c.dimension and math.isfinite(c.z) and 0 < error < scale
        if used is None or not known:
            continue
        # Only where the shift is that of the quantity is d the size that it counts in.
        if math.isclose(c.shift_error, used.deviation / c.dimension * scale, rel_tol=1e-6):
            per = c.dimension / scale
            found.setdefault(c.quantity, []).append(((c.measured - c.theory) * per, error * per))
    return {
        name: (SHIFTS[name], pooled_shift(some)) for name, some in found.items() if len(some) > 1
    }


def draw_scatter(scatter: Scatter) -> Figure:
    """Draw histograms of z, without the shift and with it, beside the standard normal."""
    figure, panels = style.new_figure(8.0, 3.2, 2)
    titles = {"raw": "without a shift of finite dimension", "z": "as judged"}
    edges = np.linspace(-EDGE, EDGE, 21)
    middles, line = (edges[1:] + edges[:-1]) / 2, np.linspace(-EDGE, EDGE, 201)
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        values = np.clip(getattr(scatter, name), -EDGE, EDGE)
        counts, _ = np.histogram(values, edges)
        axes.step(middles, counts, where="mid", color=style.COLOURS["attention"], label=title)
        expected = len(values) * (edges[1] - edges[0]) * stats.norm.pdf(line)
        axes.plot(line, expected, color="black", lw=1, label="standard normal")
        style.axis_text(axes, x="z", y="comparisons", title=title)
    return figure


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values)) if len(values) > 1 else math.nan
