"""How the comparisons with simulations scatter: their z, and the shifts of finite dimension."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from sparsetoken.experiments.claims import Comparison
from sparsetoken.experiments.rules import ALLOWANCE, LARGEST_Z
from sparsetoken.figures import style

__all__ = ["Scatter", "Shift", "draw_scatter", "scatter_of", "shifts"]

EDGE = 5.0  # of the histogram; what lies beyond is counted at the edge


@dataclasses.dataclass(frozen=True)
class Scatter:
    """Of all comparisons with a simulation.

    Attributes
    ----------
    z, raw : tuple of float
        With the allowance and without it.
    clean : tuple of float
        Without it, of those whose allowance is below the standard error: finite dimension
        hardly moves them, and they should look standard normal. A z of exactly 0 is that of a
        one-sided comparison, and is left out.
    """

    z: tuple[float, ...]
    raw: tuple[float, ...]
    clean: tuple[float, ...]

    @property
    def spreads(self) -> dict[str, float]:
        """The standard deviations of the three by name; nan of fewer than two numbers."""
        return {f.name: _spread(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @property
    def false_alarm(self) -> float:
        """The chance that a correct theory exceeds the bound in one of them at least."""
        return float(-np.expm1(len(self.z) * np.log1p(-2 * stats.norm.sf(LARGEST_Z))))


@dataclasses.dataclass(frozen=True)
class Shift:
    """The c of ``measured = theory (1 + c / d)``, of the places where a quantity is compared.

    Attributes
    ----------
    quantity : str
    assumed : float
        c of the allowance.
    mean, error : float
        The mean weighted by precision, and its standard error.
    between : float
        Standard deviation of c between places, beyond the noise of the trials.
    count : int
    """

    quantity: str
    assumed: float
    mean: float
    error: float
    between: float
    count: int


def scatter_of(comparisons: Iterable[Comparison]) -> Scatter:
    """Return how the comparisons with a simulation scatter."""
    judged = [c for c in comparisons if math.isfinite(c.z) and math.isfinite(c.raw_z)]
    return Scatter(
        tuple(c.z for c in judged),
        tuple(c.raw_z for c in judged),
        tuple(c.raw_z for c in judged if c.allowance <= c.standard_error and c.raw_z),
    )


def shifts(comparisons: Iterable[Comparison]) -> list[Shift]:
    """Return c as these comparisons measure it, for each quantity with an allowance c/d."""
    found: dict[str, list[tuple[float, float]]] = {}
    for c in comparisons:
        scale = abs(1 - c.theory if c.quantity == "auc" else c.theory)
        assumed = ALLOWANCE.get(c.quantity, 0.0)
        if not (assumed and c.dimension and scale and math.isfinite(c.z)):
            continue
        # Only where the allowance is that of the quantity is d the size that it counts in.
        if math.isclose(c.allowance, assumed / c.dimension * scale, rel_tol=1e-6):
            per = c.dimension / scale
            error = math.hypot(c.standard_error, c.numerical_error)
            found.setdefault(c.quantity, []).append(((c.measured - c.theory) * per, error * per))
    known = {name: [p for p in some if p[1] > 0] for name, some in found.items()}
    return [_shift(name, some) for name, some in known.items() if len(some) > 1]


def _shift(quantity: str, found: Sequence[tuple[float, float]]) -> Shift:
    """Return the mean and the variance between places, by the method of moments."""
    c, error = np.array(found).T
    weights = error**-2
    total = weights.sum()
    heterogeneity = weights @ (c - weights @ c / total) ** 2
    between = (heterogeneity - (len(c) - 1)) / (total - weights @ weights / total)
    between = max(float(between), 0.0)
    weights = 1 / (error**2 + between)
    mean, variance = weights @ c / weights.sum(), 1 / weights.sum()
    args = float(mean), math.sqrt(variance), math.sqrt(between), len(c)
    return Shift(quantity, ALLOWANCE[quantity], *args)


def draw_scatter(scatter: Scatter) -> Figure:
    """Draw histograms of z, with the allowance and without, beside the standard normal."""
    figure, panels = style.new_figure(8.0, 3.2, 2)
    titles = {"clean": "without allowance, where it is small", "z": "with the allowance, all"}
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
