"""Capacity: where separable training sets end, against cosine, strength and length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import sparsetoken as st
from sparsetoken.figures.palette import BLACK, GREY, LIGHT_GREY
from sparsetoken.studies.claims import (
    AMENDMENT,
    PAPER,
    PROVED,
    REDUCED,
    TENSORS,
    Claim,
    Number,
    all_true,
    predicted,
    row,
    to_infinity,
)
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Call, Experiment, Run, Study, Trials
from sparsetoken.studies.threshold import fit_threshold

MODELS = ("attention", "pooled", "vectorized")
BASE: dict[str, Any] = {"length": 4, "strength": 2.0, "cosine": 0.8}
"""The setting of `presets.capacity`: R = 1, pi = 1/2, k = 1."""
LETTERS = {"length": "L", "strength": "θ", "cosine": "s"}
POINTS = 20  # of a line
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16)


class Place(NamedTuple):
    """What differs from the base, and the middle of the loads of each model measured there.

    The loads were found by a look at a few training sets.
    """

    changed: dict[str, Any]
    loads: dict[str, float]


PLACES = {
    "base": Place({}, {"attention": 2.65, "pooled": 2.35, "vectorized": 9.4}),
    "turned away": Place({"cosine": -0.6}, {"attention": 2.05}),
    "half aligned": Place({"cosine": 0.5}, {"attention": 2.5}),
    "no signal": Place({"strength": 0.0}, {"attention": 2.0, "pooled": 2.0, "vectorized": 8.0}),
    "very strong": Place({"strength": 5.0}, {"attention": 28.5, "vectorized": 20.7}),
    "two tokens": Place({"length": 2}, {"attention": 3.05, "pooled": 2.75, "vectorized": 5.5}),
    "eight tokens": Place({"length": 8}, {"attention": 2.4, "pooled": 2.15}),
}
COUNTED = [(place, model) for place, (_, loads) in PLACES.items() for model in loads]
ORDERED = (("vectorized", "attention"), ("attention", "pooled"))
"""The models with the larger capacity first; so it is at these places:"""
IN_ORDER = ("base", "two tokens", "eight tokens")
REVERSED = (
    (("base", "pooled"), ("turned away", "attention")),
    (("very strong", "attention"), ("very strong", "vectorized")),
)
"""The places and models of the larger and the smaller capacity where the order breaks."""
FEATURES, FEWER = (32, 128), (32, 64)
"""Numbers of features, d or L d for the vectorised model; and at θ = 5, where sets are large."""
RATIOS = (0.75, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25)
"""Loads at the base over the middle, for the whole transition."""
STEPS = (-0.8, 0.0, 0.8)
"""Of the loads elsewhere, which are the middle times 1 + step / √features."""
SETS = 40

OVER_LENGTH, NO_SIGNAL = "pooled-capacity-is-vectorized-over-length", "capacity-without-signal"
ORDER, OVER, WIDTH = "capacity-order", "capacity-order-not-always", "transition-width"
CONJECTURED = "conjectured in the paper, with a heuristic step"
THEOREM = "Theorem 3 and Conjecture 1"


def setting(model: str, **changed: Any) -> tuple[st.SparseTokenProblem, Any]:
    """Return the problem and the model where these coordinates of the base are changed."""
    preset = st.presets.capacity(**changed)
    return preset.problem, preset.models[MODELS.index(model)]


def separable_counts(
    problem: st.SparseTokenProblem,
    model: Any,
    *,
    loads: Sequence[float],
    dimension: int,
    trials: int,
    seed: int,
    engine: str = REDUCED,
) -> list[int]:
    """Return how many of so many training sets are separable at each load n/d."""
    draw = partial(st.simulation.draw_training_set, problem, model, dimension=dimension)
    draw = partial(draw, seed=seed, engine=engine)
    return [
        sum(st.simulation.is_separable(*draw(load, trial=i * trials + j)) for j in range(trials))
        for i, load in enumerate(loads)
    ]


def lines(scale: int) -> dict[str, np.ndarray]:
    """Return the places of the lines of theory."""
    cosines, strengths = (np.linspace(*ends, POINTS * scale + 1) for ends in ((-1, 1), (0, 5)))
    return {"cosine": cosines, "strength": strengths, "length": np.array(LENGTHS)}


def text_of(changed: dict[str, Any]) -> str:
    """Return a place for readers."""
    return ", ".join(f"{letter} = {(BASE | changed)[name]:g}" for name, letter in LETTERS.items())


def _panel(name: str) -> str:
    """Return the title of the panel of a coordinate, or of a model."""
    if name in MODELS:
        return f"separable sets, {name}"
    return ", ".join(f"{letter} = {BASE[n]:g}" for n, letter in LETTERS.items() if n != name)


TICKS = (2, 4, 8, 16, 32)
CROSSING, TOKENS = "attention crosses another model", "simulated tokens, m = 32"
LOOKS = {
    f"m = {FEATURES[0]}": Look(LIGHT_GREY, marker="o:"),
    f"m = {FEATURES[1]}": Look(BLACK, marker="o-"),
    TOKENS: Look(GREY, label=""),
    CROSSING: Look(LIGHT_GREY, ":"),
}


class Capacity(Study):
    """The capacity of the three models, predicted, and measured by counts of separable sets."""

    name, title = "capacity", "Capacity against cosine, strength and length"
    setting = (
        f"R = 1, π = 0.5, k = 1 and {text_of({})} unless stated otherwise. A probit curve is "
        "fitted to the shares of separable sets at several loads; thresholds at "
        f"{FEATURES[0]} and {FEATURES[1]} features m ({FEWER[0]} and {FEWER[1]} at θ = 5) are "
        "extrapolated linearly in 1/m, and orders are judged at the most features. Non-negative "
        "least squares decides whether a convex combination of signed samples vanishes, so that "
        "a set is inseparable (Gordan’s theorem)."
    )
    caption = (
        "Above, capacity α* against cosine, strength and length, and measured thresholds (left, "
        "vectorised is off the scale; dotted, where attention equals pooled or vectorised); below, "
        "share of separable training sets with m features, and α* as a vertical line."
    )
    claims = (
        Claim(
            "capacity-measured",
            "Measured thresholds, extrapolated to infinite dimension, agree with α*.",
            THEOREM,
            CONJECTURED,
            PAPER,
        ),
        Claim(
            "capacity",
            "The second data set is linearly separable in feature space below a load α* and not "
            "above it; α* is known for all three models.",
            THEOREM,
            CONJECTURED,
            PAPER,
        ),
        Claim(
            "same-law",
            "Sampling the sufficient statistics directly gives the same distribution: training "
            "sets of simulated tokens and of simulated features are separable equally often.",
        ),
        Claim(
            OVER_LENGTH,
            "Pooling divides the capacity by the number of tokens: α*_{pool} = α*_{vec} / L.",
            "Theorem 3",
            PROVED,
            PAPER,
        ),
        Claim(
            ORDER,
            "With a well-aligned query and a signal of moderate strength, "
            "α*_{vec} > α*_{attention} > α*_{pool}.",
            THEOREM,
            CONJECTURED,
            PAPER,
        ),
        Claim(
            OVER,
            "The order that the paper reports, α*_{vec} > α*_{attention} > α*_{pool}, can fail: "
            "attention falls below pooled at small cosines, and exceeds vectorised at large "
            "strengths.",
            THEOREM,
            kind=AMENDMENT,
        ),
        Claim(
            NO_SIGNAL,
            "Without signal and with balanced labels, α* = 2 for pooled and attention and 2 L for "
            "vectorised, and the fraction of separable sets is that of Cover’s theorem.",
        ),
        Claim(WIDTH, "The width of the transition decreases as d^{−1/2}."),
    )
    panels = (
        Panel(_panel("cosine"), "cosine s", "capacity α*"),
        Panel(_panel("strength"), "strength θ", log={"y": TICKS}),
        Panel(_panel("length"), "length L", log={"x": (1, 2, 4, 8, 16), "y": TICKS}),
        *(
            Panel(
                _panel(model),
                "α₁ = n₁ / d",
                "" if i else "share separable",
                limits={"ylim": (-0.04, 1.04)},
            )
            for i, model in enumerate(MODELS)
        ),
    )
    looks = LOOKS

    def theory(self, scale: int) -> Mapping[Any, Call]:
        calls: dict[Any, Call] = {}
        for place, model in COUNTED:
            calls[place, model] = partial(st.capacity, *setting(model, **PLACES[place].changed))
        for name, x in lines(scale).items():
            for model in MODELS:
                given = setting(model, **{name: x})
                calls["line", name, model] = partial(st.capacity, *given, tolerance=1e-3)
        return calls

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        every: dict[Any, Experiment] = {}
        for place, name in COUNTED:
            problem, model = setting(name, **PLACES[place].changed)
            per, middle = model.weights_per_dimension(problem.length), PLACES[place].loads[name]
            for m in FEWER if place == "very strong" else FEATURES:
                steps = [1 + step / math.sqrt(m) for step in STEPS]
                loads = [middle * ratio for ratio in (RATIOS if place == "base" else steps)]
                count = partial(separable_counts, problem, model, loads=loads)
                every[place, name, m] = Experiment(count, (m // per,), SETS * scale)
                if (place, name, m) == ("base", "attention", FEATURES[0]):
                    count = partial(count, engine=TENSORS)
                    every[TENSORS] = Experiment(count, (m,), SETS * scale, TENSORS)
        return every

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        yield from _curves(run)
        yield from _thresholds(run)
        yield from _transitions(run)
        yield from _over_length(run)
        yield from _orders(run)
        yield from _without_signal(run)


def _line(run: Run, name: str, model: str) -> list[Number]:
    found = run.theory["line", name, model]
    if np.ndim(found.capacity) == 0:  # of a model without a query, which has no cosine
        found = [found] * len(lines(run.scale)[name])
    return [predicted(one, "capacity") for one in found]


def _gap(run: Run, name: str, upper: str, lower: str) -> np.ndarray:
    """Return the predicted differences of capacities along a line."""
    above, below = (
        np.array([number.value for number in _line(run, name, model)]) for model in (upper, lower)
    )
    return above - below


def _crossing(run: Run, name: str, upper: str, lower: str) -> float:
    """Return where the first of two predicted capacities becomes the larger."""
    gap, x = _gap(run, name, upper, lower), lines(run.scale)[name]
    i = max(int(np.argmax(gap > 0)), 1)
    return float(np.interp(0.0, gap[i - 1 : i + 1], x[i - 1 : i + 1]))


def _curves(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the lines of the theory, and where two of them cross."""
    for name, x in lines(run.scale).items():
        # The scale that shows attention beside pooled has no room for vectorised.
        for model in MODELS[: 2 + (name != "cosine")]:
            for at, known in zip(x, _line(run, name, model), strict=True):
                yield row(known, x=float(at), panel=_panel(name), curve=model)
    for name, other in (("cosine", "pooled"), ("strength", "vectorized")):
        for y in (2.0, run.theory["line", name, "attention"].capacity.max()):
            at = _crossing(run, name, "attention", other)
            yield row(float(y), x=at, panel=_panel(name), curve=CROSSING)


def _shares(some: Trials) -> tuple[list[float], list[Number]]:
    """Return loads, and at each the share of training sets that is separable.

    The add-one share keeps the error of a count of none or all above 0.
    """
    one, shares = some.experiment, []
    for count in some.results[0]:
        smooth = (count + 1) / (one.trials + 2)
        error = math.sqrt(smooth * (1 - smooth) / one.trials)
        shares.append(Number(count / one.trials, error, one.engine, one.dimensions[0], one.trials))
    return one.call.keywords["loads"], shares


def _of(run: Run, place: str, model: str) -> list[Trials]:
    """Return what was counted in a setting, by rising numbers of features."""
    return [some for key, some in run.simulated.items() if key[:2] == (place, model)]


def _fits(run: Run, place: str, model: str) -> list[tuple[Number, Number]]:
    """Return threshold and width at each number of features."""
    fits = []
    for some in _of(run, place, model):
        loads, shares = _shares(some)
        fit = fit_threshold(loads, some.results[0], some.experiment.trials)
        trials = sum(share.trials for share in shares)
        known = (REDUCED, shares[0].dimension, trials, fit.converged)
        threshold = Number(fit.middle, fit.standard_error, *known)
        fits.append((threshold, Number(fit.width, fit.width_error, *known)))
    return fits


def _threshold(run: Run, place: str, model: str) -> Number:
    """Return the threshold in infinite dimension."""
    return to_infinity([threshold for threshold, _ in _fits(run, place, model)])


def _thresholds(run: Run) -> Iterator[dict[str, Any]]:
    """Compare thresholds with the theory; one of the base is drawn in all panels."""
    for place, model in COUNTED:
        changed, base = PLACES[place].changed, place == "base"
        known, found = (
            predicted(run.theory[place, model], "capacity"),
            _threshold(run, place, model),
        )
        given: dict[str, Any] = {"curve": model, "quantity": "threshold"}
        claim = "capacity" if base else "capacity-measured"
        where = f"{text_of(changed)}, features → ∞"
        yield row(known, found, claim=claim, where=where, key=base, **given)
        for name in changed or LETTERS:
            if (name, model) != ("cosine", "vectorized"):
                yield row(None, found, panel=_panel(name), x=(BASE | changed)[name], **given)


def _transitions(run: Run) -> Iterator[dict[str, Any]]:
    """Judge shares of separable sets and the width of the transition at the base."""
    for model in MODELS:
        place: dict[str, Any] = {"panel": _panel(model)}
        capacity = predicted(run.theory["base", model], "capacity").value
        for y in (0.0, 1.0):
            yield row(y, x=capacity, curve=model, **place)
        counted = [*zip(FEATURES, _of(run, "base", model), strict=True)]
        curves = [(f"m = {m}", some) for m, some in counted]
        curves += [(TOKENS, run.simulated[TENSORS])] * (model == "attention")
        for curve, some in curves:
            for load, share in zip(*_shares(some), strict=True):
                yield row(None, share, x=load, curve=curve, **place)
        low, *_, high = _shares(counted[-1][1])[1]
        true = [low.value > 0.9, high.value < 0.1]
        where = f"m = {FEATURES[-1]}, at {RATIOS[0]:g} and {RATIOS[-1]:g} of the middle load"
        given: dict[str, Any] = {
            "claim": "capacity",
            "quantity": "nearly all, then nearly none",
            "where": where,
        }
        yield all_true(true, [low, high], curve=model, **given)
    few = run.simulated["base", "attention", FEATURES[0]]
    shares = [_mean(_shares(some)[1]) for some in (few, run.simulated[TENSORS])]
    where = f"m = {FEATURES[0]}, mean share over {len(RATIOS)} loads, against simulated features"
    given = {"claim": "same-law", "quantity": "separable", "where": where, "key": True}
    yield row(*shares, curve="attention", **given)
    given = {"quantity": "power", "where": "power of m in all settings with the most features"}
    # A width c m^(-1/2) (1 + a/m) with |a| = 2 moves the power between 32 and 128 by 0.03.
    yield row(-0.5, _power(run), claim=WIDTH, curve="all", allowance=0.03, key=True, **given)


def _mean(shares: Sequence[Number]) -> Number:
    """Return the mean of independent shares at one dimension."""
    values, errors = np.array([(share.value, share.error) for share in shares]).T
    trials = sum(share.trials for share in shares)
    error = float(np.linalg.norm(errors)) / len(shares)
    return Number(float(values.mean()), error, shares[0].engine, shares[0].dimension, trials)


def _power(run: Run) -> Number:
    """Return the mean power of the number of features that the widths follow."""
    powers, trials = [], 0
    for place, model in COUNTED:
        few, most = (width for _, width in _fits(run, place, model))
        if few.converged and most.converged and place != "very strong":
            size = math.log(most.dimension / few.dimension)
            error = math.hypot(few.error / few.value, most.error / most.value) / size
            powers.append((math.log(most.value / few.value) / size, error))
            trials += most.trials
    values, errors = np.array(powers).T
    mean = float(np.average(values, weights=errors**-2))
    error = float(np.sum(errors**-2) ** -0.5)
    return Number(mean, error, REDUCED, FEATURES[-1], trials)


def _over_length(run: Run) -> Iterator[dict[str, Any]]:
    pooled, vectorized = (_line(run, "length", model) for model in MODELS[1:])
    ratios = [a.times(L / b.value) for L, a, b in zip(LENGTHS, pooled, vectorized, strict=True)]
    furthest = max(ratios, key=lambda ratio: abs(ratio.value - 1))
    found = Number(furthest.value, converged=all(ratio.converged for ratio in ratios))
    given: dict[str, Any] = {"claim": OVER_LENGTH, "curve": "pooled", "key": True}
    where = f"L from {LENGTHS[0]} to {LENGTHS[-1]}, the furthest from 1"
    # Both are Newton minima of laws of two nodes: rounding only.
    yield row(1.0, found, quantity="L α*_{pool} / α*_{vec}", where=where, allowance=1e-8, **given)
    for place, (changed, loads) in PLACES.items():
        if {"pooled", "vectorized"} <= {*loads}:
            known, found = (_threshold(run, place, model) for model in MODELS[1:])
            known = known.times((BASE | changed)["length"])
            where = f"{text_of(changed)}: measured L α*_{{pool}} and α*_{{vec}}"
            given = {"claim": OVER_LENGTH, "quantity": "threshold", "where": where}
            yield row(known, found, curve="vectorized", **given)


def _orders(run: Run) -> Iterator[dict[str, Any]]:
    """Judge where the order holds and where it breaks, in theory and as measured."""
    L = np.array(LENGTHS)
    between = np.all([_gap(run, "length", *pair) > 0 for pair in ORDERED], axis=0)
    used = [number for key in run.theory if key[0] == "line" for number in _line(run, *key[1:])]
    given: dict[str, Any] = {"quantity": "order", "curve": "all"}
    where = f"theory, {_panel('length')}, L from 4 to 10"
    yield all_true(between[(L >= 4) & (L <= 10)], used, claim=ORDER, where=where, **given)
    for name, other, where in (
        ("cosine", "pooled", "attention above pooled exactly for s > {:.1f}"),
        ("strength", "vectorized", "attention above vectorised exactly for θ > {:.1f}"),
    ):
        at = _crossing(run, name, "attention", other)
        above = _gap(run, name, "attention", other) > 0
        true = above == (lines(run.scale)[name] > at)
        yield all_true(true, used, claim=OVER, where=f"theory, {where.format(at)}", **given)
    pairs = [((place, upper), (place, lower)) for place in IN_ORDER for upper, lower in ORDERED
             if upper in PLACES[place].loads]  # fmt: skip
    for claim, some, where in (
        (ORDER, pairs, f"measured, {len(pairs)} pairs of models where it is expected"),
        (OVER, REVERSED, "measured at s = −0.6, and at θ = 5"),
    ):
        # The last fit has the most features.
        gaps = [_fits(run, *upper)[-1][0] - _fits(run, *lower)[-1][0] for upper, lower in some]
        clear = [gap.value > 3 * gap.error for gap in gaps]
        yield all_true(clear, gaps, claim=claim, where=where, key=True, **given)


def _without_signal(run: Run) -> Iterator[dict[str, Any]]:
    """Compare capacities without signal with 2 for each weight, and shares with Cover's theorem.

    n points in general position with random labels are separable by m weights and a bias with
    chance P(Binomial(n - 1, 1/2) <= m), exactly at every size.
    """
    for model in MODELS:
        per = BASE["length"] if model == "vectorized" else 1
        given: dict[str, Any] = {"claim": NO_SIGNAL, "curve": model}
        # The residual of Newton's method, and rounding: its gradient stops at 1e-9 or so.
        limit = {"quantity": "capacity", "where": "theory, θ = 0", "allowance": 1e-5}
        yield row(2.0 * per, _line(run, "strength", model)[0], **limit, **given)
        shares, chances = [], []
        for some in _of(run, "no signal", model):
            d = some.experiment.dimensions[0]
            loads, its = _shares(some)
            shares += its
            chances += [stats.binom.cdf(per * d, round(load * d) - 1, 0.5) for load in loads]
        chance, mean = np.array(chances), _mean(shares)
        error = float(np.sqrt(np.sum(chance * (1 - chance)) / shares[0].trials)) / len(shares)
        found = Number(mean.value, error, REDUCED, shares[-1].dimension, mean.trials)
        where = "fraction of all training sets, Cover’s theorem"
        given |= {"quantity": "separable", "where": where, "key": model == "attention"}
        yield row(float(chance.mean()), found, **given)
