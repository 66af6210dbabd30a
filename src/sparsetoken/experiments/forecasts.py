"""Forecasts from pilots against measured errors, on constructed and user-provided sets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import BagClassifier, PooledLinearClassifier, QueryWarning
from sparsetoken.experiments.core.bag_sets import MULTIPLES, BagSet, Drawn, LeftOut
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.rows import Row, Rows, averaged
from sparsetoken.experiments.core.rules import against_value, placed, report_only
from sparsetoken.figures import style
from sparsetoken.figures.curves import Plot, Plotted, draw_rows
from sparsetoken.figures.palette import GREY
from sparsetoken.forecasting import forecast
from sparsetoken.simulation.seeds import seed_of

CLASSIFIERS = {"pooled": style.COLOURS["pooled"], "bag": style.COLOURS["attention"]}
"""Models and their colours."""

CONSTRUCTED = (("digits", 5, 60), ("textures", 20, 80))
"""What a token is, how many are in a bag, and the bags of a pilot."""
PLACE = ("set", "model", "bags")
NORMAL = 1.645  # standard errors to either side hold 90%
NOMINAL, LEAST_INSIDE, LEAST_RIGHT = 0.9, 0.8, 0.9
TRULY, SURELY = 0.02, 2.5  # a difference of errors that counts, and its standard errors
ABREAST, LONGEST = 3, 30  # panels of the figure, and letters of a name there

# Draws are sets of training bags at each number of bags; set_ is for each set that is given.
SIZES = profiles(
    pilots=Size(4, 24),
    draws=Size(6, 16),
    test_bags=Size(1000, 4000),
    set_pilots=Size(3, 8),
    set_draws=Size(8, 24),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work of the constructed sets."""
    for i, place in enumerate(CONSTRUCTED):
        own = seed_of("forecasts", i, seed)
        yield from _pieces(Drawn(*place, sizes.test_bags), sizes.pilots, sizes.draws, own)


def set_work(sizes: Sizes, seed: int, sets: Sequence[BagSet | LeftOut]) -> Iterator[Piece]:
    """Plan the work of sets that are given."""
    names = [f"{length} {tokens}" for tokens, length, _ in CONSTRUCTED]
    names += [one.set if isinstance(one, LeftOut) else one.name for one in sets]
    if len(set(names)) < len(names):
        raise InvalidInput("sets", "of different names, also from the constructed ones", names)
    for one in sets:
        if isinstance(one, LeftOut):
            yield piece(leave_out, *one, cost=1e-3)
        else:
            own = seed_of("forecasts", one.digest, seed)
            yield from _pieces(one, sizes.set_pilots, sizes.set_draws, own)


def _pieces(bags: Drawn | BagSet, pilots: int, draws: int, seed: int) -> Iterator[Piece]:
    for number in range(pilots):
        yield piece(forecast_pilot, bags, number, seed, cost=2 + 0.03 * bags.pilot)
    for n in bags.sizes:
        yield piece(measure_errors, bags, n, draws, seed, cost=1e-3 * n * draws)


def forecast_pilot(bags: Drawn | BagSet, number: int, seed: int) -> Iterator[Row]:
    """Draw a pilot and forecast the errors of one, two and four times as many bags.

    The ends of the 90% interval are coordinates.
    """
    pilot = bags.split(bags.pilot, np.random.default_rng(seed_of("pilot", number, seed)))
    sizes = [multiple * bags.pilot for multiple in MULTIPLES]
    result = forecast(pilot.bags, pilot.positive, sizes, random_state=number)
    for model in CLASSIFIERS:
        at = {**_place(bags, model), "pilot": number, "pilot_bags": bags.pilot}
        for p in result.curves[model]:
            ends = {"bags": p.n, "low": p.low, "high": p.high}
            yield Row("forecast", "test_error", p.error, at={**at, **ends})


def _place(bags: Drawn | BagSet, model: str) -> dict[str, Any]:
    return {"set": bags.name, "given": isinstance(bags, BagSet), "model": model}


def measure_errors(bags: Drawn | BagSet, n: int, draws: int, seed: int) -> Iterator[Row]:
    """Fit both classifiers with their default parameters to n bags, and test them on others."""
    wrong: dict[str, list[np.ndarray]] = {model: [] for model in CLASSIFIERS}
    tested = []
    for draw in range(draws):
        split = bags.split(n, np.random.default_rng(seed_of("draw", n, draw, seed)))
        tested.append(split.numbers)
        for model, classifier in zip(
            CLASSIFIERS, (PooledLinearClassifier(), BagClassifier(progress=False)), strict=True
        ):
            with warnings.catch_warnings():  # what the pilot may lack is the subject here
                warnings.simplefilter("ignore", QueryWarning)
                classifier.fit(split.bags, split.positive)
            wrong[model].append(classifier.predict(split.rest) != split.truth)
    for model, errors in wrong.items():
        at = {**_place(bags, model), "bags": n}
        yield mean_error(errors, tested, dimension=split.rest.dimension, **at)


def mean_error(
    wrong: Sequence[np.ndarray], tested: Sequence[np.ndarray], *, given: bool, **at: Any
) -> Row:
    """Return the mean over draws; a given set adds the sampling of its bags.

    Of each draw it is known which bags were classified wrong, and the numbers of the bags.
    """
    row = averaged([float(one.mean()) for one in wrong], given=given, **at)
    if not given:
        return row
    numbers, sums = np.concatenate(tested), np.concatenate(wrong).astype(float)
    counts = np.bincount(numbers)
    shares = np.bincount(numbers, sums)[counts > 0] / counts[counts > 0]
    luck = float(shares.std(ddof=1)) / math.sqrt(len(shares))
    return row.but(error=math.hypot(row.error, luck))


def leave_out(name: str, reason: str) -> Iterator[Row]:
    """Return the row that says why a set is not there."""
    yield Row("left out", "bags", 0.0, at={"set": name, "reason": reason})


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Judge the forecasts of constructed sets; report all measurements.

    User-provided sets are not judged: their number and sampling are unknown beforehand, so that no
    power of a verdict could be stated.
    """
    constructed = rows.where(given=False)
    for claim, quantity, expected, true, least in (
        ("forecast-intervals", "share inside", NOMINAL, inside(constructed), LEAST_INSIDE),
        ("forecast-recommendation", "share right", 1.0, right(constructed), LEAST_RIGHT),
    ):
        share = sum(true) / len(true) if true else math.nan
        found = share, rows.where("simulated", given=False), f"{len(true)} forecasts"
        bounds: dict[str, Any] = {"expected": expected, "allowance": expected - least}
        yield against_value(claim, quantity, *found, key=True, **bounds)
    for row in rows.where("simulated"):
        key = not row["given"] and row["model"] == "bag"
        place = placed(row, "{model}", "{set}, {bags} bags", "bags")
        yield report_only("forecast-errors", row, **place, key=key)


def _pairs(rows: Rows) -> list[tuple[Row, Row]]:
    """Return each forecast with its measurement, where there is one."""
    measured = {place: some[0] for place, some in rows.where("simulated").by(*PLACE)}
    forecasts = rows.where("forecast").by(*PLACE)
    return [
        (row, measured[place]) for place, some in forecasts if place in measured for row in some
    ]


def inside(rows: Rows, width: float = 1.0) -> list[bool]:
    """Return which intervals, widened by the measurement error, contain the measured value.

    The width of the intervals is multiplied by `width`.
    """
    covered = []
    for row, truth in _pairs(rows):
        error = NORMAL * truth.error
        low = row.value - math.hypot(width * (row.value - row["low"]), error)
        high = row.value + math.hypot(width * (row["high"] - row.value), error)
        covered.append(low <= truth.value <= high)
    return covered


def right(rows: Rows) -> list[bool]:
    """Return, where the models differ, whether each pilot names the better one."""
    agree = []
    for row, truth in _pairs(rows.where(model="pooled")):
        place = {"set": row["set"], "model": "bag", "bags": row["bags"]}
        other = rows.one("forecast", **place, pilot=row["pilot"])
        there = rows.one("simulated", **place)
        gain = truth.value - there.value
        if abs(gain) > max(TRULY, SURELY * math.hypot(truth.error, there.error)):
            agree.append((row.value > other.value) == (gain > 0))
    return agree


def chance(pilots: int) -> float:
    """Return the chance that the claim on intervals holds if one pilot in two misses.

    The points of a pilot are correlated; at worst they are all inside or all outside.
    """
    return float(stats.binom.sf(math.ceil(LEAST_INSIDE * pilots) - 1, pilots, 0.5))


def gaps(rows: Rows) -> dict[str, float]:
    """Return the mean absolute difference of each model; nothing where there is no row."""
    pairs = {model: _pairs(rows.where(model=model)) for model in CLASSIFIERS}
    return {
        model: float(np.mean([abs(row.value - truth.value) for row, truth in some]))
        for model, some in pairs.items()
        if some
    }


def line_of(rows: Rows, truth: Row) -> Mapping[str, Any]:
    """Return a line of the table: the measurement, and the means of its forecasts."""
    some = rows.where("forecast", **{name: truth[name] for name in PLACE})
    means = {key: float(np.mean([row[key] for row in some])) for key in ("value", "low", "high")}
    return {"truth": truth, "pilot": some[0]["pilot_bags"], **means}


def draw(rows: Rows) -> Plot:
    """Draw the curve and the intervals of one pilot, the curves of the others, and points."""
    sets = list(rows.where("forecast").by("set"))
    columns = min(len(sets), ABREAST)
    lines = math.ceil(len(sets) / columns)
    figure = Figure(figsize=(1.2 + 3.3 * columns, 0.6 + 3.0 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    shown: list[Plotted] = []
    for axes, (name, forecasts) in zip(panels, sets, strict=False):
        measured = rows.where("simulated", set=name)
        _panel(axes, forecasts, measured)
        label = "test error" * (axes in panels[::columns])
        short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        axes.set(xlabel="labelled bags", ylabel=label, title=style.as_written(short))
        for row in (*forecasts, *measured):
            shown.append(Plotted(name, row["model"], "labelled bags", row["bags"], row))
    for axes in panels[len(sets) :]:
        axes.set_axis_off()
    looks: dict[str, dict[str, Any]] = {n: {"color": colour} for n, colour in CLASSIFIERS.items()}
    looks["measured"] = {"color": GREY, "ls": "none", "marker": "s", "ms": 8}
    style.legend(figure, looks)
    return Plot(figure, shown)


def _panel(axes: Axes, forecasts: Rows, measured: Rows) -> None:
    for model, colour in CLASSIFIERS.items():
        for pilot, some in forecasts.where(model=model).by("pilot"):
            look = {"lw": 0.8, "alpha": 0.5} if pilot else {"lw": 2, "alpha": 1}
            draw_rows(axes, "bags", some, colour=colour, **look)
            if pilot == 0:
                ends = [(row["bags"], row["low"], row["high"]) for row in some.along("bags")]
                n, low, high = zip(*ends, strict=True)
                axes.fill_between(n, low, high, color=colour, alpha=0.15, linewidth=0)
        draw_rows(axes, "bags", measured.where(model=model), colour=colour, alpha=0.8)
    axes.set_ylim(0, 0.6)
    style.log_axis(axes.xaxis, sorted(forecasts.distinct("bags")))


EXPERIMENT = Experiment(
    "forecasts", SIZES, work, judge, {"forecasts": draw}, version=4, set_work=set_work
)
