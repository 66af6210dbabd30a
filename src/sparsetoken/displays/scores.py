"""Scores of both classes, and the ROC curve they give."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes

from sparsetoken.bags.convert import as_floats, check_labels
from sparsetoken.figures.palette import GREY, LIGHT_GREY
from sparsetoken.figures.style import COLOURS, as_written, panels, style_of
from sparsetoken.validation import InvalidInput, integer, real

CLASS_COLOURS = (LIGHT_GREY, COLOURS["readout_cosine"])  # negative, positive


@dataclasses.dataclass(eq=False, repr=False)
class ScoreDisplay:
    """Histograms of the scores of two classes beside the ROC curve.

    Use `from_estimator` or `from_predictions`.

    Parameters
    ----------
    scores : array of shape (n,)
        Larger for the positive class.
    positive : bool array of shape (n,)
        Which bags are positive.
    class_names : pair of str
        Of the negative and the positive class.
    threshold : float, optional
        The score above which the answer is positive.
    score_name : str

    Attributes
    ----------
    fpr, tpr : arrays
        The ROC curve: false and true positive rates.
    roc_auc : float
        The area below it.
    figure_ : Figure
    axes_ : array of shape (2,) of Axes
        Histograms, ROC curve.
    histograms_ : list of two BarContainers
        Negative, positive; heights are numbers of bags.
    line_ : Line2D
        The ROC curve.

    See Also
    --------
    AttentionDisplay : Attention weights of a few bags.
    sparsetoken.BagClassifier : The classifier to begin with.

    Examples
    --------
    >>> from sparsetoken.displays import ScoreDisplay
    >>> display = ScoreDisplay.from_predictions([0, 0, 1, 1], [-2.0, 0.5, 0.1, 1.0])
    >>> float(display.roc_auc)
    0.75
    """

    scores: Float[np.ndarray, " n"]
    positive: Bool[np.ndarray, " n"]
    _: dataclasses.KW_ONLY
    class_names: tuple[str, str] = ("negative", "positive")
    threshold: float | None = None
    score_name: str = "score"

    def __post_init__(self) -> None:
        from sklearn.metrics import auc, roc_curve

        self.fpr, self.tpr = roc_curve(self.positive, self.scores)[:2]
        self.roc_auc = float(auc(self.fpr, self.tpr))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, bins: int = 20, ax: Axes | None = None
    ) -> Self:
        """Plot the scores of a fitted binary classifier on bags.

        The score is ``decision_function``, or else the probability of the second class.

        Parameters
        ----------
        estimator : classifier of two classes
        X : any form of bags
            Held-out bags: scores of training bags are optimistic.
        y : array of shape (n,)
            Their labels.
        bins : int
            Of the histograms, >= 1.
        ax : Axes, optional
            Its place is divided in two. The default is a new figure.

        Returns
        -------
        ScoreDisplay

        Raises
        ------
        InvalidInput
            If the classifier has no scores or more than two classes, a label is not one of
            its classes, or y is of one class or of another length.
        NotFittedError
            If the estimator is not fitted.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        check_labels(y)
        classes = _two_classes(estimator)
        if not np.isin(y, classes).all():
            got = ", ".join(map(str, np.unique(y)))
            raise InvalidInput("y", f"of the classes {classes[0]} and {classes[1]}", got)
        found = _scores(estimator, X)
        return cls.from_predictions(y, **found, pos_label=classes[1], bins=bins, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        pos_label: Any = None,
        threshold: float | None = None,
        score_name: str = "score",
        bins: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Plot given scores.

        Parameters
        ----------
        y_true : array of shape (n,)
            Labels of two classes.
        y_score : array of shape (n,)
            Larger for the positive class.
        pos_label : label, optional
            The positive class; by default the larger label.
        threshold : float, optional
            Drawn as a line.
        score_name : str
            Of the horizontal axis.
        bins, ax
            As for `from_estimator`.

        Raises
        ------
        InvalidInput
            If there are not two classes, lengths do not match, or scores or the threshold are not
            finite.
        """
        check_labels(y_true, "y_true")
        labels, scores = np.asarray(y_true), as_floats(y_score, float, "y_score")
        if threshold is not None:
            real("threshold", threshold)
        classes = _checked_classes(labels, pos_label)
        if scores.shape != labels.shape or not np.isfinite(scores).all():
            legal = f"a finite array of shape {labels.shape}, as y_true"
            raise InvalidInput("y_score", legal, f"shape {scores.shape}, or not finite")
        display = cls(
            scores,
            labels == classes[1],
            class_names=(str(classes[0]), str(classes[1])),
            threshold=threshold,
            score_name=score_name,
        )
        return display.plot(ax, bins=bins)

    def plot(self, ax: Axes | None = None, *, bins: int = 20) -> Self:
        """Draw histograms and ROC curve.

        Parameters
        ----------
        ax : Axes, optional
            Its place is divided in two. The default is a new figure.
        bins : int
            Of the histograms, >= 1.

        Returns
        -------
        ScoreDisplay
        """
        bins = integer("bins", bins, 1)
        with style_of(ax):
            self.axes_ = panels(ax, 1, 2, (8.2, 3.6))[0]
            self.figure_ = self.axes_[0].figure
            self._histograms(self.axes_[0], bins)
            self._roc(self.axes_[1])
        return self

    def _histograms(self, axes: Axes, bins: int) -> None:
        edges = _edges(self.scores, bins).tolist()
        self.histograms_ = []
        for rows, name, colour in zip(
            (~self.positive, self.positive), self.class_names, CLASS_COLOURS, strict=True
        ):
            label = f"{as_written(name)}: {rows.sum()} bags"
            bars = axes.hist(self.scores[rows], edges, color=colour, alpha=0.6, label=label)[2]
            self.histograms_.append(bars)
        if self.threshold is not None:
            axes.axvline(self.threshold, color="black", lw=1, ls="--")
        told = "" if self.threshold is None else f" (decision at {self.threshold:g})"
        axes.set(xlabel=as_written(self.score_name) + told, ylabel="bags")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)

    def _roc(self, axes: Axes) -> None:
        label = f"ROC curve, area {self.roc_auc:.3f}"
        (self.line_,) = axes.plot(self.fpr, self.tpr, color=CLASS_COLOURS[1], label=label)
        axes.plot([0, 1], [0, 1], ":", color=GREY, lw=1, label="chance")
        axes.set(
            xlabel="false positive rate",
            ylabel="true positive rate",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            aspect="equal",
        )
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)


def _edges(scores: Float[np.ndarray, " n"], bins: int) -> Float[np.ndarray, " edges"]:
    """Return edges of bins; scores that are equal but for rounding lie amid wider ones."""
    low, high = float(scores.min()), float(scores.max())
    least = 8.0 * bins * float(np.spacing(max(abs(low), abs(high))))
    if high - low <= least:
        low, high = low - max(0.5, least), high + max(0.5, least)
    return np.linspace(low, high, bins + 1)


def _two_classes(estimator: Any) -> np.ndarray:
    classes = getattr(estimator, "classes_", None)
    if classes is None or len(classes) != 2:
        got = "no classes" if classes is None else f"{len(classes)} classes"
        raise InvalidInput("estimator", "a classifier of two classes", got)
    return classes


def _scores(estimator: Any, X: Any) -> dict[str, Any]:
    """Return scores, the value above which the answer is positive, and what they are called."""
    if hasattr(estimator, "decision_function"):
        return {"y_score": estimator.decision_function(X), "threshold": 0.0}
    if hasattr(estimator, "predict_proba"):
        name = f"probability of class {estimator.classes_[1]}"
        return {"y_score": estimator.predict_proba(X)[:, 1], "threshold": 0.5, "score_name": name}
    legal = "a classifier with decision_function or predict_proba"
    raise InvalidInput("estimator", legal, type(estimator).__name__)


def _checked_classes(labels: np.ndarray, pos_label: Any) -> np.ndarray:
    """Return the negative and the positive class."""
    if labels.ndim != 1:
        raise InvalidInput("y_true", "an array of shape (n,)", f"shape {labels.shape}")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise InvalidInput("y_true", "of two classes", f"{len(classes)} in {len(labels)} labels")
    if pos_label is None or pos_label == classes[1]:
        return classes
    if pos_label != classes[0]:
        raise InvalidInput("pos_label", f"{classes[0]} or {classes[1]}", pos_label)
    return classes[::-1]
