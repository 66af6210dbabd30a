"""The best weights of each model: critical strength against length, and simulated errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import logsumexp
from scipy.stats import norm

import sparsetoken as st
from sparsetoken.figures.palette import BLACK, BLUE, GREY, LIGHT_GREY, ORANGE, PURPLE, SKY, WINE
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    NO_SHIFT,
    PROVED,
    REDUCED,
    Claim,
    Comparison,
    Number,
    all_true,
    averaged,
    compare,
    predicted,
    within,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import listed
from sparsetoken.theory.oracle.strength import CURVES

LEVEL = 0.01
"""The test error at a critical strength."""
BLOCKS = 16
TUNED = "attention_tuned"
"""Attention with the sharpness sqrt(2 log L), a curve besides `CURVES`."""
ROOTS = ("elementwise_erf", "elementwise_sigmoid")
POWERS = ("elementwise_tanh", "elementwise_relu", "elementwise_linear", "elementwise_exp")
"""Elementwise curves that grow as the square root of the length, as pooled does, and others."""
TESTED = ("pooled", "attention", "attention_fixed", "elementwise_relu")
"""The curves whose best tests are tried on fresh samples."""
_CHUNK = 2**16  # projections held at once: few enough for the cache of a processor

CLAIMS = {
    "pooled": "linear-needs-sqrt-length",
    "attention": "attention-log-length-free",
    TUNED: "attention-log-length-free",
    "attention_fixed": "attention-fixed-sharpness",
    "bayes": "bayes-boundary",
    **dict.fromkeys(ROOTS, "bounded-elementwise-loses"),
    **dict.fromkeys(POWERS, "elementwise-powers"),
}
"""The claim on the critical strength of each curve that is simulated."""

LOOKS = {
    "pooled": ("pooled = vectorized", ORANGE, "-"),
    "elementwise_erf": ("elementwise 1 + erf", PURPLE, "-"),
    "elementwise_sigmoid": ("elementwise sigmoid", PURPLE, ":"),
    "elementwise_tanh": ("elementwise tanh", WINE, "-"),
    "elementwise_linear": ("elementwise 1 + x", WINE, ":"),
    "elementwise_relu": ("elementwise ReLU", WINE, "--"),
    "elementwise_exp": ("elementwise exp", SKY, ":"),
    "attention_fixed": ("attention, k = 1", BLUE, "--"),
    "attention": ("attention, k free", BLUE, "-"),
    "bayes": ("Bayes", BLACK, ":"),
}
"""Name, colour and dashes of each curve, the highest first; the last four are logarithmic."""

PLACES = ((64, 1, 4.5), (1024, 1, 5.0), (1024, 4, 3.5))


def curve_of(name: str, length: int) -> tuple[Any, float | None]:
    """Return the model of a curve, None for the Bayes test, and its sharpness where it is fixed."""
    tuned = math.sqrt(2 * math.log(length))
    return (st.Attention(), tuned) if name == TUNED else CURVES[name]


def best_test(name: str, problem: st.SparseTokenProblem) -> Any:
    """Return the best test of a curve, with its error."""
    model, sharpness = curve_of(name, problem.length)
    if model is None:
        return st.oracle.bayes_error(problem)
    return st.oracle.best_error(problem, model, sharpness=sharpness)


def strength_near(name: str, length: int) -> float:
    """Return a strength near the critical one, by a law with rough numbers."""
    if name == "pooled":
        return 4.65 * math.sqrt(length)
    if name in ROOTS:
        return 2.35 * math.sqrt(length)
    if name in POWERS[:-1]:
        return 2.7 * length**0.25
    return 3.75 + 0.77 * math.sqrt(2 * math.log(length))


def mistakes(
    problem: st.SparseTokenProblem, names: Sequence[str], *, samples: int, seed: int
) -> dict[str, list[float]]:
    """Return the shares of mistakes of best tests on fresh tokens, in each block.

    Of so many samples of each class, which are divided among the blocks.
    """
    tests = {name: best_test(name, problem) for name in names}
    blocks = [
        _mistakes(problem, tests, samples // BLOCKS, np.random.default_rng([seed, block]))
        for block in range(BLOCKS)
    ]
    return {name: [block[name] for block in blocks] for name in names}


def _mistakes(
    problem: st.SparseTokenProblem,
    tests: Mapping[str, Any],
    samples: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    _, theta, R, L = problem.letters
    wrong = dict.fromkeys(tests, 0.0)
    rows = max(1, _CHUNK // L)
    for positive in (True, False):
        for start in range(0, samples, rows):
            t = rng.standard_normal((min(rows, samples - start), L))
            t[:, :R] += theta * positive
            for name, test in tests.items():
                if name == "bayes":
                    call = logsumexp(theta * t, axis=1) > math.log(L) + theta**2 / 2
                else:
                    call = score(name, t, test.sharpness) > test.threshold
                wrong[name] += float(np.sum(call != positive))
    return {name: count / (2 * samples) for name, count in wrong.items()}


def score(name: str, t: np.ndarray, sharpness: float) -> np.ndarray:
    """Return <w, f_q(X)> with w = xi, from the projections of the tokens."""
    if name == "pooled" or sharpness == 0:
        return t.mean(axis=1)
    if sharpness == math.inf:
        return t.max(axis=1)
    if name.startswith("elementwise"):
        phi = ACTIVATIONS[name.removeprefix("elementwise_")]
        return np.mean(t * phi(sharpness * t), axis=1)
    a = np.exp(sharpness * (t - t.max(axis=1, keepdims=True)))
    return np.sum(a * t, axis=1) / a.sum(axis=1)


def best_law(lengths: Sequence[float], strengths: Sequence[float]) -> str:
    """Return the growth law that is nearest to strengths, by least squares of relative residuals.

    Equation: growth-fit.
    """
    L, theta = np.array(lengths, float), np.array(strengths, float)
    residuals = {
        name: np.polyfit(law, theta, 1, w=1 / theta, full=True)[1].sum()
        for name, law in {
            "√(2 log L)": np.sqrt(2 * np.log(L)),
            "log L": np.log(L),
            "L^{1/4}": L**0.25,
            "√L": np.sqrt(L),
        }.items()
    }
    return min(residuals, key=lambda name: float(residuals[name]))


class Representation(Study):
    """Critical strengths of the best weights, their growth laws, and errors on fresh samples."""

    name, title = "representation", "What the best weights can do"
    claims = (
        Claim(
            "linear-needs-sqrt-length",
            "Pooled and vectorised classifiers need a signal of the order of √L.",
            "Propositions 1–3",
            PROVED,
        ),
        Claim(
            "attention-log-length-free",
            "With optimised sharpness, attention needs a signal that grows like √(2 log L); "
            "k = √(2 log L) is then as good as the best.",
            "Propositions 1–3",
            PROVED,
        ),
        Claim(
            "bayes-boundary",
            "For one informative token, attention with optimised sharpness needs no stronger "
            "signal than the Bayes test.",
        ),
        Claim(
            "attention-fixed-sharpness",
            "With k fixed, attention needs a signal that grows like log L, with slope 1/(2k): "
            "noise moves the attended mean by only O(1/√L), which the best threshold exploits.",
            "Propositions 1–3, with another constant",
        ),
        Claim(
            "bounded-elementwise-loses",
            "Elementwise attention with 1 + erf or a sigmoid loses the logarithmic law and needs "
            "√L.",
            "Proposition 4",
            PROVED,
        ),
        Claim(
            "elementwise-powers",
            "Elementwise attention with tanh, ReLU or 1 + x and optimised sharpness sums squares "
            "and needs L^{1/4}; with exp it keeps the law of attention.",
            "Proposition 4, with another exponent",
        ),
        Claim("bayes-is-the-least", "The Bayes test is never worse than the best weights."),
        Claim(
            "oracle-error",
            "The predicted errors of the best weights and of the Bayes test agree with those on "
            "fresh samples.",
        ),
    )
    sizes = profiles(
        lengths=Size((8, 512, 65536), tuple(2**i for i in range(4, 17, 2))),
        # Of the slowest curves, which are judged by the two longest.
        root_lengths=Size((512, 65536), tuple(2**i for i in range(4, 17, 2))),
        informative=Size((1,), (1, 4)),  # R; growth laws are judged for the first, which is 1
        # L and curves of the errors against theta.
        curve_length=1024,
        curves=Size(
            (
                "pooled",
                "elementwise_erf",
                "elementwise_relu",
                "attention_fixed",
                "attention",
                "bayes",
            ),
            tuple(CURVES),
        ),
        strengths=Size((1, 3, 5, 8, 12), tuple(0.5 * i for i in range(1, 25))),
        places=Size(
            PLACES, (*PLACES, (16384, 1, 6.0))
        ),  # L, R and theta where fresh samples are drawn
        samples=Size(12_000, 64_000),  # fresh samples of each class, divided among the blocks
        # Where all curves are tried near their critical strength: the lengths, and the tokens of
        # each class, for tokens / L samples, or 32000.
        tried=Size((512,), tuple(2**i for i in range(4, 15, 2))),
        tokens=Size(6_000_000, 200_000_000),
    )
    paper = "More lengths, R = 4 as well, finer curves, and L = 16384 by simulation."
    caption = (
        "Left and middle: signal strength at which the best weights attain a test error of 0.01, "
        "R = 1. Thin grey lines: growth laws, as guides to the eye. Elementwise models have their "
        "best sharpness. Right: best test error of each model against the signal strength at one "
        "length, R = 1, with the Bayes error as a lower bound. Errors below 10^{−5} are not "
        "resolved."
    )

    def theory(self, at: Sizes) -> Calls:
        calls: dict[Any, Any] = {}
        for R in at.informative:
            for name in (*CURVES, TUNED):
                for L in at.root_lengths if name in ROOTS else at.lengths:
                    model, sharpness = curve_of(name, L)
                    solve = partial(st.oracle.critical_strength, model, L, informative=R)
                    own = partial(solve, error_level=LEVEL, sharpness=sharpness)
                    calls["strength", name, L, R] = own
        errors = [(name, at.curve_length, 1, theta) for name in at.curves for theta in at.strengths]
        for names, place in (*self._chosen(at), *self._near(at)):
            errors += [(name, *place) for name in names]
        for name, L, R, theta in errors:
            problem = st.SparseTokenProblem(L, R, theta)
            calls["error", name, L, R, theta] = partial(best_test, name, problem)
        return calls

    def _chosen(self, at: Sizes) -> list[tuple[tuple[str, ...], tuple[int, int, float]]]:
        """Return the curves that are tried, and (L, R, theta)."""
        return [
            ((*TESTED, "bayes") if R == 1 else TESTED, (L, R, theta)) for L, R, theta in at.places
        ]

    def _near(self, at: Sizes) -> list[tuple[tuple[str, ...], tuple[int, int, float]]]:
        """Return the same near the critical strengths."""
        return [((name,), (L, 1, strength_near(name, L))) for L in at.tried for name in CLAIMS]

    def simulation(self, at: Sizes, seed: int) -> Calls:
        calls: dict[Any, Any] = {}
        for i, (names, place) in enumerate(self._chosen(at)):
            own = {"samples": at.samples, "seed": seed_of("representation", i, seed)}
            calls[names, place] = partial(mistakes, st.SparseTokenProblem(*place), names, **own)
        for names, place in self._near(at):
            own = {"samples": min(at.tokens // place[0], 32_000)}
            i = at.tried.index(place[0])
            own["seed"] = seed_of("representation", "critical", i, *names, seed)
            calls[names, place] = partial(mistakes, st.SparseTokenProblem(*place), names, **own)
        return calls

    def _error(self, run: Run, *place: Any) -> Number:
        return predicted(run.theory["error", *place], "test_error")

    def _measured(self, run: Run, names: tuple[str, ...], place: Any, name: str) -> Number:
        return averaged(run.simulated[names, place][name], dimension=1, engine=REDUCED)

    def _line(self, run: Run, name: str) -> dict[int, Number]:
        """Return the critical strengths for one informative token by length."""
        places = [place for place in run.theory if place[:2] == ("strength", name)]
        known = {place[2]: run.theory[place] for place in places if place[3] == 1}
        return {L: predicted(one, "strength") for L, one in known.items()}

    def judge(self, run: Run) -> Iterator[Comparison]:
        # Below L = 1e5 small weights of erf and sigmoid still lower the exponent by a few
        # hundredths.
        for pair, off in (("pooled", "vectorized"), 1e-3), (ROOTS, 0.03):
            for name in pair:
                key = name == pair[0]
                yield self._rise(run, CLAIMS[pair[0]], name, 0.5, off, log=True, key=key)
        yield from self._attention(run)
        for name in POWERS:
            law = "√(2 log L)" if name == "elementwise_exp" else "L^{1/4}"
            yield self._growth(run, name, law)
        yield from self._least(run)
        for names, (L, R, theta) in self._chosen(run.at):
            for name in names:
                where = f"L = {L}, R = {R}, θ = {theta:g}"
                given: dict[str, Any] = {"where": where, "key": name == "attention"}
                yield self._on_fresh(run, "oracle-error", name, names, (L, R, theta), **given)
        for names, (L, R, theta) in self._near(run.at):
            where = f"near the critical strength, θ = {theta:.4g}, L = {L}"
            for name in names:
                place = (names, (L, R, theta))
                yield self._on_fresh(run, CLAIMS[name], name, *place, where=where)

    def _on_fresh(
        self, run: Run, claim: str, name: str, names: Any, place: Any, **given: Any
    ) -> Comparison:
        """Compare the error on fresh samples with the predicted one, whose law is exact."""
        known, found = self._error(run, name, *place), self._measured(run, names, place, name)
        return compare(claim, "test_error", known, found, shift=NO_SHIFT, curve=name, **given)

    def _rise(
        self,
        run: Run,
        claim: str,
        name: str,
        expected: float,
        allowance: float,
        log: bool = False,
        key: bool = True,
        note: str = "",
    ) -> Comparison:
        """Compare the slope of the strength, or of its logarithm, in log L at the longest two L."""
        (short, low), (long, high) = list(self._line(run, name).items())[-2:]
        rise = math.log(high.value / low.value) if log else high.value - low.value
        both = low.converged and high.converged
        slope = Number(rise / math.log(long / short), converged=both)
        text = f"L = {short} to {long}"
        quantity, where = ("exponent", text) if log else ("slope", f"dθ / d log L, {text}{note}")
        place: dict[str, Any] = {"curve": name, "where": where, "key": key}
        return within(claim, quantity, slope, expected, allowance, **place)

    def _growth(self, run: Run, name: str, law: str) -> Comparison:
        line = self._line(run, name)
        sound = all(number.converged for number in line.values())
        best = best_law([*line], [n.value for n in line.values()]) if sound else "none"
        where = f"{law} fits best; found {best}"
        place: dict[str, Any] = {"curve": name, "where": where}
        return all_true(CLAIMS[name], "growth_law", [best == law], line.values(), **place)

    def _attention(self, run: Run) -> Iterator[Comparison]:
        """Judge the growth with sharpness free and fixed, and compare with tuned and Bayes."""
        names = ("attention", "attention_fixed")
        # Leading order: a miss is a signal token below its threshold by the 1% point. Fixed:
        # (theta - k) e^(k theta) = O(sqrt(L)), at k = 1.
        longest = [[n.value for n in self._line(run, name).values()][-2:] for name in names]
        c, reach = (float(np.mean(some)) - float(norm.isf(LEVEL)) for some in longest)
        slopes = float(norm.sf(c) / norm.pdf(c)), 0.5 / (1 + 1 / (reach - 1))
        for name, law, slope in zip(names, ("√(2 log L)", "log L"), slopes, strict=True):
            yield self._growth(run, name, law)
            note = ", leading order at these L"
            yield self._rise(run, CLAIMS[name], name, slope, allowance=0.1 * slope, note=note)
        yield self._ratio(run, CLAIMS[TUNED], TUNED, "attention", 0.02)  # "as good": within 2%
        yield self._ratio(run, "bayes-boundary", "attention", "bayes", 0.002)

    def _ratio(self, run: Run, claim: str, above: str, below: str, most: float) -> Comparison:
        lines = [self._line(run, name) for name in (above, below)]
        largest = max(lines[0][L].value / lines[1][L].value for L in run.at.lengths)
        sound = all(number.converged for line in lines for number in line.values())
        place: dict[str, Any] = {"curve": "attention", "key": claim == "bayes-boundary"}
        place["where"] = "largest ratio of critical strengths over all L"
        return within(claim, "ratio", Number(largest, converged=sound), 1.0, most, **place)

    def _least(self, run: Run) -> Iterator[Comparison]:
        """Judge that no curve is below that of the Bayes test by three errors."""
        strengths, errors, measured = (dict[Any, Number]() for _ in range(3))
        for kind, name, *place in run.theory:
            if kind == "strength":
                strengths[name, *place] = predicted(run.theory[kind, name, *place], "strength")
            elif tuple(place) not in [near for _, near in self._near(run.at)]:
                errors[name, *place] = self._error(run, name, *place)
        for names, place in self._chosen(run.at):
            measured |= {(name, *place): self._measured(run, names, place, name) for name in names}
        for quantity, numbers, resolved in (
            ("critical_strength", strengths, 1e-5),
            ("test_error", errors, 1e-5),  # predicted errors below it are not resolved
            ("test_error", measured, 0.0),
        ):
            pairs = [
                (numbers["bayes", *place], number)
                for (name, *place), number in numbers.items()
                if name != "bayes" and ("bayes", *place) in numbers
            ]
            true = [
                a.value <= b.value + 3 * math.hypot(a.error, b.error) + resolved for a, b in pairs
            ]
            where = f"share of {len(pairs)} cases"
            if numbers is measured:
                where = f"measured, {where}, within three standard errors"
            place = {"curve": "bayes", "where": where, "key": numbers is errors}
            yield all_true("bayes-is-the-least", quantity, true, numbers.values(), **place)

    def setting(self, at: Sizes) -> str:
        return (
            "π = 0.5, readout and query along ξ, optimal threshold. The distribution of a sum over "
            "tokens is computed on a lattice, exact at any length up to the stated numerical "
            "error; the Bayes test for 1 < R < L by quasi-Monte Carlo over the largest tokens. "
            f"Critical strength: θ at a best test error of {LEVEL:g}, for L = {listed(at.lengths)} "
            f"(1 + erf and the sigmoid: {listed(at.root_lengths)}) and R = "
            f"{listed(at.informative)}. The sharpness k is optimised, "
            "except for “attention fixed” (k = 1) and “attention tuned” (k = √(2 log L)). Errors "
            f"against θ at L = {at.curve_length}, R = 1. Simulated at strengths near the critical "
            f"ones, by a rough law, at L = {listed(at.tried)}: the error of the best test on fresh "
            "samples, against the predicted one, for all but the vectorised readout. Simulated "
            f"elsewhere: {at.samples} fresh samples of each class in {BLOCKS} blocks. Only the "
            "projections of the tokens on ξ are drawn, as the tests use no others; each test has "
            "its predicted k and threshold."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        longest = run.at.lengths[-1]
        theta = {name: self._line(run, name)[longest].value for name in CURVES}
        free, fixed = (
            next(c.measured for c in comparisons if (c.quantity, c.curve) == ("slope", name))
            for name in ("attention", "attention_fixed")
        )
        return (
            f"At L = {longest} and R = 1 an error of {LEVEL:g} requires θ = {theta['bayes']:.2f} "
            f"for the Bayes test, {theta['attention']:.2f} for attention with optimised k, "
            f"{theta['attention_fixed']:.2f} with k = 1, {theta['elementwise_relu']:.1f} for "
            f"elementwise ReLU, {theta['elementwise_erf']:.0f} for 1 + erf and "
            f"{theta['pooled']:.0f} for pooling. At the largest lengths θ rises by {free:.3f} per "
            f"unit of log L with optimised k and by {fixed:.3f} with k = 1: log L / (2k) is its "
            "leading term, half of what a threshold of the order of θ would need."
        )

    def draw(self, run: Run) -> Figure:
        figure, (every, low, errors) = plot.panels(3, 12.4, 4.9)
        L = np.geomspace(run.at.lengths[0], run.at.lengths[-1], 100)
        for axes, names in ((every, [*LOOKS]), (low, [*LOOKS][-4:])):
            for name in names:
                line = self._line(run, name)
                self._curve(axes, name, list(line), list(line.values()))
        laws = {"√L": 4.65 * np.sqrt(L), "$L^{1/4}$": 2.0 * L**0.25}
        self._laws(every, L, laws)
        logarithms = {"√(2 log L)": np.sqrt(2 * np.log(L)), "(log L)/2 + 1": np.log(L) / 2 + 1}
        self._laws(low, L, logarithms)
        title = "Logarithmic laws, linear axis"
        every.set(yscale="log", ylabel=f"critical θ at test error {LEVEL:g}", title="All models")
        low.set(title=title)
        for name in [name for name in LOOKS if name in run.at.curves]:
            known = {t: self._error(run, name, run.at.curve_length, 1, t) for t in run.at.strengths}
            kept = {theta: number for theta, number in known.items() if number.value > 1e-5}
            self._curve(errors, name, list(kept), list(kept.values()))
        errors.set(yscale="log", ylim=(1e-4, 0.7), xlabel="θ", ylabel="best test error")
        errors.set(title=f"L = {run.at.curve_length}, R = 1")
        return plot.finish(figure, columns=5)

    def _curve(self, axes: Axes, name: str, x: Sequence[float], numbers: Sequence[Number]) -> None:
        label, colour, line = LOOKS[name]
        plot.curve(axes, x, numbers, colour, label, line)

    def _laws(self, axes: Axes, L: np.ndarray, guides: Mapping[str, np.ndarray]) -> None:
        axes.set_xscale("log", base=2)
        axes.set_xlabel("L")
        look: dict[str, Any] = {"va": "center", "color": GREY, "fontsize": 8.5}
        look |= {"annotation_clip": False, "textcoords": "offset points"}
        for name, y in guides.items():
            axes.plot(L, y, color=LIGHT_GREY, lw=0.8, label=f"_{name}")
            axes.annotate(name, (L[-1], y[-1]), (4, 0), **look)
