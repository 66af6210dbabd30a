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
from sparsetoken.estimators import BagClassifier
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
    if not any(isinstance(one, BagClassifier) for one in fitted):
        return None, "Only BagClassifier gives probabilities of tokens."
    if bags.coordinates is None or bags.coordinates.shape[1] != 2:
        return None, "The tokens have no coordinates x and y."
    places = np.split(bags.coordinates, bags.offsets[1:-1])
    known = [i for i, one in enumerate(fitted) if one and np.isfinite(places[i]).all()]
    values, sides = [], []
    for i in (chosen := _telling(found, known)):
        fitted[i].left_out_auc_ = np.array(found.bags.scores["auc"])
        if told := fitted[i]._at_chance():
            return None, told
        (chances,) = fitted[i].predict_token_proba(bags[[i]])
        side = classes_of_tokens(fitted[i])
        own = side.index(found.bags.y[i]) if len(side) > 1 else 0
        values.append(chances.reshape(-1, len(side))[:, own])
        sides.append(str(side[own]))
    if not chosen:
        return None, "No bag has coordinates."
    names = []
    for i, of in zip(chosen, sides, strict=True):
        name = ids[i] if len(ids[i]) <= LONGEST else f"{ids[i][: LONGEST - 1]}…"
        more = f"\ntokens of {of}" if len(set(sides)) > 1 else ""
        names.append(f"{name}\n{found.bags.y[i]}, predicted {found.bags.predicted[i]}{more}")
    display = AttentionDisplay.from_predictions(
        values, values="probabilities", names=names, coordinates=[places[i] for i in chosen]
    )
    for axes in display.axes_:
        axes.title.set_fontsize(8.5)
    pyplot.close(display.figure_)
    return drawing_of(display.figure_), " or ".join(dict.fromkeys(sides))


def _telling(found: CrossValidation, among: Sequence[int]) -> list[int]:
    """Return the bags of each class with most and least probability of it, the positive first."""
    y, chances, ends = found.bags.y, found.bags.probability, []
    assert chances is not None  # of a classifier
    places = sorted(range(len(found.classes)), key=lambda k: found.classes[k] != found.positive)
    for end in (max, min):
        of = [[i for i in among if y[i] == found.classes[k]] for k in places]
        pairs = zip(of, places, strict=True)
        ends += [end(some, key=chances[:, k].__getitem__) for some, k in pairs if some]
    return list(dict.fromkeys(ends))[:MAPS]
