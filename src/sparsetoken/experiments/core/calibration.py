"""Calibration of the comparisons with simulations: their z, and the finite-size shifts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.finite_dimension import SHIFTS, Shift
from sparsetoken.experiments.core.rows import Row
from sparsetoken.experiments.core.rules import LARGEST_Z
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLACK, COLOURS


@dataclasses.dataclass(frozen=True)
class Scatter:
    """The z of comparisons with a simulation without a bound below which differences do not count.

    Raw ones are without the shift of finite dimension; a correct theory has standard normal z. A z
    of exactly 0 is that of a one-sided comparison, and is omitted and counted as bounded.
    """

    z: tuple[float, ...]
    raw: tuple[float, ...]
    bounded: int

    @property
    def spreads(self) -> dict[str, float]:
        """The standard deviations of z and raw by name; nan of fewer than two numbers."""
        both = {"z": self.z, "raw": self.raw}
        return {n: float(np.std(x)) if len(x) > 1 else math.nan for n, x in both.items()}

    @property
    def largest(self) -> float:
        """The largest |z|; 0 of none."""
        return max(map(abs, self.z), default=0.0)

    @property
    def chance(self) -> float:
        """The probability that the same number of standard normals includes a larger |z|."""
        return float(-np.expm1(len(self.z) * np.log1p(-2 * stats.norm.sf(self.largest))))

    def beyond(self, z: float) -> tuple[int, float]:
        """Return the number of comparisons beyond z, and that expected of standard normals."""
        return sum(abs(value) > z for value in self.z), len(self.z) * 2 * stats.norm.sf(z)

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
    """Return the scatter of the comparisons with a simulation."""
    judged = [c for c in comparisons if math.isfinite(c.z) and math.isfinite(c.raw_z)]
    free = [c for c in judged if c.allowance == 0 and c.raw_z]
    z, raw = tuple(c.z for c in free), tuple(c.raw_z for c in free)
    return Scatter(z, raw, len(judged) - len(free))


@dataclasses.dataclass(frozen=True)
class Quantity:
    """The comparisons of one quantity with simulations, the largest |z| among them.

    Detectable is the relative error of a formula that fails a comparison: the median over
    comparisons of the difference at which z reaches its limit, over the number that the theory
    gives. The shift is the c of finite dimension that is used.
    """

    count: int
    largest: float
    detectable: float
    shift: Shift | None


def by_quantity(comparisons: Iterable[Comparison]) -> dict[str, Quantity]:
    """Return the comparisons with a simulation by quantity, the most frequent first."""
    groups: dict[str, list[Comparison]] = {}
    for c in comparisons:
        if math.isfinite(c.z):
            groups.setdefault(c.quantity, []).append(c)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return {name: _summary(name, some) for name, some in ordered}


def _summary(name: str, some: Sequence[Comparison]) -> Quantity:
    sizes = [
        (c.allowance + LARGEST_Z * math.hypot(c.standard_error, c.numerical_error, c.shift_error))
        / abs(c.theory)
        for c in some
        if c.theory and math.isfinite(c.standard_error)
    ]
    detectable = float(np.median(sizes)) if sizes else math.nan
    return Quantity(len(some), max(abs(c.z) for c in some), detectable, SHIFTS.get(name))


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
