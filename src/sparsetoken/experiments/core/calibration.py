"""Calibration of the comparisons with simulations: their z, and the finite-size shifts."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import stats

from sparsetoken.experiments.core.claims import Comparison, largest_z
from sparsetoken.experiments.core.finite_dimension import SHIFTS, Shift
from sparsetoken.experiments.core.rows import Row
from sparsetoken.experiments.core.rules import LARGEST_Z
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLACK, COLOURS


class Scatter(NamedTuple):
    """The z of comparisons with a simulation without a bound below which differences do not count.

    Raw ones are without the shift of finite dimension; a correct theory has standard normal z. A z
    of exactly 0 is that of a one-sided comparison, and is omitted and counted as bounded.
    """

    z: list[float]
    raw: list[float]
    bounded: int

    @property
    def largest(self) -> float:
        """The largest |z|; 0 of none."""
        return max(map(abs, self.z), default=0.0)

    @property
    def chance(self) -> float:
        """The probability that the same number of standard normals includes a larger |z|."""
        return _any_beyond(self.largest, len(self.z))

    @property
    def false_alarm(self) -> float:
        """The chance that a correct theory exceeds the bound in one comparison at least."""
        return _any_beyond(LARGEST_Z, len(self.z) + self.bounded)

    def beyond(self, z: float) -> tuple[int, float]:
        """Return the number of comparisons beyond z, and that expected of standard normals."""
        return sum(abs(value) > z for value in self.z), len(self.z) * 2 * stats.norm.sf(z)


def _any_beyond(z: float, count: int) -> float:
    return float(-np.expm1(count * np.log1p(-2 * stats.norm.sf(z))))


def scatter_of(comparisons: Iterable[Comparison]) -> Scatter:
    """Return the scatter of the comparisons with a simulation."""
    judged = [c for c in comparisons if math.isfinite(c.z) and math.isfinite(c.raw_z)]
    free = [c for c in judged if c.allowance == 0 and c.raw_z]
    return Scatter([c.z for c in free], [c.raw_z for c in free], len(judged) - len(free))


class Quantity(NamedTuple):
    """The comparisons of one quantity with simulations, the largest |z| among them.

    Detectable is the relative error of a formula that fails a comparison: the median over
    comparisons of the difference at which z reaches its limit, over the number that the theory
    gives. The shift is the c of finite dimension that is used.
    """

    comparisons: int
    largest: float
    detectable: float
    shift: Shift | None


def by_quantity(comparisons: Iterable[Comparison]) -> dict[str, Quantity]:
    """Return the comparisons with a simulation by quantity, the most frequent first."""
    judged = [c for c in comparisons if math.isfinite(c.z)]
    quantities = {}
    for name, count in Counter(c.quantity for c in judged).most_common():
        some = [c for c in judged if c.quantity == name]
        errors = ((c.standard_error, c.numerical_error, c.shift_error) for c in some)
        sizes = [
            (c.allowance + LARGEST_Z * math.hypot(*error)) / abs(c.theory)
            for c, error in zip(some, errors, strict=True)
            if c.theory and math.isfinite(c.standard_error)
        ]
        detectable = statistics.median(sizes) if sizes else math.nan
        quantities[name] = Quantity(count, largest_z(some), detectable, SHIFTS.get(name))
    return quantities


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
