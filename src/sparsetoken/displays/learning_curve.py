"""Measured and predicted test error against the number of training bags."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from jaxtyping import Float, Real
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from sparsetoken.bags.convert import check_labels
from sparsetoken.displays.measured import (
    measured_errors,
    read_curve,
    read_errors,
    read_sizes,
    read_splits,
    rising,
)
from sparsetoken.displays.predicted import PREDICTED, predicted_errors
from sparsetoken.figures.palette import GREY
from sparsetoken.figures.style import COLOURS, as_written, panels, style_of
from sparsetoken.forecasting.results import CLASSIFIERS
from sparsetoken.models import MODELS
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.validation import InvalidInput, choice

if TYPE_CHECKING:
    from sparsetoken.forecasting import Diagnosis

OTHER_COLOUR = GREY
FINER = 12  # points of a predicted line


@dataclasses.dataclass(eq=False, repr=False)
class BagLearningCurveDisplay:
    """Test error of a classifier against the number of training bags.

    Points are measured, with one standard error up and down; the line is the theory. Draw
    several classifiers into one axes with `ax`. Use `from_estimator` or `from_predictions`.

    Parameters
    ----------
    train_sizes : array of shape (m,)
        Rising numbers of training bags.
    test_errors : array of shape (m, folds)
        Fraction of misclassified test bags; a score of exactly 0 counts one half.
    predicted_sizes, predicted_errors : arrays of shape (p,), optional
        What the theory predicts.
    model : str, optional
        attention, pooled, vectorized, elementwise or another model: sets the colour.
    name : str, optional
        For the legend; by default the model.

    Attributes
    ----------
    mean_errors, standard_errors : arrays of shape (m,)
        Over folds; the standard error is sd / sqrt(folds), as if folds were independent. Folds
        of cross-validation share training bags, so it is somewhat too small.
    figure_ : Figure
    ax_ : Axes
    points_ : ErrorbarContainer
    line_ : Line2D or None
        The predicted curve.

    See Also
    --------
    predicted_errors : Errors predicted by theory.
    sparsetoken.forecast : Test errors with more labels.

    Examples
    --------
    >>> from sparsetoken.displays import BagLearningCurveDisplay
    >>> display = BagLearningCurveDisplay.from_predictions([50, 100], [[0.3, 0.2], [0.1, 0.2]])
    >>> display.mean_errors.round(2).tolist()
    [0.25, 0.15]
    """

    train_sizes: Real[np.ndarray, " m"]
    test_errors: Float[np.ndarray, "m folds"]
    _: dataclasses.KW_ONLY
    predicted_sizes: Real[np.ndarray, " p"] | None = None
    predicted_errors: Float[np.ndarray, " p"] | None = None
    model: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        errors = self.test_errors
        self.mean_errors = errors.mean(axis=1)
        self.standard_errors = errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        train_sizes: Sequence[int] | None = None,
        cv: Any = 5,
        random_state: int | None = None,
        problem: SparseTokenProblem | None = None,
        dimension: float | None = None,
        diagnosis: Diagnosis | None = None,
        model: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Measure by cross-validation, predict if there is a problem, and draw.

        Parameters
        ----------
        estimator : classifier, or Pipeline that ends in one
            Copies are fitted.
        X : any form of bags
        y : array of shape (n,)
        train_sizes : sequence of ints, optional
            Numbers of training bags, at least three for each class; by default six, evenly
            spaced in the logarithm, from a tenth of the smallest training set, or three for each
            class, to all of it. Each set is a stratified part of the next, with at least three
            of each class.
        cv : int or splitter
            Folds; those of an int are stratified.
        random_state : int, optional
            Of the order in which training bags are taken.
        problem : SparseTokenProblem, optional
            Adds the theory of attention, pooled or vectorized: a classifier with the best ridge
            and sharpness, on tokens with noise of variance 1 in every direction.
        dimension : float, optional
            d of the theory, > 0; by default that of the bags.
        diagnosis : Diagnosis, optional
            Of `sparsetoken.diagnose`, instead of a problem: draws the curve that it forecasts.
        model : str, optional
            attention, pooled, vectorized or elementwise; by default what the classifier is.
        name : str, optional
            For the legend; by default the model, or the class of the estimator.
        ax : Axes, optional
            The default is a new figure.

        Returns
        -------
        BagLearningCurveDisplay

        Raises
        ------
        InvalidInput
            If a training size is out of range, there is one fold or one class only, a training
            set has fewer than three bags of a class, a problem or a diagnosis is given for a
            classifier without theory, or both are given.
        ValueError
            If lengths do not match, or a copy cannot be fitted.
        """
        kind = _kind(estimator) if model is None else choice("model", model, MODELS)
        _check_theory(kind, problem, diagnosis)
        check_labels(y)
        labels = np.asarray(y)
        splits = read_splits(X, labels, cv)
        sizes = read_sizes(train_sizes, splits, labels)
        curve = {} if diagnosis is None else _diagnosed(diagnosis, kind)
        if problem is not None:
            finer = np.unique(np.geomspace(sizes[0], sizes[-1], FINER).round().astype(int))
            d = _dimension(estimator, X) if dimension is None else dimension
            predicted = predicted_errors(kind, problem, d, finer.tolist())
            curve = {"predicted_sizes": finer, "predicted_errors": predicted}
        errors = measured_errors(estimator, X, labels, sizes, splits, random_state)
        name = name or kind or type(estimator).__name__
        return cls.from_predictions(sizes, errors, **curve, model=kind or None, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        train_sizes: Any,
        test_errors: Any,
        *,
        predicted_sizes: Any = None,
        predicted_errors: Any = None,
        model: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot precomputed measured and predicted errors.

        Parameters
        ----------
        train_sizes : array of shape (m,)
            Rising numbers of training bags.
        test_errors : array of shape (m, folds)
            In [0, 1], of at least two folds or draws.
        predicted_sizes, predicted_errors : arrays of shape (p,), optional
            Both or none. An error of nan leaves a gap.
        model, name, ax
            As for `from_estimator`.

        Returns
        -------
        BagLearningCurveDisplay

        Raises
        ------
        InvalidInput
            If shapes do not match, sizes do not rise, or errors are not in [0, 1].
        """
        sizes = rising("train_sizes", train_sizes)
        curve = read_curve(predicted_sizes, predicted_errors)
        display = cls(
            sizes,
            read_errors(test_errors, len(sizes)),
            predicted_sizes=curve[0],
            predicted_errors=curve[1],
            model=None if model is None else choice("model", model, MODELS),
            name=name,
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw points, their standard errors, and the predicted line.

        Parameters
        ----------
        ax : Axes, optional
            The default is a new figure.

        Returns
        -------
        BagLearningCurveDisplay
        """
        name = as_written(self.name or self.model or "classifier")
        colour = COLOURS.get(self.model or "", OTHER_COLOUR)
        with style_of(ax):
            self.ax_ = panels(ax, 1, 1, (5.6, 3.9))[0, 0]
            self.figure_ = self.ax_.figure
            self.line_ = None
            if self.predicted_sizes is not None and self.predicted_errors is not None:
                data = (self.predicted_sizes, self.predicted_errors)
                (self.line_,) = self.ax_.plot(*data, color=colour, label=f"{name}, predicted")
            self.points_ = self._draw_points(colour, f"{name}, measured")
            self._describe()
        return self

    def _draw_points(self, colour: str, label: str) -> Any:
        return self.ax_.errorbar(
            self.train_sizes,
            self.mean_errors,
            yerr=self.standard_errors,
            fmt="o",
            color=colour,
            capsize=2.5,
            elinewidth=1.3,
            label=label,
        )

    def _describe(self) -> None:
        axis, before = self.ax_.xaxis, self.ax_.xaxis.get_major_locator()
        ticks = set(self.train_sizes.tolist())
        if isinstance(before, FixedLocator):  # of a display drawn here earlier
            ticks |= set(self.ax_.get_xticks())
        self.ax_.set_xscale("log")
        self.ax_.set_xticks(sorted(ticks), [f"{t:g}" for t in sorted(ticks)])
        axis.set_minor_locator(NullLocator())
        self.ax_.set(xlabel="training bags", ylabel="test error")
        self.ax_.autoscale()  # to all that is drawn here, also earlier
        self.ax_.set_ylim(0, None)
        # Above the axes, where no curve can run through it.
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
        self.ax_.legend(**place, ncols=2, frameon=False)


def _classifier(estimator: Any) -> Any:
    """Return the classifier at the end of pipelines and searches."""
    while True:
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "estimator"):
            estimator = estimator.estimator
        else:
            return estimator


def _kind(estimator: Any) -> str:
    """Return the name of the model that an estimator is of, or nothing."""
    known = {entry.estimator.rpartition(":")[2]: name for name, entry in MODELS.items()}
    known |= {classifier: name for name, classifier in CLASSIFIERS.items()}
    return known.get(type(_classifier(estimator)).__name__, "")


def _check_theory(kind: str, problem: Any, diagnosis: Any) -> None:
    both = {"problem": problem, "diagnosis": diagnosis}
    given = [name for name, value in both.items() if value is not None]
    if len(given) == 2:
        raise InvalidInput("problem", "None beside a diagnosis", "both")
    if given and kind not in PREDICTED:
        legal = "None for a classifier other than " + ", ".join(PREDICTED)
        raise InvalidInput(given[0], legal, f"a {given[0]}", "model=... says what it is.")


def _diagnosed(diagnosis: Diagnosis, kind: str) -> dict[str, Any]:
    """Return the forecast of a diagnosis; nothing if it has none."""
    points = diagnosis.forecast.curves.get(kind, ()) if diagnosis.forecast else ()
    if not points:
        return {}
    sizes, errors = [p.n for p in points], [p.error for p in points]
    return {"predicted_sizes": sizes, "predicted_errors": errors}


def _dimension(estimator: Any, X: Any) -> int:
    from sparsetoken.bags import as_bags

    flat = getattr(X, "ndim", 0) == 2
    n_tokens = getattr(_classifier(estimator), "n_tokens", None) if flat else None
    return as_bags(X, n_tokens=n_tokens).dimension
