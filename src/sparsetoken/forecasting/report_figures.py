"""The figures of the page of a report on bags."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Shaped
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import RocCurveDisplay, roc_curve

from sparsetoken.bags import Bags
from sparsetoken.estimators.token_table import classes_of_tokens
from sparsetoken.figures import AttentionDisplay, style
from sparsetoken.figures.page import Drawing, drawing_of
from sparsetoken.figures.palette import LIGHT_GREY
from sparsetoken.forecasting.crossvalidation import CrossValidation
from sparsetoken.forecasting.results import Forecast

MAPS = 4
LONGEST = 24  # letters of an id above a map
BINS = 5  # of the calibration curve


def curves_of(found: CrossValidation) -> tuple[Drawing, Drawing]:
    """Return the ROC curve and the calibration curve of all held-out bags."""
    held = found.bags
    assert held.probability is not None  # of a classifier
    with style.styled():
        figures = [Figure(figsize=(4.2, 4.0), layout="constrained") for _ in range(2)]
        roc, calibration = (figure.subplots() for figure in figures)
        for k, one in enumerate(found.classes.tolist()):
            if len(found.classes) == 2 and one != found.positive:
                continue
            y, chances, name = held.y == one, held.probability[:, k], style.as_written(one)
            false, true, _ = roc_curve(y, chances)
            RocCurveDisplay(fpr=false, tpr=true, name=name).plot(ax=roc)
            CalibrationDisplay.from_predictions(
                y, chances, n_bins=BINS, strategy="quantile", name=name, ax=calibration
            )
        roc.plot([0, 1], [0, 1], ls=":", color=LIGHT_GREY, label="chance")
        roc.set(xlabel="1 - specificity", ylabel="sensitivity")
        calibration.set(xlabel="predicted probability", ylabel="share of bags of the class")
        calibration.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        calibration.lines[0].set(color=LIGHT_GREY, label="as predicted")
        roc.legend(loc="lower right")
        calibration.legend(loc="upper left")
    return drawing_of(figures[0]), drawing_of(figures[1])


def curve_of(ahead: Forecast) -> Drawing:
    """Return the errors that are forecast."""
    with style.styled():
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        ahead.plot(figure.subplots())
    return drawing_of(figure)


def maps_of(
    found: CrossValidation, bags: Bags, ids: Shaped[np.ndarray, " n"]
) -> tuple[Drawing | None, str]:
    """Return maps of a few held-out bags and the class of their tokens, or why there are none."""
    fitted = [found.estimators[k] for k in found.bags.fold]  # without the bag
    if not all(one is None or hasattr(one, "predict_token_proba") for one in fitted):
        return None, "the model gives no probabilities of tokens."
    if bags.coordinates is None or bags.coordinates.shape[1] != 2:
        return None, "the tokens have no coordinates x and y."
    places = np.split(bags.coordinates, bags.offsets[1:-1])
    known = [
        one is not None and np.isfinite(at).all() for one, at in zip(fitted, places, strict=True)
    ]
    chosen = _telling(found, np.flatnonzero(known).tolist())
    values, sides = [], []
    for i in chosen:
        if hasattr(fitted[i], "_at_chance"):
            fitted[i].left_out_auc_ = np.array(found.bags.scores["auc"])
            if told := fitted[i]._at_chance():
                return None, told
        (chances,) = fitted[i].predict_token_proba(bags[[i]])
        side = classes_of_tokens(fitted[i])
        own = side.index(found.bags.y[i]) if len(side) > 1 else 0
        values.append(chances[:, own] if len(side) > 1 else chances)
        sides.append(side[own])
    if not chosen:
        return None, "no bag has coordinates."
    names = []
    for i, side in zip(chosen, sides, strict=True):
        short = ids[i] if len(ids[i]) <= LONGEST else f"{ids[i][: LONGEST - 1]}…"
        text = f"{short}\n{found.bags.y[i]}, predicted {found.bags.predicted[i]}"
        names.append(text + (f"\ntokens of {side}" if len(set(sides)) > 1 else ""))
    display = AttentionDisplay.from_predictions(
        values, values="probabilities", names=names, coordinates=[places[i] for i in chosen]
    )
    for axes in display.axes_:
        axes.title.set_fontsize(8.5)
    pyplot.close(display.figure_)
    return drawing_of(display.figure_), " or ".join(dict.fromkeys(map(str, sides)))


def _telling(found: CrossValidation, among: Sequence[int]) -> list[int]:
    """Return the bags of each class with most and least probability of it, the positive first."""
    held, best, worst = found.bags, [], []
    assert held.probability is not None  # of a classifier
    for k, one in sorted(enumerate(found.classes.tolist()), key=lambda of: of[1] != found.positive):
        own = {i: held.probability[i, k] for i in among if held.y[i] == one}
        if own:
            best.append(max(own, key=own.__getitem__))
            worst.append(min(own, key=own.__getitem__))
    return list(dict.fromkeys([*best, *worst]))[:MAPS]
