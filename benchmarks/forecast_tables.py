"""Tables of the forecasts: how far they are from the truth, beside two simpler ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

MODELS = ("pooled", "bag")
MULTIPLES = (1, 2, 4)  # of the pilot, as far as a set has bags
NORMAL = 1.645  # standard deviations of a 90% interval
TRULY, SURELY = 0.02, 2.5  # a difference of errors that counts, and its standard errors

Row = dict[str, Any]
Curve = list[list[float]]


class Point(NamedTuple):
    """A forecast, its interval, and the truth."""

    at: int
    multiple: int
    model: str
    value: float
    low: float
    high: float
    truth: float


def constant(row: Row, model: str, sizes: list[int]) -> Curve:
    """Return the error of ten-fold cross-validation at all sizes."""
    value = row["held_out"][model][-1]
    return [_with_noise(row, model, value) for _ in sizes]


def power_law(row: Row, model: str, sizes: list[int]) -> Curve:
    """Return a + b n^-c fitted to the errors at the three numbers of training bags."""
    n, errors = np.array(row["trained"]), np.array(row["held_out"][model])
    weight = 1 / np.sqrt(np.square(_spread(row, model)) + 1e-4)
    bounds = ([0.0, 0.0, 0.01], [0.5, 50.0, 3.0])
    fits = [
        least_squares(
            lambda t: (t[0] + t[1] * n ** -t[2] - errors) * weight,
            [max(float(errors.min()) - 0.05, 0.0), 0.5, start],
            bounds=bounds,
        )
        for start in (0.3, 1.0)
    ]
    a, b, c = min(fits, key=lambda fit: fit.cost).x
    return [_with_noise(row, model, a + b * float(size) ** -c) for size in sizes]


def ours(row: Row, model: str, sizes: list[int]) -> Curve:
    """Return the forecast."""
    del sizes
    return row["forecast"][model]


METHODS: dict[str, Callable[[Row, str, list[int]], Curve]] = {
    "cross-validation held constant": constant,
    "power law": power_law,
    "forecast": ours,
}


def _spread(row: Row, model: str) -> np.ndarray:
    return np.array(row["spread"]).reshape(len(MODELS), -1)[MODELS.index(model)]


def _with_noise(row: Row, model: str, value: float) -> list[float]:
    width = NORMAL * float(_spread(row, model)[-1])
    return [value, value - width, value + width]


def tables(rows: list[Row]) -> str:
    """Return the tables in Markdown."""
    truth = {(r["set"], r["n"], r["at"]): r for r in rows if r["kind"] == "measured"}
    pilots = [r for r in rows if r["kind"] == "pilot"]
    # A run that was stopped early may lack measurements.
    pilots = [r for r in pilots if all((r["set"], r["n"], at) in truth for at in _sizes(r))]
    parts = [_summary(pilots, truth), _each_set(pilots, truth)]
    seconds = [row["seconds"] for row in pilots]
    if seconds:
        parts.append(
            f"CPU seconds a forecast: median {np.median(seconds):.1f}, largest {max(seconds):.1f}"
        )
    return "\n\n".join(parts)


def _summary(pilots: list[Row], truth: dict[Any, Row]) -> str:
    lines = [
        "| sets | method | mean absolute error | mean error | at n | at 2n | at 4n | pooled "
        "| bag | inside 90% | mean width | recommended rightly |",
        "|" + "---|" * 12,
    ]
    for group in ("tuning", "aside"):
        for real in (False, True):
            some = [r for r in pilots if r["group"] == group and r["real"] == real]
            if some:
                lines += [
                    _method(f"{group}, {'real' if real else 'constructed'}", name, some, truth)
                    for name in METHODS
                ]
    return "\n".join(lines)


def _method(title: str, name: str, pilots: list[Row], truth: dict[Any, Row]) -> str:
    points = [p for row in pilots for p in _points(row, name, truth)]
    inside = np.mean([p.low <= p.truth <= p.high for p in points])
    width = np.mean([p.high - p.low for p in points])
    right = [one for row in pilots for one in _recommended(row, name, truth)]
    told = f"{np.mean(right):.0%} of {len(right)}" if right else "-"
    cells = [_mae(points), f"{np.mean([p.value - p.truth for p in points]):+.3f}"]
    cells += [_mae([p for p in points if p.multiple == m]) for m in MULTIPLES]
    cells += [_mae([p for p in points if p.model == model]) for model in MODELS]
    return f"| {title} | {name} | {' | '.join(cells)} | {inside:.0%} | {width:.2f} | {told} |"


def _points(row: Row, name: str, truth: dict[Any, Row]) -> list[Point]:
    sizes = _sizes(row)
    return [
        Point(n, n // row["n"], model, *values, truth[row["set"], row["n"], n][model][0])
        for model in MODELS
        for n, values in zip(sizes, METHODS[name](row, model, sizes), strict=True)
    ]


def _sizes(row: Row) -> list[int]:
    """Return the sizes that the forecast is for."""
    return [multiple * row["n"] for multiple in MULTIPLES][: len(row["forecast"]["pooled"])]


def _recommended(row: Row, name: str, truth: dict[Any, Row]) -> list[bool]:
    """Tell for each size at which the models truly differ whether the better one is named."""
    sizes, found = _sizes(row), []
    curves = {model: METHODS[name](row, model, sizes) for model in MODELS}
    for i, n in enumerate(sizes):
        pooled, bag = (truth[row["set"], row["n"], n][model] for model in MODELS)
        gain = pooled[0] - bag[0]
        if abs(gain) > max(TRULY, SURELY * float(np.hypot(pooled[1], bag[1]))):
            told = curves["pooled"][i][0] - curves["bag"][i][0]
            found.append(bool(np.sign(told) == np.sign(gain)))
    return found


def _mae(points: list[Point]) -> str:
    return f"{np.mean([abs(p.value - p.truth) for p in points]):.3f}" if points else "-"


def _each_set(pilots: list[Row], truth: dict[Any, Row]) -> str:
    lines = [
        "| set | n | model | measured at n, 2n, 4n | mean forecast | mean absolute error "
        "| of the power law |",
        "|" + "---|" * 7,
    ]
    for name, n in dict.fromkeys((row["set"], row["n"]) for row in pilots):
        some = [row for row in pilots if (row["set"], row["n"]) == (name, n)]
        for model in MODELS:
            sizes = _sizes(some[0])
            real = np.array([truth[name, n, at][model][0] for at in sizes])
            by = {
                method: np.array(
                    [[v[0] for v in METHODS[method](row, model, sizes)] for row in some]
                )
                for method in ("forecast", "power law")
            }
            gaps = {method: np.abs(values - real).mean(axis=0) for method, values in by.items()}
            cells = [real, by["forecast"].mean(axis=0), gaps["forecast"], gaps["power law"]]
            shown = " | ".join(", ".join(f"{v:.3f}" for v in cell) for cell in cells)
            lines.append(f"| {name} | {n} | {model} | {shown} |")
    return "\n".join(lines)
