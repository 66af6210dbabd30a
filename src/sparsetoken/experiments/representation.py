"""The best weights of each model: critical strength against length, and simulated errors."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.special import logsumexp
from scipy.stats import norm

from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT
from sparsetoken.experiments.core.rows import REDUCED, THEORY, Row, Rows, averaged, predicted
from sparsetoken.experiments.core.rules import against_value, compare, fraction_true
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLACK, BLUE, GREY, LIGHT_GREY, ORANGE, PURPLE, SKY, WINE
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import Attention, Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory import oracle
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
SIZES = profiles(
    lengths=Size((8, 64, 512, 4096, 65536), tuple(2**i for i in range(4, 17, 2))),
    informative=Size((1,), (1, 4)),  # R; growth laws are judged for the first, which is 1
    strengths=Size((1, 2, 3, 4, 5, 6, 8, 12), tuple(0.5 * i for i in range(1, 25))),
    places=Size(PLACES, (*PLACES, (16384, 1, 6.0))),  # L, R and theta where fresh samples are drawn
    samples=Size(16_000, 64_000),  # fresh samples of each class, divided among the blocks
    # Tokens of each class at a critical strength: tokens / L samples, or 32000.
    tokens=Size(6_000_000, 200_000_000),
    longest=Size(4096, 16384),  # the largest L at which samples are drawn there
    curve_length=1024,  # L of the errors against theta
)

Test = oracle.BayesError | oracle.Representation


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    for i, L in enumerate(sizes.lengths):
        # All curves see the same samples.
        own = seed_of("representation", "critical", i, seed)
        drawn = min(sizes.tokens // L, 32_000) if sizes.longest >= L else 0
        for R in sizes.informative:
            for name in (*CURVES, TUNED):
                samples = drawn if R == 1 and name in CLAIMS else 0
                cost = (3.0 if name == "bayes" and R > 1 else 1.5) + samples * L * 1e-7
                yield piece(find_critical, name, L, R, samples, own, cost=cost)
    for name in CURVES:
        yield piece(best_errors, name, sizes.curve_length, sizes.strengths, cost=4.0)
    for i, (L, R, theta) in enumerate(sizes.places):
        own, cost = seed_of("representation", i, seed), 3 + sizes.samples * L * 1e-7
        yield piece(draw_fresh, L, R, theta, sizes.samples, own, cost=cost)


def curve_of(name: str, length: int) -> tuple[Model | None, float | None]:
    """Return the model of a curve, None for the Bayes test, and its sharpness where it is fixed."""
    return (Attention(), math.sqrt(2 * math.log(length))) if name == TUNED else CURVES[name]


def best_test(name: str, problem: SparseTokenProblem, sharpness: float | None = None) -> Test:
    """Return the best test of a curve, with its own sharpness by default."""
    model, own = curve_of(name, problem.length)
    if model is None:
        return oracle.bayes_error(problem)
    return oracle.best_error(problem, model, sharpness=own if sharpness is None else sharpness)


def find_critical(
    name: str, length: int, informative: int, samples: int, seed: int
) -> Iterator[Row]:
    """Solve for the critical strength of a curve, and measure its best test there if asked."""
    model, sharpness = curve_of(name, length)
    critical = oracle.critical_strength(
        model, length, informative=informative, error_level=LEVEL, sharpness=sharpness
    )
    yield predicted(critical, "strength", curve=name, length=length, informative=informative)
    if samples:
        problem = SparseTokenProblem(length, informative, critical.strength)
        best = critical.sharpness if math.isfinite(critical.sharpness) else None
        tests = {name: best_test(name, problem, best)}
        yield from try_on_fresh(problem, tests, samples, seed, "critical")


def best_errors(name: str, length: int, strengths: Sequence[float]) -> Iterator[Row]:
    """Return the least test errors against the strength."""
    for theta in strengths:
        test = best_test(name, SparseTokenProblem(length, 1, theta))
        yield predicted(test, "test_error", "line", curve=name, length=length, strength=theta)


def draw_fresh(
    length: int, informative: int, strength: float, samples: int, seed: int
) -> Iterator[Row]:
    """Return predicted and measured errors of best tests in one setting."""
    problem = SparseTokenProblem(length, informative, strength)
    names = (*TESTED, "bayes") if informative == 1 else TESTED
    tests = {name: best_test(name, problem) for name in names}
    yield from try_on_fresh(problem, tests, samples, seed, "chosen")


def try_on_fresh(
    problem: SparseTokenProblem, tests: Mapping[str, Test], samples: int, seed: int, group: str
) -> Iterator[Row]:
    """Return the predicted error of tests and their mean share of mistakes over blocks."""
    shares = [
        mistakes(problem, tests, samples // BLOCKS, np.random.default_rng([seed, block]))
        for block in range(BLOCKS)
    ]
    _, theta, R, L = problem.letters
    at: dict[str, Any] = {"group": group, "length": L, "informative": R, "strength": theta}
    for name, test in tests.items():
        yield predicted(test, "test_error", curve=name, **at)
        values = [share[name] for share in shares]
        yield averaged(values, dimension=1, engine=REDUCED, curve=name, **at)


def mistakes(
    problem: SparseTokenProblem, tests: Mapping[str, Test], samples: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the share of mistakes of each test on fresh tokens, half of each class."""
    _, theta, R, L = problem.letters
    wrong = dict.fromkeys(tests, 0.0)
    rows = max(1, _CHUNK // L)
    for positive in (True, False):
        for start in range(0, samples, rows):
            t = rng.standard_normal((min(rows, samples - start), L))
            t[:, :R] += theta * positive
            for name, test in tests.items():
                if isinstance(test, oracle.Representation):
                    call = score(name, t, test.sharpness) > test.threshold
                else:
                    call = logsumexp(theta * t, axis=1) > math.log(L) + theta**2 / 2
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


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare growth with its laws, errors with those of fresh samples, and all with Bayes."""
    lines = _lines(rows)
    # Below L = 1e5 small weights of erf and sigmoid still lower the exponent by a few hundredths.
    for names, off in (("pooled", "vectorized"), 1e-3), (ROOTS, 0.03):
        for name in names:
            yield _rise(CLAIMS[names[0]], lines[name], 0.5, off, log=True, key=name == names[0])
    yield from _attention(lines)
    for name in POWERS:
        law = "sqrt(2 log L)" if name == "elementwise_exp" else "L^(1/4)"
        yield _growth(CLAIMS[name], lines[name], law)
    yield _floor("critical_strength", rows.where(THEORY, "strength"))
    errors = rows.where("line") + rows.where(THEORY, "test_error", group="chosen")
    yield _floor("test_error", errors, key=True)
    yield from (_on_fresh(rows.where(THEORY), row) for row in rows.where("simulated"))
    yield _floor("test_error", rows.where("simulated", group="chosen"))


def _lines(rows: Rows) -> dict[str, Rows]:
    """Return the critical strengths for one informative token by curve, rising in length."""
    strengths = rows.where(THEORY, "strength", informative=1)
    return {name: line.along("length") for name, line in strengths.by("curve")}


def _rise(
    claim: str, line: Rows, expected: float, allowance: float, log: bool = False, key: bool = True
) -> Comparison:
    """Compare the slope of the strength, or of its logarithm, in log L at the two longest L."""
    low, high = line[-2:]
    text = f"L = {low['length']} to {high['length']}"
    rise = math.log(high.value / low.value) if log else high.value - low.value
    slope = rise / math.log(high["length"] / low["length"])
    name, where = ("exponent", text) if log else ("slope", f"dθ / d log L, {text}")
    given: dict[str, Any] = {"curve": low["curve"], "expected": expected, "allowance": allowance}
    return against_value(claim, name, slope, [low, high], where, key=key, **given)


def best_law(line: Rows) -> str:
    """Return the growth law that is nearest to strengths, by least squares of relative residuals.

    Equation: growth-fit.
    """
    L, theta = np.array([(row["length"], row.value) for row in line], float).T
    residuals = {
        name: np.polyfit(law, theta, 1, w=1 / theta, full=True)[1].sum()
        for name, law in {
            "sqrt(2 log L)": np.sqrt(2 * np.log(L)),
            "log L": np.log(L),
            "L^(1/4)": L**0.25,
            "sqrt(L)": np.sqrt(L),
        }.items()
    }
    return min(residuals, key=lambda name: float(residuals[name]))


def _growth(claim: str, line: Rows, law: str) -> Comparison:
    best = best_law(line) if line.converged else "none"
    where, curve = f"{law} fits best; found {best}", line[0]["curve"]
    return fraction_true(claim, "growth_law", [best == law], line, where, curve=curve)


def _attention(lines: Mapping[str, Rows]) -> Iterator[Comparison]:
    """Judge the growth with sharpness free and fixed, and compare with tuned and Bayes."""
    free, fixed = lines["attention"], lines["attention_fixed"]
    # Leading order: a miss is a signal token below its threshold by the 1% point. Fixed:
    # (theta - k) e^(k theta) = O(sqrt(L)), at k = 1.
    middles = [float(np.mean([row.value for row in line[-2:]])) for line in (free, fixed)]
    c, reach = (middle - float(norm.isf(LEVEL)) for middle in middles)
    slopes = float(norm.sf(c) / norm.pdf(c)), 0.5 / (1 + 1 / (reach - 1))
    for line, law, slope in zip((free, fixed), ("sqrt(2 log L)", "log L"), slopes, strict=True):
        yield _growth(claim := CLAIMS[line[0]["curve"]], line, law)
        yield _rise(claim, line, slope, allowance=0.1 * slope)
    yield _ratio(CLAIMS[TUNED], lines[TUNED], free, 0.02)  # "as good": within 2%
    yield _ratio("bayes-boundary", free, lines["bayes"], 0.002)


def _ratio(claim: str, above: Rows, below: Rows, allowance: float) -> Comparison:
    largest = max(a.value / b.value for a, b in zip(above, below, strict=True))
    given: dict[str, Any] = {"curve": "attention", "expected": 1.0, "allowance": allowance}
    given["key"] = claim == "bayes-boundary"
    where = "largest ratio of critical strengths over all L"
    return against_value(claim, "ratio", largest, above + below, where, **given)


def _floor(quantity: str, values: Rows, key: bool = False) -> Comparison:
    """Judge that no curve is below that of the Bayes test by three errors."""
    lows = values.where(curve="bayes")
    others = [row for row in values if row["curve"] != "bayes"]
    pairs = [(a, b) for a in lows for b in others if a.at == {**b.at, "curve": "bayes"}]
    where, resolved = f"share of {len(pairs)} cases", 1e-5  # predicted errors below it are not
    if values[0].engine != THEORY:
        where, resolved = f"measured, {where}, within three standard errors", 0.0
    allowed = [3 * math.hypot(a.error, b.error) + resolved for a, b in pairs]
    true = [a.value <= b.value + most for (a, b), most in zip(pairs, allowed, strict=True)]
    name = "bayes-is-the-floor"
    return fraction_true(name, quantity, true, values, where, curve="bayes", key=key)


def _on_fresh(known: Rows, row: Row) -> Comparison:
    """Compare the error on fresh samples with the predicted one; its law is exact at every d."""
    curve = row["curve"]
    if row["group"] == "critical":
        place = ("{curve}", "at the critical θ = {strength:.4g}, L = {length}", "length")
        return compare(CLAIMS[curve], known, row, *place, shift=NO_SHIFT)
    place = ("{curve}", "L = {length}, R = {informative}, θ = {strength:g}", "strength")
    return compare("oracle-error", known, row, *place, shift=NO_SHIFT, key=curve == "attention")


def draw(rows: Rows) -> Plot:
    """Draw critical strengths for one informative token, all models and the best."""
    strengths = rows.where(THEORY, "strength", informative=1)
    lengths = strengths.distinct("length")
    L = np.geomspace(min(lengths), max(lengths), 100)
    laws = {"√L": 4.65 * np.sqrt(L), "$L^{1/4}$": 2.0 * L**0.25}
    logarithms = {"√(2 log L)": np.sqrt(2 * np.log(L)), "(log L)/2 + 1": np.log(L) / 2 + 1}

    def panel(title: str, y: Axis, looks: list[str], guides: dict[str, np.ndarray]) -> Panel:
        also = functools.partial(_laws, L=L, guides=guides)
        return Panel("length", Axis("L", log=True), y, _curves(strengths, looks), title, also)

    y = Axis("critical θ at test error 0.01", log=True)
    every = panel("All models", y, [*LOOKS], laws)
    low = panel("Logarithmic laws, linear axis", Axis(""), [*LOOKS][-4:], logarithms)
    return curves([every, low], 9.8, 4.6, columns=1)


def _curves(rows: Rows, names: Iterable[str]) -> list[Curve]:
    looks = ((name, *LOOKS[name]) for name in names)
    return [Curve(n, colour, rows.where(curve=name), line) for name, n, colour, line in looks]


def _laws(axes: Axes, L: np.ndarray, guides: dict[str, np.ndarray]) -> None:
    axes.set_xscale("log", base=2)
    for name, y in guides.items():
        axes.plot(L, y, color=LIGHT_GREY, lw=0.8)
        look: dict[str, Any] = {
            "va": "center",
            "color": GREY,
            "fontsize": 8.5,
            "annotation_clip": False,
        }
        axes.annotate(name, (L[-1], y[-1]), (4, 0), textcoords="offset points", **look)


def draw_errors(rows: Rows) -> Plot:
    """Draw best errors against strength at one length, over the Bayes error."""
    kept = Rows(row for row in rows.where("line") if row.value > 1e-5)
    y, title = Axis("best test error", low=1e-4, high=0.7, log=True), f"L = {kept[0]['length']}"
    panel = Panel("strength", Axis("θ"), y, _curves(kept, LOOKS), f"{title}, R = 1")
    return curves([panel], 6.8, 4.8, columns=1)


FIGURES = {"representation": draw, "representation_error": draw_errors}

EXPERIMENT = Experiment("representation", SIZES, work, judge, FIGURES)
