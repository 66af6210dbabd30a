"""The result of `forecast`: learning curves with intervals, and measurements."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

from sparsetoken.bags.labels import of_groups
from sparsetoken.base.machine import needed
from sparsetoken.base.tables import Shown
from sparsetoken.base.validation import choice
from sparsetoken.forecasting.scores import Interval
from sparsetoken.results import Status

CLASSIFIERS = {
    "bag": "BagClassifier",
    "attention": "AttentionClassifier",
    "pooled": "PooledClassifier",
}
"""Classifiers by their names in `sparsetoken bags fit --model`, which are those of curves."""
_DASHES = {"bag": "-", "attention": "--", "pooled": ":"}
"""Of the ends of intervals."""


@dataclasses.dataclass(frozen=True)
class ForecastPoint:
    """The forecast test error and AUC of a classifier fitted to n bags, with 90% intervals.

    See Also
    --------
    Forecast : Holds it.

    Examples
    --------
    >>> from sparsetoken.forecasting import ForecastPoint
    >>> ForecastPoint(200, 0.12, 0.09, 0.16, 0.94, 0.91, 0.97).auc
    0.94
    """

    n: int
    error: float
    low: float
    high: float
    auc: float = math.nan
    auc_low: float = math.nan
    auc_high: float = math.nan


@dataclasses.dataclass(frozen=True)
class Measured:
    """The cross-validated error and AUC of a classifier, at the most training bags of the folds.

    Attributes
    ----------
    n : int
        Training bags.
    error : float
    standard_error : float
        Over test bags; it does not include the variation from the training bags.
    auc, auc_standard_error : float
        Of pairs of bags that are held out together; the same of this.

    See Also
    --------
    Forecast : Holds it.

    Examples
    --------
    >>> from sparsetoken.forecasting import Measured
    >>> Measured(n=64, error=0.2, standard_error=0.05).error
    0.2
    """

    n: int
    error: float
    standard_error: float
    auc: float = math.nan
    auc_standard_error: float = math.nan


@dataclasses.dataclass(frozen=True, repr=False)
class Forecast(Shown):
    """Forecast test errors and AUCs of three classifiers with more labelled bags.

    Attributes
    ----------
    n : int
        Bags of the pilot.
    curves : dict of tuples of ForecastPoint
        For ``bag`` (`BagClassifier`), ``attention`` and ``pooled`` (its members with attention
        alone and with mean pooling), a point for each size asked for. The names are those of
        ``sparsetoken bags fit --model``.
    measured : dict of Measured
        What cross-validation of the pilot in five folds gave.
    gain_error : float
        Standard error of `gain` over bags.
    within_bag : float
        Share of the variance of the tokens that those of a bag have in common, in [0, 1): their
        intra-bag correlation.
    heavy_tails : float
        Share of the columns with heavy tails, to whose normal scores `BagClassifier` fits members.
    informative : Interval
        The number of informative tokens in a bag that agrees best with what was measured. That
        of the bag size stands for bags in which attention gains nothing.
    guess : float
        Error of always answering with the larger class.
    status : Status
        CONVERGED, or DISAGREES where the curves miss what was measured by more than noise: then
        intervals also hold those of the cross-validation.
    n_groups : int or None
        Of how many groups the bags are; None where they are taken as independent.
    advice : tuple of str
        What to know of the forecast.

    See Also
    --------
    sparsetoken.forecast : The function that returns it.
    ForecastPoint : A point of its curves.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> labels, rng = np.arange(80) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((80, 6, 4))
    >>> bags[labels == 1, 0] += 2  # one token of six
    >>> found = st.forecast(bags, labels, sizes=[160])
    >>> found.n, sorted(found.curves), found.recommended
    (80, ['attention', 'bag', 'pooled'], 'bag')
    >>> found.gain > found.gain_error, found.heavy_tails
    (True, 0.0)
    """

    n: int
    curves: Mapping[str, tuple[ForecastPoint, ...]]
    measured: Mapping[str, Measured]
    gain_error: float
    within_bag: float
    heavy_tails: float
    informative: Interval
    guess: float
    status: Status
    n_groups: int | None = None
    advice: tuple[str, ...] = ()

    @property
    def gain(self) -> float:
        """The cross-validated error of mean pooling less that of `BagClassifier`."""
        return self.measured["pooled"].error - self.measured["bag"].error

    @property
    def sizes(self) -> tuple[int, ...]:
        """The requested sizes."""
        return tuple(point.n for point in self.curves["pooled"])

    @property
    def recommended(self) -> str:
        """The recommended model, ``bag`` or ``pooled``, at the largest size: see `better`."""
        return self.better(self.sizes[-1])

    def better(self, n: int) -> str:
        """Return the recommended model at one of the requested sizes.

        It is that of less forecast error: `BagClassifier`, or mean pooling, which is simpler.
        Attention alone is a member of `BagClassifier`, which weighs it by held-out loss: alone it
        is forecast to compare, and not recommended.
        """
        at = self._at(n)
        return "bag" if at["bag"].error < at["pooled"].error else "pooled"

    def _at(self, n: int) -> dict[str, ForecastPoint]:
        place = self.sizes.index(n)
        return {model: points[place] for model, points in self.curves.items()}

    def _recommendation(self, n: int) -> str:
        """Say what to use, and why not attention where its forecast is the least."""
        at, use = self._at(n), self.better(n)
        text = f"At {n} bags, use {CLASSIFIERS[use]}."
        if at["attention"].error < at[use].error:
            text += (
                f" Attention alone is forecast to err in {at['attention'].error:.3f} of bags, "
                f"{CLASSIFIERS[use]} in {at[use].error:.3f}; it is not recommended, because "
                "BagClassifier has it as a member and keeps others for what it misses."
            )
        return text

    def records(self) -> list[dict[str, Any]]:
        """Return model, n, error, auc and their intervals of each point."""
        return [
            {"model": model, **dataclasses.asdict(point)}
            for model, points in self.curves.items()
            for point in points
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the values as dicts, lists, numbers and strings, such as JSON holds."""
        return {
            "curves": {
                model: [dataclasses.asdict(point) for point in points]
                for model, points in self.curves.items()
            },
            "recommended": self.recommended,
            "recommended_at": {str(n): self.better(n) for n in self.sizes},
            "status": str(self.status.code),
            "n": self.n,
            "n_groups": self.n_groups,
            "measured": {model: dataclasses.asdict(one) for model, one in self.measured.items()},
            "gain": self.gain,
            "gain_error": self.gain_error,
            "within_bag": self.within_bag,
            "heavy_tails": self.heavy_tails,
            "informative": self.informative._asdict(),
            "guess": self.guess,
            "advice": list(self.advice),
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each model and size."""
        return needed("pandas", "to make a table", "data").DataFrame(self.records())

    def plot(self, ax: Any = None, quantity: Literal["error", "auc"] = "error") -> Any:
        """Draw the curves with their intervals and what was measured; return the Axes.

        The measurements stand at the training bags of the pilot's folds. A dotted line is the
        error of always answering with the larger class, or the AUC of chance.

        Parameters
        ----------
        ax : Axes, optional
        quantity : str
            ``error`` or ``auc``.

        Raises
        ------
        InvalidInput
            If matplotlib is not installed, or the quantity is another one.
        """
        choice("quantity", quantity, ["error", "auc"])
        needed("matplotlib.pyplot", "to plot", "app")
        from matplotlib.patches import Patch

        from sparsetoken.figures import style
        from sparsetoken.figures.palette import COLOURS, GREY, LIGHT_GREY, NAMES

        of, label_of = ("", "test error") if quantity == "error" else ("auc_", "AUC")
        ends = [f"{of}low", f"{of}high"]
        with style.drawing(ax) as ax:
            for model, points in self.curves.items():
                n, colour, one = self.sizes, COLOURS[model], self.measured[model]
                values, *band = (
                    [getattr(point, name) for point in points] for name in (quantity, *ends)
                )
                label = NAMES.get(model, model)
                style.draw(ax, n, values, colour=colour, marker="o", label=label, band=band)
                for end in band:  # where bands overlap, their ends tell them apart
                    ax.plot(n, end, color=colour, lw=0.8, ls=_DASHES[model])
                value, error = getattr(one, quantity), getattr(one, f"{of}standard_error")
                style.draw(ax, [one.n], value, error, engine="tensors", colour=colour)
            trivial, words = (
                (self.guess, "always the larger class") if quantity == "error" else (0.5, "chance")
            )
            line = ax.axhline(trivial, color=GREY, ls=":", label=words)
            marks = {"cross-validated ± standard error": {"marker": "s", "ls": "", "color": GREY}}
            curves = [one for one in ax.get_legend_handles_labels()[0] if one is not line]
            entries = [*curves, line, Patch(color=LIGHT_GREY, alpha=0.4, label="90% interval")]
            entries += style.handles(marks)
            limits = (0, None) if quantity == "error" else (None, 1)
            ax.set(xlabel="labelled bags", ylabel=label_of, xscale="log", ylim=limits)
            ticks = sorted({self.measured["pooled"].n, *self.sizes})
            ax.set_xticks(ticks, labels=ticks)
            ax.minorticks_off()
            ax.legend(handles=entries, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
        return ax

    def _shown(self) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        measured = self.measured.items()
        rows: list[dict[str, Any]] = [
            {"": "cross-validated", "bags": self.measured["pooled"].n}
            | {model: f"{one.error:.3f} ± {one.standard_error:.3f}" for model, one in measured}
        ]
        for n, *points in zip(self.sizes, *self.curves.values(), strict=True):
            cells = [f"{p.error:.3f} ({p.low:.3f} to {p.high:.3f})" for p in points]
            rows.append({"": "forecast", "bags": n, **dict(zip(self.curves, cells, strict=True))})
        areas = {model: f"{one.auc:.3f} ± {one.auc_standard_error:.3f}" for model, one in measured}
        rows.append({"": "AUC, cross-validated", "bags": self.measured["pooled"].n, **areas})
        for n, *points in zip(self.sizes, *self.curves.values(), strict=True):
            cells = [f"{p.auc:.3f} ({p.auc_low:.3f} to {p.auc_high:.3f})" for p in points]
            rows.append(
                {"": "AUC, forecast", "bags": n, **dict(zip(self.curves, cells, strict=True))}
            )
        now, last = self.sizes[0], self.sizes[-1]
        over = "bags" if self.n_groups is None else "groups"
        lines = (
            f"Test errors, cross-validated ± standard error over {over}, and forecast (90% "
            f"interval), then AUCs likewise; status {self.status}.",
            f"Measured on {of_groups(self.n, self.n_groups)}.",
            f"Always answering with the larger class errs in {self.guess:.3f} of bags.",
            *([self._recommendation(now)] if self.better(now) != self.better(last) else []),
            self._recommendation(last),
            f"The cross-validated error of mean pooling is {self.gain:.3f} ± {self.gain_error:.3f} "
            "above that of BagClassifier.",
            f"The tokens of a bag share {self.within_bag:.0%} of their variance; "
            f"{self.heavy_tails:.0%} of the columns have heavy tails.",
        )
        return rows, (*lines, *self.advice)
