"""Attention weights in bags: bars in the order of the tokens, or a map of where they lie."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, MarkerStyle
from scipy.stats import rankdata

from sparsetoken.bags.convert import as_floats
from sparsetoken.base.validation import InvalidInput, choice, integer, real
from sparsetoken.figures.palette import PALE
from sparsetoken.figures.style import COLOURS, as_written, styled
from sparsetoken.figures.token_map import checked_places, draw_map, draw_scale_bar, maps

LARGEST_NUMBER = 30  # of bags in one figure
SLACK = 1e-3  # of the sum of weights in float32
LABELS = {"weights": "attention weight", "probabilities": "P(token is informative)"}
RANKED = "percentile of tokens in a bag"
OUTSTANDING = 1.5
"""Times the mean weight: below it the largest weight of a bag is no top token."""
TIP = MarkerStyle(CARETDOWN)
TRUE = COLOURS["readout_cosine"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AttentionDisplay:
    """The attention weights of a few bags, as they were drawn.

    Use `from_estimator` or `from_predictions`.

    Attributes
    ----------
    figure_ : Figure
    axes_ : array of shape (n,) of Axes
        One for each bag.
    bars_ : list of BarContainer
        One for each bag; heights are values. Empty where tokens are drawn on coordinates.
    maps_ : list of PolyCollection
        One for each bag with coordinates; values of its squares are those of tokens.

    See Also
    --------
    sparsetoken.AttentionClassifier : Attention for bags of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.figures import AttentionDisplay
    >>> weights = [np.array([0.1, 0.8, 0.1]), np.array([0.5, 0.5])]
    >>> display = AttentionDisplay.from_predictions(weights)
    >>> [len(bars) for bars in display.bars_]
    [3, 2]
    """

    figure_: Figure
    axes_: np.ndarray
    bars_: list[BarContainer]
    maps_: list[PolyCollection] = dataclasses.field(default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        values: str = "weights",
        k: int = 1,
        target: Any = None,
        coordinates: Any = None,
        **look: Any,
    ) -> Self:
        """Plot what a fitted classifier says of the tokens of bags.

        Parameters
        ----------
        estimator : classifier with ``attention_weights``
            Or a Pipeline that ends in one, or a search whose best estimator is one.
        X : any form of bags
            At most 30: pick some.
        values : str
            ``weights``, of attention, or ``probabilities``, of the estimator's
            ``predict_token_proba``.
        k : int
            Top tokens that are marked in each bag, those of largest value, >= 0. A bag has none
            where the estimator found nothing, the largest weight is below 1.5 times their mean, or
            all probabilities are below 1/2.
        target : label, optional
            For more than two classes: the class whose values are shown.
        coordinates : True or list of arrays of shape (L_i, 2), optional
            As for `from_predictions`. True takes the coordinates of the bags.
        **look
            true_tokens, names, scale and others of `from_predictions`.

        Returns
        -------
        AttentionDisplay

        Raises
        ------
        InvalidInput
            If the estimator has no attention or no probabilities, the target is not one of its more
            than two classes, or lengths do not match.
        NotFittedError
            If the estimator is not fitted.
        """
        method = {"weights": "attention_weights", "probabilities": "predict_token_proba"}
        model, bags = _with(method[choice("values", values, LABELS)], estimator, X)
        k = integer("k", k, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the figure says that attention is off
            found = getattr(model, method[values])(bags)
        classes = getattr(model, "classes_", np.empty(0))  # a regressor has none
        if len(classes) > 2:
            column = _column(classes, target)
            found = [w[:, column] for w in found]
        elif target is not None:
            where = "two classes, whose tokens have one value" if len(classes) else "a regressor"
            raise InvalidInput("target", f"None for {where}", target)
        if coordinates is True:
            coordinates = _own_coordinates(bags)
        k = 0 if getattr(model, "_off", bool)() else k  # by its own statement
        top = [outstanding(w, k, values) for w in _checked(found, values)]
        more = {"top_tokens": top, "coordinates": coordinates}
        return cls.from_predictions(found, values=values, **more, **look)

    @classmethod
    def from_predictions(
        cls,
        weights: Any,
        *,
        values: str = "weights",
        top_tokens: Any = None,
        true_tokens: Any = None,
        names: Sequence[str] | None = None,
        scale: str = "linear",
        coordinates: Any = None,
        vmin: float | None = None,
        vmax: float | None = None,
        cmap: Any = "viridis",
        image: Any = None,
        image_scale: Any = 1.0,
        microns: float | None = None,
    ) -> Self:
        """Plot given attention weights or probabilities of tokens.

        Parameters
        ----------
        weights : list of arrays of shape (L_i,)
            One for each bag, at most 30 of them.
        values : str
            What they are: ``weights``, or ``probabilities`` in [0, 1].
        top_tokens : list of int arrays, optional
            Positions to mark; by default those of `from_estimator` with k = 1.
        true_tokens : list of bool arrays of shape (L_i,), optional
            Where tokens are known to matter; drawn in another colour.
        names : list of str, optional
            What is written beside each bag; by default its number, from 0.
        scale : str
            ``linear``, or ``rank``: percentiles of the tokens in their bag, from 0 to 100. A bag
            in which nothing stands out has as large ones as any other.
        coordinates : list of arrays of shape (L_i, 2), optional
            The upper left corner of each token's square, x to the right and y down, or, like
            `Bags.coordinates`, one array for all tokens. Each bag is then a map.
        vmin, vmax : float, optional
            Ends of the colours, the same in all maps: by default 0 and 1 for probabilities, 0 and
            the largest weight of all maps (1, if none stands out) for weights.
        cmap : str or Colormap
            Colours of maps, as of matplotlib.
        image : list of arrays of shape (H, W) or (H, W, 3), optional
            A small picture for each bag, drawn below its map.
        image_scale : float or list of float
            Units of the coordinates for each pixel of an image, > 0.
        microns : float, optional
            Micrometres in a unit of the coordinates, > 0: maps have a scale bar.

        Raises
        ------
        InvalidInput
            If there is no bag or more than 30, values are not finite, not one-dimensional or no
            probabilities, vmin is not below vmax, or lengths do not match.
        """
        label = LABELS[choice("values", values, LABELS)]
        choice("scale", scale, ("linear", "rank"))
        checked = _checked(weights, values)
        top = [outstanding(w, 1, values) for w in checked] if top_tokens is None else top_tokens
        top = _of_bags("top_tokens", top, checked, _positions)
        if true_tokens is not None:
            true_tokens = _of_bags("true_tokens", true_tokens, checked, _flags)
        n = len(checked)
        names = [f"bag {i}" for i in range(n)] if names is None else names
        names = _of_bags("names", names, checked, lambda name, given, length: as_written(given))
        truth = true_tokens or [np.zeros(len(w), bool) for w in checked]
        ends = 0.0, 1.0
        if scale == "rank":
            label, ends = RANKED, (0.0, 100.0)
            checked = [100 * rankdata(w) / len(w) for w in checked]
        elif values == "weights":
            ends = min(0.0, *(float(w.min()) for w in checked)), largest_of(checked)
        if coordinates is not None:
            if isinstance(coordinates, np.ndarray) and coordinates.ndim == 2:
                coordinates = _split(coordinates, [len(w) for w in checked])
            places = _of_bags("coordinates", coordinates, checked, checked_places)
            ends = ends[0] if vmin is None else vmin, ends[1] if vmax is None else vmax
            if not ends[0] < ends[1]:
                raise InvalidInput("vmin and vmax", "numbers, vmin < vmax", ends)
            images = _of_bags("image", [None] * n if image is None else image, checked, _image)
            scales = [image_scale] * n if np.ndim(image_scale) == 0 else image_scale
            scales = _of_bags("image_scale", scales, checked, _positive)
            bags = zip(checked, places, top, truth, names, images, scales, strict=True)
            with styled():
                figure, axes = maps(n)
                maps_ = [
                    draw_map(ax, *bag, cmap=cmap, clim=ends)
                    for ax, bag in zip(axes, bags, strict=True)
                ]
                figure.colorbar(maps_[0], ax=axes.tolist(), shrink=0.8, label=label)
                for ax in axes if microns is not None else ():
                    draw_scale_bar(ax, _positive("microns", microns))
            return cls(figure, axes, [], maps_)
        with styled():
            figure = pyplot.figure(figsize=(7.2, 0.9 + 0.85 * n), layout="constrained")
            axes = figure.subplots(n, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
            rows = zip(axes, checked, top, truth, names, strict=True)
            bars = [_row(*row) for row in rows]
            _describe(axes, checked, label, any(map(len, top)), true_tokens is not None)
        return cls(figure, axes, bars)


def _row(axes: Axes, w: np.ndarray, top: np.ndarray, truth: np.ndarray, name: str) -> BarContainer:
    """Draw the weights of a bag."""
    colours = np.where(truth, TRUE, COLOURS["attention"]).tolist()
    # With an edge, so that a bar thinner than a pixel is seen.
    bars = axes.bar(np.arange(len(w)), w, 0.8, color=colours, edgecolor=colours, linewidth=0.4)
    heads = np.maximum(w[top], 0)
    # Where there are none, the layout would make room down to the corner of the figure.
    marks: dict[str, Any] = {"ls": "", "zorder": 3, "clip_on": False, "in_layout": False}
    true = np.flatnonzero(truth)
    axes.plot(true, np.zeros(len(true)), **marks, marker="o", color=TRUE, ms=5, mec="white")
    axes.plot(top, heads, **marks, marker=TIP, color="black", ms=6)
    axes.set_ylabel(name, rotation=0, ha="right", va="center")
    axes.grid(visible=False, axis="x")
    if _adds_up(w):
        axes.hlines(1 / len(w), -0.5, len(w) - 0.5, color="black", ls=":", lw=1)
    axes.axvspan(len(w) - 0.5, 1e9, color=PALE, lw=0, zorder=0)  # no tokens here
    return bars


def _describe(
    axes: np.ndarray, weights: list[np.ndarray], label: str, top: bool, truth: bool
) -> None:
    """Set the common scales, and say what is drawn, with tokens that are top or true or none."""
    every = np.concatenate([[0.0], *weights])
    least, largest = float(every.min()), float(every.max())
    span = (largest - least) or 1.0
    axes[0].set_xlim(-0.5, max(map(len, weights)) - 0.5)
    axes[0].set_ylim(least - 0.06 * span, largest + 0.22 * span)
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    note = "\nall tokens of a bag have the same value" if _even(weights) else ""
    axes[-1].set_xlabel(f"token (position in the bag){note}")
    marks: dict[str, dict[str, Any]] = {label: {"marker": "s", "color": COLOURS["attention"]}}
    if top:
        marks["top token"] = {"marker": TIP, "color": "black"}
    if truth:
        marks["true token"] = {"marker": "o", "color": TRUE}
    if any(_adds_up(w) for w in weights):
        marks["equal weights"] = {"ls": ":", "lw": 1, "color": "black"}
    handles = [Line2D([], [], label=label, **{"ls": "", **look}) for label, look in marks.items()]
    # Above everything that is drawn.
    place = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 4, "frameon": False}
    axes[0].legend(handles=handles, **place)


def _adds_up(weights: np.ndarray) -> bool:
    """Whether weights are of a softmax, for which equal ones are 1 / L."""
    return bool((weights >= 0).all() and abs(weights.sum() - 1) < SLACK)


def _even(weights: list[np.ndarray]) -> bool:
    """Whether all tokens of each bag have the same weight."""
    return max(map(len, weights)) > 1 and all(np.ptp(w) <= SLACK * w.max() for w in weights)


def _with(method: str, estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the estimator with a method that is inside another, and the bags that it receives."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if hasattr(estimator, "best_estimator_"):
        return _with(method, estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        before = estimator[:-1]
        return _with(method, estimator[-1], before.transform(X) if len(before) else X)
    if not hasattr(estimator, method):
        legal = f"a classifier with {method}, or a Pipeline that ends in one"
        raise InvalidInput("estimator", legal, type(estimator).__name__, "BagClassifier is.")
    return estimator, X


def _own_coordinates(bags: Any) -> list[np.ndarray]:
    if getattr(bags, "coordinates", None) is None:
        remedy = "Give a list of arrays of shape (L_i, 2)."
        raise InvalidInput("coordinates", "True for bags with coordinates", True, remedy)
    return np.split(bags.coordinates, bags.offsets[1:-1])


def _column(classes: np.ndarray, target: Any) -> int:
    matches = np.flatnonzero(classes == target)
    if target is None or not len(matches):
        legal = "one of the classes " + ", ".join(map(str, classes))
        raise InvalidInput("target", legal, target, "Each class has its own query.")
    return int(matches[0])


def _checked(weights: Any, values: str) -> list[np.ndarray]:
    if not hasattr(weights, "__len__"):
        raise InvalidInput("weights", "a list of arrays, one for each bag", weights)
    if not 1 <= len(weights) <= LARGEST_NUMBER:
        legal = f"of 1 to {LARGEST_NUMBER} bags"
        raise InvalidInput("weights", legal, f"{len(weights)} bags", "Choose some, as in X[:6].")
    checked = [as_floats(w, float, f"weights[{i}]") for i, w in enumerate(weights)]
    for i, w in enumerate(checked):
        if w.ndim != 1 or not w.size or not np.isfinite(w).all():
            legal = "a finite array of shape (L,), L >= 1"
            raise InvalidInput(f"weights[{i}]", legal, f"shape {w.shape}, or not finite")
        if values == "probabilities" and not 0 <= w.min() <= w.max() <= 1:
            got = f"values from {w.min():g} to {w.max():g}"
            raise InvalidInput(f"weights[{i}]", "probabilities, in [0, 1]", got)
    return checked


def outstanding(w: np.ndarray, k: int, values: str) -> np.ndarray:
    """Return the k tokens of largest value, none where nothing stands out."""
    least = 0.5 if values == "probabilities" else OUTSTANDING * w.mean()
    return np.argsort(-w, kind="stable")[: k if w.max() >= least else 0]


def _positive(name: str, given: Any, length: int = 0) -> float:
    return real(name, given, 0.0, open_low=True)


def largest_of(weights: list[np.ndarray]) -> float:
    """Return the end of the colours of weights: the largest, or at least 1 if none stands out."""
    clear = any(len(outstanding(w, 1, "weights")) for w in weights)
    return max([0.0 if clear else 1.0, *(float(w.max()) for w in weights)])


def _image(name: str, given: Any, length: int) -> np.ndarray | None:
    image = None if given is None else np.asarray(given)
    if image is not None and (image.ndim not in (2, 3) or image.dtype.kind not in "uif"):
        legal = "an array of numbers of shape (H, W) or (H, W, 3)"
        raise InvalidInput(name, legal, f"{image.dtype} array of shape {image.shape}")
    return image


def _of_bags(
    name: str, given: Any, weights: Sequence, checked: Callable[[str, Any, int], Any]
) -> list[Any]:
    """Check what is given for each bag, by the function of its name, itself and the length."""
    if not hasattr(given, "__len__") or len(given) != len(weights):
        legal = f"of length {len(weights)}, one entry for each bag"
        got = f"length {len(given)}" if hasattr(given, "__len__") else given
        raise InvalidInput(name, legal, got)
    pairs = enumerate(zip(given, weights, strict=True))
    return [checked(f"{name}[{i}]", one, len(w)) for i, (one, w) in pairs]


def _split(places: np.ndarray, lengths: list[int]) -> list[np.ndarray]:
    if len(places) != sum(lengths):
        legal = f"of length {sum(lengths)}, one row for each token"
        raise InvalidInput("coordinates", legal, f"length {len(places)}")
    return np.split(places, np.cumsum(lengths)[:-1])


def _flags(name: str, given: Any, length: int) -> np.ndarray:
    flags = np.asarray(given)
    if flags.shape != (length,) or not np.isin(flags, (0, 1)).all():
        got = f"{flags.dtype} array of shape {flags.shape}"
        raise InvalidInput(name, f"a bool array of shape ({length},)", got)
    return flags.astype(bool)


def _positions(name: str, given: Any, length: int) -> np.ndarray:
    positions = np.asarray(given)
    whole = positions.dtype.kind in "iu" or not positions.size
    if not whole or positions.ndim != 1 or not np.isin(positions, np.arange(length)).all():
        raise InvalidInput(name, f"positions from 0 to {length - 1}", given)
    return positions.astype(int)
