"""Capacity: where separable training sets end, against cosine, strength and length."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import optimize, special, stats

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS, GREY, LIGHT_GREY
from sparsetoken.figures.style import log_axis
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    NO_SHIFT,
    PROVED,
    REDUCED,
    TENSORS,
    Claim,
    Comparison,
    Number,
    all_true,
    carried_to_infinity,
    compare,
    fitted_power,
    largest_z,
    predicted,
    within,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import listed, pm

MODELS = ("attention", "pooled", "vectorized")
BASE = {"length": 4, "strength": 2.0, "cosine": 0.8}
"""The setting of `presets.capacity`: R = 1, pi = 1/2, k = 1."""
LETTERS = {"length": "L", "strength": "θ", "cosine": "s"}
LINE = 1e-3  # relative tolerance of the theory on a line


class Place(NamedTuple):
    """What differs from the base, and the middle of the loads of each model measured there.

    The loads were found by a look at a few training sets.
    """

    changed: dict[str, Any]
    loads: dict[str, float]


PLACES = {
    "base": Place({}, {"attention": 2.65, "pooled": 2.35, "vectorized": 9.4}),
    "turned away": Place({"cosine": -0.6}, {"attention": 2.05}),
    "not aligned": Place({"cosine": 0.0}, {"attention": 2.2}),
    "half aligned": Place({"cosine": 0.5}, {"attention": 2.5}),
    "no signal": Place({"strength": 0.0}, {"attention": 2.0, "pooled": 2.0, "vectorized": 8.0}),
    "strong": Place({"strength": 3.0}, {"attention": 4.4, "pooled": 2.85, "vectorized": 11.4}),
    "very strong": Place({"strength": 5.0}, {"attention": 28.5, "vectorized": 20.7}),
    "two tokens": Place({"length": 2}, {"attention": 3.05, "pooled": 2.75, "vectorized": 5.5}),
    "eight tokens": Place({"length": 8}, {"attention": 2.4, "pooled": 2.15}),
}
ORDERED = (("vectorized", "attention"), ("attention", "pooled"))
"""The models with the larger capacity first; so it is at these places:"""
IN_ORDER = ("base", "strong", "two tokens", "eight tokens")
TURNED = (("base", "pooled"), ("turned away", "attention"))
STRONG = (("very strong", "attention"), ("very strong", "vectorized"))
"""The places and models of the larger and the smaller capacity where the order breaks."""

OVER_LENGTH, NO_SIGNAL = "pooled-capacity-is-vectorized-over-length", "capacity-without-signal"
CONJECTURED = "conjectured in the paper, with a heuristic step"
THEOREM = "Theorem 3 and Conjecture 1"


class Threshold(NamedTuple):
    """The fitted curve Phi((middle - x) / width), with errors from the Fisher information."""

    middle: float
    width: float
    standard_error: float
    width_error: float
    converged: bool


def fit_threshold(x: Sequence[float], counts: Sequence[int], sets: int) -> Threshold:
    """Fit a falling probit curve to counts of separable sets at loads x by maximum likelihood.

    At two loads or more some but not all of the sets must be separable, or the fit has not
    converged.
    """
    load, k = np.asarray(x, dtype=float), np.asarray(counts, dtype=float)
    if np.count_nonzero((k > 0) & (k < sets)) < 2:  # two unknowns
        return Threshold(math.nan, math.nan, math.nan, math.nan, False)
    scale = (load[-1] - load[0]) / 4

    def unlikely(unknowns: np.ndarray) -> float:
        score = (unknowns[0] - load) / (scale * math.exp(unknowns[1]))
        return -float(np.sum(k * special.log_ndtr(score) + (sets - k) * special.log_ndtr(-score)))

    start = np.array([np.interp(0.5, (k / sets)[::-1], load[::-1]), -1.0])
    fit = optimize.minimize(unlikely, start, method="Nelder-Mead", options={"xatol": 1e-8})
    middle, width = float(fit.x[0]), scale * math.exp(float(fit.x[1]))
    error, width_error = _errors(load, middle, width, sets)
    return Threshold(middle, width, error, width_error, bool(fit.success))


def _errors(load: np.ndarray, middle: float, width: float, sets: int) -> list[float]:
    """Return the standard errors of middle and width."""
    score = (middle - load) / width
    log_density = -(score**2) / 2 - 0.5 * math.log(2 * math.pi)
    weight = np.exp(2 * log_density - special.log_ndtr(score) - special.log_ndtr(-score))
    gradient = np.stack([np.ones_like(score), -score]) / width
    information = sets * (weight * gradient) @ gradient.T
    return [float(e) for e in np.sqrt(np.diag(np.linalg.inv(information)))]


def coordinates(points: int) -> dict[str, list[Any]]:
    """Return the places of the lines of theory."""
    cosines, strengths = np.linspace(-1, 1, points), np.linspace(0, 5, points)
    lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16]
    return {"cosine": cosines.tolist(), "strength": strengths.tolist(), "length": lengths}


def setting(model: str, **changed: Any) -> tuple[st.SparseTokenProblem, Any]:
    """Return the problem and the model where these coordinates of the base are changed."""
    preset = st.presets.capacity(**changed)
    return preset.problem, preset.models[MODELS.index(model)]


def solve_line(coordinate: str, model: str, xs: Sequence[Any]) -> list[Any]:
    """Return the capacities of a model along a coordinate."""
    solve = partial(st.capacity, tolerance=LINE)
    return [solve(*setting(model, **{coordinate: x})) for x in xs]


def separable_sets(
    problem: st.SparseTokenProblem, model: Any, load: float, *, sets: int, **options: Any
) -> int:
    """Return how many of so many training sets of load d samples are separable."""
    draw = partial(st.simulation.draw_training_set, problem, model, load, **options)
    return sum(st.simulation.is_separable(*draw(trial=i)) for i in range(sets))


def crossing(coordinate: str, other: str, low: float, high: float) -> Number:
    """Return where the capacity of attention equals that of another model."""

    def gap(x: float) -> Number:
        attention, its = (
            predicted(st.capacity(*setting(model, **{coordinate: x}), tolerance=LINE), "capacity")
            for model in ("attention", other)
        )
        return attention - its

    x, step = float(optimize.brentq(lambda x: gap(x).value, low, high, xtol=1e-4)), 0.02
    slope = (gap(x + step).value - gap(x - step).value) / (2 * step)
    return Number(x, gap(x).error / abs(slope), converged=gap(x).converged)


def text_of(place: str) -> str:
    """Return a place for readers."""
    at = BASE | PLACES[place].changed
    return ", ".join(f"{letter} = {at[name]:g}" for name, letter in LETTERS.items())


def _mean(shares: Sequence[Number]) -> Number:
    """Return the mean of independent shares at one dimension."""
    n = len(shares)
    error = math.hypot(*(share.error for share in shares)) / n
    value = sum(share.value for share in shares) / n
    trials = sum(share.trials for share in shares)
    return dataclasses.replace(shares[0], value=value, error=error, trials=trials)


class Capacity(Study):
    """The capacity of the three models, predicted, and measured by counts of separable sets."""

    name, title, headline = "capacity", "Capacity against cosine, strength and length", True
    claims = (
        Claim(
            "capacity-measured",
            "Measured thresholds, extrapolated to infinite dimension, agree with α*.",
            THEOREM,
            CONJECTURED,
        ),
        Claim(
            "capacity",
            "The second data set is linearly separable in feature space below a load α* and not "
            "above it; α* is known for all three models.",
            THEOREM,
            CONJECTURED,
        ),
        Claim(
            "same-law",
            "Sampling the sufficient statistics directly gives the same distribution: training "
            "sets from real tensors and from the reduced engine are separable equally often.",
        ),
        Claim(
            OVER_LENGTH,
            "Pooling divides the capacity by the number of tokens: α*_{pool} = α*_{vec} / L.",
            "Theorem 3",
            PROVED,
        ),
        Claim(
            "capacity-order",
            "With a well-aligned query and a signal of moderate strength, "
            "α*_{vec} > α*_{attention} > α*_{pool}.",
            THEOREM,
            CONJECTURED,
        ),
        Claim(
            "capacity-order-not-always",
            "The ordering can fail: attention falls below pooled at small cosines, and exceeds "
            "vectorised at large strengths.",
        ),
        Claim(
            NO_SIGNAL,
            "Without signal and with balanced labels, α* = 2 for pooled and attention and 2 L for "
            "vectorised, and the fraction of separable sets is that of Cover’s theorem.",
        ),
        Claim("transition-width", "The width of the transition decreases as d^{−1/2}."),
    )
    sizes = profiles(
        places=Size(
            tuple(place for place in PLACES if place not in ("not aligned", "strong")),
            tuple(PLACES),
        ),
        # Numbers of features, d or L d for the vectorised model; and at θ = 5, where the sets of
        # attention are large.
        features=Size((32, 128), (32, 64, 128, 256)),
        fewer=(32, 64),
        # Loads are those of the place times these at the base, for the whole transition, and
        # times 1 + step / √features elsewhere.
        ratios=Size(
            (0.75, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25),
            (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3),
        ),
        steps=Size((-0.8, 0.0, 0.8), (-1.2, -0.6, 0.0, 0.6, 1.2)),
        sets=Size(40, 120),
        lines=Size(coordinates(21), coordinates(81)),
    )
    paper = (
        "Also s = 0 and θ = 3, 64 and 256 features, more loads, and three times the training sets."
    )
    caption = (
        "Above: capacity α* against cosine, strength and length; other parameters as in each "
        "title, with R = 1, π = 0.5, k = 1. Lines: theory. Points: thresholds measured at several "
        "dimensions and extrapolated to infinite dimension, with standard errors. Dotted: where "
        "attention falls below pooled (left) and where it exceeds vectorised (middle). Below: "
        "fraction of linearly separable training sets at several numbers m of features, decided "
        "by non-negative least squares. The transition at the predicted capacity sharpens as the "
        "dimension grows."
    )

    def theory(self, at: Sizes) -> Calls:
        calls: dict[Any, Any] = {}
        for place in at.places:
            changed, loads = PLACES[place]
            calls |= {(place, m): partial(st.capacity, *setting(m, **changed)) for m in loads}
        for coordinate, xs in at.lines.items():
            for model in MODELS:
                calls["line", coordinate, model] = partial(solve_line, coordinate, model, xs)
        calls["cosine"] = partial(crossing, "cosine", "pooled", -0.5, 0.9)
        calls["strength"] = partial(crossing, "strength", "vectorized", 3.0, 5.0)
        return calls

    def simulation(self, at: Sizes, seed: int) -> Calls:
        calls: dict[Any, Any] = {}
        for place in at.places:
            changed, loads = PLACES[place]
            for model, load in loads.items():
                problem, classifier = setting(model, **changed)
                count = partial(separable_sets, problem, classifier, sets=at.sets)
                for m in at.fewer if place == "very strong" else at.features:
                    d = m // problem.length if model == "vectorized" else m
                    own = seed_of("capacity-curves", place, model, m, seed)
                    steps = [1 + step / math.sqrt(m) for step in at.steps]
                    for i, ratio in enumerate(at.ratios if place == "base" else steps):
                        its = seed_of("capacity-curves", "load", i, own)
                        given = {"load": ratio * load, "dimension": d, "seed": its}
                        calls[place, model, m, i] = partial(count, **given)
        for i in range(len(at.ratios)):
            given = {"engine": TENSORS, "seed": seed_of("capacity", "tensors", i, seed)}
            reduced = calls["base", "attention", at.features[0], i]
            calls["tensors", i] = partial(reduced, **given)
        return calls

    def _loads(self, run: Run, place: str, model: str) -> dict[int, list[Any]]:
        """Return the places of the counts in a setting by the number of features."""
        found: dict[int, list[Any]] = {}
        for key in run.calls:
            if key[:2] == (place, model):
                found.setdefault(key[2], []).append(key)
        return found

    def _share(self, run: Run, place: Any) -> Number:
        """Return the share of training sets that is separable.

        The add-one share keeps the error of a count of none or all above 0.
        """
        given, count = run.calls[place].keywords, run.simulated[place]
        sets, engine = given["sets"], given.get("engine", REDUCED)
        smooth = (count + 1) / (sets + 2)
        error = math.sqrt(smooth * (1 - smooth) / sets)
        return Number(count / sets, error, engine, given["dimension"], sets)

    def _fits(self, run: Run, place: str, model: str) -> list[tuple[Number, Number]]:
        """Return threshold and width at each number of features, which is their dimension."""
        fits, sets = [], run.at.sets
        for m, places in self._loads(run, place, model).items():
            loads = [run.calls[key].keywords["load"] for key in places]
            fit = fit_threshold(loads, [run.simulated[key] for key in places], sets)
            known = (REDUCED, m, sets * len(places), fit.converged)
            threshold = Number(fit.middle, fit.standard_error, *known)
            fits.append((threshold, Number(fit.width, fit.width_error, *known)))
        return fits

    def _threshold(self, run: Run, place: str, model: str) -> Number:
        """Return the threshold in infinite dimension, nan if a fit failed."""
        thresholds = [threshold for threshold, _ in self._fits(run, place, model)]
        if not all(one.converged for one in thresholds):
            return Number(math.nan, math.nan, REDUCED, converged=False)
        return carried_to_infinity(thresholds)

    def _gap(self, run: Run, upper: tuple[str, str], lower: tuple[str, str]) -> Number:
        """Return a difference of thresholds at the most features that both have."""
        pairs = [(a, b) for a, _ in self._fits(run, *upper) for b, _ in self._fits(run, *lower)]
        above, below = [(a, b) for a, b in pairs if a.dimension == b.dimension][-1]
        return above - below

    def _power(self, run: Run) -> Number:
        """Return the mean power of the number of features that the widths follow."""
        powers = []
        for place in run.at.places:
            for model in PLACES[place].loads:
                widths = [width for _, width in self._fits(run, place, model) if width.converged]
                if len(widths) > 1 and place != "very strong":
                    powers.append(fitted_power([width.dimension for width in widths], widths))
        weights = np.array([power.error**-2 for power in powers])
        mean = float(weights @ [power.value for power in powers] / weights.sum())
        trials = sum(power.trials for power in powers)
        return Number(mean, float(weights.sum() ** -0.5), REDUCED, run.at.features[-1], trials)

    def _line(self, run: Run, coordinate: str, model: str) -> list[Number]:
        return [predicted(one, "capacity") for one in run.theory["line", coordinate, model]]

    def judge(self, run: Run) -> Iterator[Comparison]:
        at = run.at
        for place in at.places:
            for model in PLACES[place].loads:
                claim, where = "capacity-measured", text_of(place)
                if base := place == "base":
                    claim = "capacity"
                    where += f", {listed(at.features)} features → ∞"
                known = predicted(run.theory[place, model], "capacity")
                found = self._threshold(run, place, model)
                given: dict[str, Any] = {"curve": model, "where": where, "key": base}
                yield compare(claim, "threshold", known, found, shift=NO_SHIFT, **given)
        m, many = at.features[0], range(len(at.ratios))
        shares = [
            _mean([self._share(run, place) for place in places])
            for places in (
                [("base", "attention", m, i) for i in many],
                [("tensors", i) for i in many],
            )
        ]
        where = f"m = {m}, mean share over {len(many)} loads, against the reduced engine"
        given = {"curve": "attention", "where": where, "key": True}
        yield compare("same-law", "separable", *shares, shift=NO_SHIFT, **given)
        yield from self._ends(run)
        # A width c m^(-1/2) (1 + a/m) with |a| = 2 moves the power between 32 and 128 by 0.03.
        given = {"bound": 0.03, "shift": NO_SHIFT, "curve": "all", "key": True}
        given["where"] = "power of the number of features, all places with the most"
        yield compare("transition-width", "power", Number(-0.5), self._power(run), **given)
        yield from self._over_length(run)
        yield from self._order(run)
        yield from self._without_signal(run)

    def _ends(self, run: Run) -> Iterator[Comparison]:
        """Judge that nearly all sets are separable well below the capacity, and none above."""
        m, last = run.at.features[-1], len(run.at.ratios) - 1
        for model in MODELS:
            low, high = (self._share(run, ("base", model, m, i)) for i in (0, last))
            below, above = run.at.ratios[0], run.at.ratios[-1]
            where = f"m = {m}, at {below:g} and {above:g} α*: {low.value:.2f} and {high.value:.2f}"
            true = [low.value > 0.9, high.value < 0.1]
            yield all_true("capacity", "separable", true, [low, high], curve=model, where=where)

    def _over_length(self, run: Run) -> Iterator[Comparison]:
        pooled, vectorized = (self._line(run, "length", model) for model in MODELS[1:])
        lengths = run.at.lines["length"]
        ratios = [a.times(L / b.value) for L, a, b in zip(lengths, pooled, vectorized, strict=True)]
        furthest = max(ratios, key=lambda ratio: abs(ratio.value - 1))
        where = f"L from {lengths[0]} to {lengths[-1]}, the furthest from 1"
        given: dict[str, Any] = {"curve": "pooled", "where": where, "key": True}
        # Both are Newton minima of laws of two nodes: rounding only.
        found = Number(furthest.value, converged=all(ratio.converged for ratio in ratios))
        yield within(OVER_LENGTH, "capacity", found, 1.0, 1e-8, **given)
        for place in run.at.places:
            if {"pooled", "vectorized"} <= {*PLACES[place].loads}:
                known, found = (self._threshold(run, place, model) for model in MODELS[1:])
                known = known.times(PLACES[place].changed.get("length", BASE["length"]))
                where = f"{text_of(place)}: measured L α*_{{pool}} and α*_{{vec}}"
                given = {"curve": "vectorized", "where": where}
                yield compare(OVER_LENGTH, "threshold", known, found, shift=NO_SHIFT, **given)

    def _order(self, run: Run) -> Iterator[Comparison]:
        """Judge where the order holds and where it breaks, in theory and as measured."""
        order, over = "capacity-order", "capacity-order-not-always"
        low, high = run.theory["cosine"], run.theory["strength"]
        lines = {name: [self._line(run, name, m) for m in MODELS] for name in run.at.lines}
        L, s, theta = (np.array(run.at.lines[name]) for name in ("length", "cosine", "strength"))

        def above(name: str, upper: int, lower: int) -> np.ndarray:
            values = [[number.value for number in line] for line in lines[name]]
            return np.greater(values[upper], values[lower])

        between = above("length", 2, 0) & above("length", 0, 1)
        under = above("cosine", 1, 0) == (s < low.value)
        beyond = above("strength", 0, 2) == (theta > high.value)
        used = [low, high, *(number for some in lines.values() for line in some for number in line)]
        for claim, true, where in (
            (order, between[(L >= 4) & (L <= 10)], "θ = 2, s = 0.8, L from 4 to 10"),
            (over, under, f"attention below pooled exactly for s < {low.value:.3f}"),
            (over, beyond, f"attention above vectorised exactly for θ > {high.value:.2f}"),
        ):
            yield all_true(claim, "order", true, used, curve="all", where=f"theory, {where}")
        pairs = [
            ((place, upper), (place, lower))
            for place in IN_ORDER
            for upper, lower in ORDERED
            if place in run.at.places and upper in PLACES[place].loads
        ]
        for claim, some, where in (
            (order, pairs, f"measured, {len(pairs)} pairs of models where it is expected"),
            (over, [TURNED, STRONG], "measured at s = −0.6, and at θ = 5"),
        ):
            gaps = [self._gap(run, *pair) for pair in some]
            clear = [gap.value > 3 * gap.error for gap in gaps]
            yield all_true(claim, "order", clear, gaps, curve="all", where=where, key=True)

    def _without_signal(self, run: Run) -> Iterator[Comparison]:
        for model in MODELS:
            found = self._line(run, "strength", model)[0]
            expected = 2.0 * (BASE["length"] if model == "vectorized" else 1)
            given: dict[str, Any] = {"curve": model, "where": "theory, θ = 0"}
            # The residual of Newton's method, and rounding: its gradient stops at 1e-9 or so.
            yield within(NO_SIGNAL, "capacity", found, expected, 1e-5, **given)
        for model in MODELS:
            given = {"curve": model, "key": model == "attention", "shift": NO_SHIFT}
            given["where"] = "fraction of all training sets, Cover’s theorem"
            yield compare(NO_SIGNAL, "separable", *self._covers_share(run, model), **given)

    def _covers_share(self, run: Run, model: str) -> tuple[Number, Number]:
        """Return Cover's mean share of separable sets, exact at every size, and that counted.

        n points in general position with random labels are separable by m weights and a bias
        with chance P(Binomial(n - 1, 1/2) <= m).
        """
        by_features = self._loads(run, "no signal", model)
        chances, shares = [], []
        for m, places in by_features.items():
            for place in places:
                shares.append(self._share(run, place))
                n = round(run.calls[place].keywords["load"] * shares[-1].dimension)
                chances.append(float(stats.binom.cdf(m, n - 1, 0.5)))
        variance = sum(chance * (1 - chance) for chance in chances) / run.at.sets
        mean = float(np.mean([share.value for share in shares]))
        error, trials = math.sqrt(variance) / len(shares), run.at.sets * len(shares)
        found = Number(mean, error, REDUCED, shares[-1].dimension, trials)
        return Number(float(np.mean(chances))), found

    def setting(self, at: Sizes) -> str:
        return (
            "R = 1, π = 0.5 and a query of sharpness k = 1; unless stated otherwise, "
            f"{text_of('base')}. Computed: α* against cosine, strength and length. Measured: the "
            f"fraction of separable training sets at {len(at.steps)} loads around α*, {at.sets} "
            f"sets each, reduced engine, with {listed(at.features)} features (d for attention and "
            f"pooled, L d for vectorised; {listed(at.fewer)} at θ = 5, where training sets are "
            f"large); at the base at {len(at.ratios)} loads, which show the whole transition. A "
            "probit curve fitted to the counts gives threshold and width at each size; the "
            "thresholds are extrapolated linearly in 1/features to infinite dimension. Orderings "
            "are judged at the largest size, where differences above three standard errors count. "
            "At the base, attention is repeated with real tensors and the fewest features. What "
            "the next order changes in the power of the widths, up to 0.03, does not count. By "
            "Gordan’s theorem a set is inseparable exactly if a convex combination of its signed "
            "samples vanishes: non-negative least squares decides."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        thresholds = [c for c in comparisons if c.claim in ("capacity", "capacity-measured")]
        known = {m: predicted(run.theory["base", m], "capacity") for m in MODELS}
        measured = {m: self._threshold(run, "base", m) for m in MODELS}
        base = "; ".join(
            f"{m} {pm(measured[m], 3)} ({known[m].value:.3f} predicted)" for m in MODELS
        )
        under, over = (
            gap.value / gap.error for gap in (self._gap(run, *TURNED), self._gap(run, *STRONG))
        )
        low, high = run.theory["cosine"].value, run.theory["strength"].value
        return (
            f"Attention can separate up to {known['attention'].value:.2f} d random samples by the "
            f"conjectured formula for its capacity, and {pm(measured['attention'], 2)} d as "
            f"measured ({text_of('base')}); over {len(thresholds)} settings of three classifiers "
            f"the largest |z| is {largest_z(thresholds):.1f}.\n\n"
            f"Thresholds at the base setting: {base}. Attention falls below pooled for "
            f"s < {low:.3f} (measured at s = −0.6: by {under:.1f} standard errors), and exceeds "
            f"vectorised above θ = {high:.2f} (measured at θ = 5: by {over:.1f}): a strong signal "
            "dominates the softmax and passes undiluted into the feature, which outweighs having "
            "L times the weights. The widths scale as the number of features to the power "
            f"{pm(self._power(run), 3)}."
        )

    def draw(self, run: Run) -> Figure:
        figure, places = plot.panels(6, 9.6, 7.0, rows=2)
        # The scale that shows attention beside pooled has no room for vectorised.
        self._against(run, places[0], "cosine", MODELS[:2])
        self._against(run, places[1], "strength")
        self._against(run, places[2], "length")
        places[0].set(ylabel="capacity α*")
        for axes in places[1:3]:
            log_axis(axes.yaxis, (2, 4, 8, 16, 32))
        log_axis(places[2].xaxis, (1, 2, 4, 8, 16))
        vectorized = predicted(run.theory["base", "vectorized"], "capacity").value
        marks: dict[str, Any] = {
            f"vectorized left, off the scale: {vectorized:.2f}": {"ls": "none"}
        }
        marks["predicted capacity"] = {"color": "black", "lw": 1.2}
        last = len(run.at.features) - 1
        looks = [(":-"[i == last], 0.5 + 0.5 * i / last) for i in range(last + 1)]
        for m, (line, alpha) in zip(run.at.features, looks, strict=True):
            marks[f"m = {m}"] = {"color": GREY, "marker": "o", "ls": line, "alpha": alpha}
        for axes, model in zip(places[3:], MODELS, strict=True):
            self._transition(run, axes, model, looks)
        places[3].set(ylabel="share separable")
        return plot.finish(figure, marks, columns=4)

    def _against(
        self, run: Run, axes: Axes, coordinate: str, models: Sequence[str] = MODELS
    ) -> None:
        """Draw capacities and the thresholds that differ from the base only in a coordinate."""
        for model in models:
            line = self._line(run, coordinate, model)
            plot.curve(axes, run.at.lines[coordinate], line, COLOURS[model], model)
            measured = {
                (BASE | PLACES[place].changed)[coordinate]: self._threshold(run, place, model)
                for place in run.at.places
                if {*PLACES[place].changed} <= {coordinate} and model in PLACES[place].loads
            }
            plot.curve(axes, list(measured), list(measured.values()), COLOURS[model], model)
        rest = [f"{letter} = {BASE[n]:g}" for n, letter in LETTERS.items() if n != coordinate]
        axes.set(xlabel=f"{coordinate} {LETTERS[coordinate]}", title=", ".join(rest))
        if coordinate in run.theory:
            x = run.theory[coordinate].value
            other = {"cosine": "pooled", "strength": "vectorized"}[coordinate]
            axes.axvline(x, color=LIGHT_GREY, lw=1, ls=":")
            text = f"attention equals\n{other}\nat {LETTERS[coordinate]} = {x:.2f}"
            look: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 8.5, "color": GREY}
            look |= {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            axes.annotate(text, (x, 0.97), (-4, 0), **look)

    def _transition(
        self, run: Run, axes: Axes, model: str, looks: Sequence[tuple[str, float]]
    ) -> None:
        """Draw the share of separable sets at the base, and the capacity as a line."""
        sizes = self._loads(run, "base", model).items()
        for (m, places), (line, alpha) in zip(sizes, looks, strict=True):
            loads = [run.calls[place].keywords["load"] for place in places]
            shares = [self._share(run, place) for place in places]
            look: dict[str, Any] = {"marker": f"o{line}", "alpha": alpha}
            plot.curve(axes, loads, shares, COLOURS[model], f"_m = {m}", **look)
        if model == "attention":
            tensors = [("tensors", i) for i in range(len(run.at.ratios))]
            loads = [run.calls[place].keywords["load"] for place in tensors]
            shares = [self._share(run, place) for place in tensors]
            plot.curve(axes, loads, shares, GREY, "_real tensors")
        capacity = predicted(run.theory["base", model], "capacity").value
        axes.axvline(capacity, color="black", lw=1.2)
        title = f"{model}, α* = {capacity:.3f}"
        axes.set(xlabel="α₁ = n₁ / d", title=title, ylim=(-0.04, 1.04))
