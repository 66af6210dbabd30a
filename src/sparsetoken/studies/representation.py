"""The best weights of each model: critical strength against length, and simulated errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

import sparsetoken as st
from sparsetoken.figures.palette import BLACK, BLUE, LIGHT_GREY, ORANGE, PURPLE, SKY, WINE
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.studies.claims import (
    AMENDMENT,
    PAPER,
    PROVED,
    Claim,
    Number,
    all_true,
    averaged,
    predicted,
    row,
)
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Call, Run, Study
from sparsetoken.theory.oracle.strength import CURVES

LEVEL = 0.01
"""The test error at a critical strength."""
LENGTHS = (8, 512, 65536)
TUNED = "attention_tuned"
"""Attention with the sharpness sqrt(2 log L), a curve besides `CURVES`."""
ROOTS = ("elementwise_erf", "elementwise_sigmoid")
POWERS = ("elementwise_tanh", "elementwise_relu", "elementwise_linear")
LOGARITHMIC = ("attention_fixed", "attention", "bayes")
EXPONENTS = {"pooled": 1e-3, "vectorized": 1e-3, **dict.fromkeys(ROOTS, 0.03)}
"""The curves that grow as the square root of the length, and the allowance of their exponent: below
L = 1e5 small weights of erf and sigmoid still lower it by a few hundredths."""
LAWS = {
    "attention": "√(2 log L)",
    "attention_fixed": "log L",
    **dict.fromkeys(POWERS, "L^{1/4}"),
    "elementwise_exp": "√(2 log L)",
}
"""The growth law that must be the nearest to each curve."""
RATIOS = {(TUNED, "attention"): 0.02, ("attention", "bayes"): 0.002}
"""How much larger the critical strength of the first may be than that of the second, relative."""
CLAIMS = {
    **dict.fromkeys(("pooled", "vectorized"), "linear-needs-sqrt-length"),
    **dict.fromkeys(("attention", TUNED), "attention-log-length-free"),
    "attention_fixed": "attention-fixed-sharpness",
    "bayes": "bayes-boundary",
    **dict.fromkeys(ROOTS, "bounded-elementwise-loses"),
    **dict.fromkeys((*POWERS, "elementwise_exp"), "elementwise-powers"),
}
"""The claim on the critical strength of each curve."""
DRAWN_LENGTH = 1024
DRAWN = ("pooled", "elementwise_erf", "elementwise_relu", *LOGARITHMIC)
"""The length and the curves of the errors that are drawn."""
RESOLVED = 1e-5
"""What predicted test errors resolve."""
TESTED = ("pooled", "attention", "attention_fixed", "elementwise_relu")
PLACES = ((64, 1, 4.5), (DRAWN_LENGTH, 1, 5.0), (DRAWN_LENGTH, 4, 3.5))
"""The curves whose best tests are tried on fresh samples, and the length, R and strength there."""
NEAR_LENGTH = 512
"""Where the best test of each curve is tried near its critical strength."""
SAMPLES, BLOCKS = 12_000, 32
"""Fresh samples of each class, and the blocks that they are divided among."""
LOOKS = {
    "pooled": Look(ORANGE, label="pooled = vectorized"),
    "elementwise_erf": Look(PURPLE, label="elementwise 1 + erf"),
    "elementwise_sigmoid": Look(PURPLE, ":", label="elementwise sigmoid"),
    "elementwise_tanh": Look(WINE, label="elementwise tanh"),
    "elementwise_linear": Look(WINE, ":", label="elementwise 1 + x"),
    "elementwise_relu": Look(WINE, "--", label="elementwise ReLU"),
    "elementwise_exp": Look(SKY, ":", label="elementwise exp"),
    "attention_fixed": Look(BLUE, "--", label="attention, k = 1"),
    "attention": Look(BLUE, label="attention, k free"),
    "bayes": Look(BLACK, ":", label="Bayes"),
}
"""Of each curve, the highest first."""
EVERY, LOW = "all models", "logarithmic laws, linear axis"
ERRORS = f"L = {DRAWN_LENGTH}, R = 1"
GUIDES = {
    "√L": (EVERY, 8.0, 0.0),
    "L^{1/4}": (EVERY, 2.0, 0.0),
    "√(2 log L)": (LOW, 1.0, 0.0),
    "log L": (LOW, 0.5, 1.0),
}
"""Growth laws, as guides to the eye: their panel, factor and offset."""


def curve_of(name: str, length: int) -> tuple[Any, float | None]:
    """Return the model of a curve, None for the Bayes test, and its sharpness where it is fixed."""
    tuned = math.sqrt(2 * math.log(length))
    return (st.Attention(), tuned) if name == TUNED else CURVES[name]


def critical_strength(name: str, length: int) -> Any:
    """Return the critical strength of a curve for one informative token."""
    model, sharpness = curve_of(name, length)
    return st.oracle.critical_strength(
        model, length, informative=1, error_level=LEVEL, sharpness=sharpness
    )


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
    if name in POWERS:
        return 2.7 * length**0.25
    return 3.75 + 0.77 * math.sqrt(2 * math.log(length))


def mistakes(
    problem: st.SparseTokenProblem, names: Sequence[str], *, samples: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the shares of mistakes of best tests on fresh tokens, in each block.

    Of so many samples of each class, which are divided among the blocks.
    """
    _, theta, R, L = problem.letters
    tests = {name: best_test(name, problem) for name in names}
    wrong, rng = {name: np.zeros(BLOCKS) for name in names}, np.random.default_rng(seed)
    for block, positive in itertools.product(range(BLOCKS), (True, False)):
        t = rng.standard_normal((samples // BLOCKS, L))
        t[:, :R] += theta * positive
        for name, test in tests.items():
            if name == "bayes":
                call = logsumexp(theta * t, axis=1) > math.log(L) + theta**2 / 2
            else:
                call = score(name, t, test.sharpness) > test.threshold
            wrong[name][block] += np.mean(call != positive) / 2
    return wrong


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


def growth_laws(L: np.ndarray) -> dict[str, np.ndarray]:
    """Return growth laws at lengths."""
    return {
        "√(2 log L)": np.sqrt(2 * np.log(L)),
        "log L": np.log(L),
        "L^{1/4}": L**0.25,
        "√L": np.sqrt(L),
    }


def best_law(lengths: Sequence[float], strengths: Sequence[float]) -> str:
    """Return the growth law that is nearest to strengths, by least squares of relative residuals.

    Equation: growth-fit.
    """
    theta = np.array(strengths, float)
    residuals = {
        name: np.polyfit(law, theta, 1, w=1 / theta, full=True)[1].sum()
        for name, law in growth_laws(np.array(lengths, float)).items()
    }
    return min(residuals, key=lambda name: float(residuals[name]))


def _tried() -> Iterator[tuple[dict[str, str], tuple[int, int, float]]]:
    """Yield the curves tried on the same samples, with the claim of each, and (L, R, theta)."""
    for L, R, theta in PLACES:
        names = (*TESTED, "bayes") if R == 1 else TESTED
        yield dict.fromkeys(names, "oracle-error"), (L, R, theta)
    for name, claim in CLAIMS.items():
        if name != "vectorized":  # whose test is that of pooled
            yield {name: claim}, (NEAR_LENGTH, 1, strength_near(name, NEAR_LENGTH))


def _strengths(scale: int) -> list[float]:
    """Return the strengths of a line of errors."""
    return np.linspace(1.0, 12.0, 12 * scale).tolist()


class Representation(Study):
    """Critical strengths of the best weights, their growth laws, and errors on fresh samples."""

    name, title = "representation", "What the best weights can do"
    setting = (
        "π = 0.5, readout and query along ξ, optimal threshold; the critical strength is θ at a "
        f"best test error of {LEVEL:g}. The sharpness k is optimised, except for k = 1 and for "
        "k = √(2 log L). Simulations draw the projections of fresh tokens on ξ, for tests with "
        "their predicted k and threshold."
    )
    caption = (
        "Critical strength for one informative token, with growth laws as guides (from the top √L "
        "and L^{1/4}; (log L)/2 + 1 and √(2 log L)), and the best test error against the strength "
        "at one length; points are fresh samples."
    )
    claims = (
        Claim(
            "linear-needs-sqrt-length",
            "Pooled and vectorised classifiers need a signal of the order of √L.",
            "Propositions 1–3",
            PROVED,
            PAPER,
        ),
        Claim(
            "attention-log-length-free",
            "With optimised sharpness, attention needs a signal that grows like √(2 log L); "
            "k = √(2 log L) is then as good as the best.",
            "Propositions 1–3",
            PROVED,
            PAPER,
        ),
        Claim(
            "bayes-boundary",
            "For one informative token, attention with optimised sharpness needs no stronger "
            "signal than the Bayes test.",
        ),
        Claim(
            "attention-fixed-sharpness",
            "With k fixed, attention needs a signal that grows like log L, with slope 1/(2k): "
            "noise moves the attended mean by only O(1/√L), which the best threshold exploits. "
            "The paper, with a threshold of the order of θ, has twice this slope.",
            "Propositions 1–3, with another constant",
            kind=AMENDMENT,
        ),
        Claim(
            "bounded-elementwise-loses",
            "Elementwise attention with 1 + erf or a sigmoid loses the logarithmic law and needs "
            "√L.",
            "Proposition 4",
            PROVED,
            PAPER,
        ),
        Claim(
            "elementwise-powers",
            "Elementwise attention with tanh, ReLU or 1 + x and optimised sharpness sums squares "
            "and needs L^{1/4}; with exp it keeps the law of attention. The paper has √L for "
            "elementwise attention without this distinction.",
            "Proposition 4, with another exponent",
            kind=AMENDMENT,
        ),
        Claim("bayes-is-the-least", "The Bayes test is never worse than the best weights."),
        Claim(
            "oracle-error",
            "The predicted errors of the best weights and of the Bayes test agree with those on "
            "fresh samples.",
        ),
    )
    panels = (
        Panel(EVERY, "L", f"critical θ at test error {LEVEL:g}", log={"x": LENGTHS, "y": ()}),
        Panel(LOW, "L", log={"x": LENGTHS}),
        Panel(ERRORS, "θ", "best test error", log={"y": ()}, limits={"ylim": (1e-4, 0.7)}),
    )
    looks = LOOKS | dict.fromkeys(GUIDES, Look(LIGHT_GREY, label="growth laws, as guides"))

    def theory(self, scale: int) -> Mapping[Any, Call]:
        calls: dict[Any, Call] = {
            ("strength", name, L): partial(critical_strength, name, L)
            for name in (*CURVES, TUNED)
            for L in LENGTHS
            if L in LENGTHS[-2:] or name not in ROOTS  # which cost most at the shortest
        }
        errors = [(name, (DRAWN_LENGTH, 1, t)) for name in DRAWN for t in _strengths(scale)]
        errors += [(name, place) for names, place in _tried() for name in names]
        for name, place in errors:
            test = partial(best_test, name, st.SparseTokenProblem(*place))
            calls["error", name, *place] = test
        return calls

    def simulation(self, scale: int) -> Mapping[Any, Call]:
        return {
            i: partial(mistakes, st.SparseTokenProblem(*place), [*names], samples=SAMPLES * scale)
            for i, (names, place) in enumerate(_tried())
        }

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        yield from self._drawn(run)
        for name, off in EXPONENTS.items():
            yield self._slope(run, name, 0.5, off, log=True)
        for name, law in LAWS.items():
            line = self._line(run, name)
            sound = _sound(line)
            best = best_law([*line], [n.value for n in line.values()]) if sound else "none"
            given = {"curve": name, "quantity": "nearest growth law", "where": f"found {best}"}
            yield all_true([best == law], line.values(), claim=CLAIMS[name], **given)
        for name, slope in self._leading(run).items():
            yield self._slope(run, name, slope, 0.1 * slope)
        for pair, most in RATIOS.items():
            above, below = (self._line(run, name) for name in pair)
            largest = max(above[L].value / below[L].value for L in LENGTHS)
            found = Number(largest, converged=_sound(above) and _sound(below))
            claim = CLAIMS[TUNED if TUNED in pair else "bayes"]
            given = {"curve": pair[0], "quantity": "ratio", "where": f"to {pair[1]}, largest in L"}
            yield row(1.0, found, claim=claim, allowance=most, key=True, **given)
        yield from self._least(run)
        yield from self._tests(run)

    def _drawn(self, run: Run) -> Iterator[dict[str, Any]]:
        lengths = np.geomspace(LENGTHS[0], LENGTHS[-1], 40)
        laws = growth_laws(lengths)
        for name, (panel, factor, offset) in GUIDES.items():
            for L, strength in zip(lengths, offset + factor * laws[name], strict=True):
                yield row(float(strength), x=L, panel=panel, curve=name)
        for panel, names in ((EVERY, tuple(LOOKS)), (LOW, ("elementwise_exp", *LOGARITHMIC))):
            for name in names:
                for L, strength in self._line(run, name).items():
                    yield row(strength, x=L, panel=panel, curve=name)
        for name, theta in itertools.product(DRAWN, _strengths(run.scale)):
            error = self._error(run, name, DRAWN_LENGTH, 1, theta)
            if error.value > RESOLVED:
                yield row(error, x=theta, panel=ERRORS, curve=name)

    def _line(self, run: Run, name: str) -> dict[int, Number]:
        """Return the critical strengths of a curve by length."""
        places = [("strength", name, L) for L in LENGTHS]
        return {p[-1]: predicted(run.theory[p], "strength") for p in places if p in run.theory}

    def _error(self, run: Run, *place: Any) -> Number:
        return predicted(run.theory["error", *place], "test_error")

    def _measured(self, run: Run, i: int, name: str) -> Number:
        return averaged(run.simulated[i][name], dimension=1)

    def _tests(self, run: Run) -> Iterator[dict[str, Any]]:
        """Compare errors on fresh samples with the predicted ones."""
        for i, (names, (L, R, theta)) in enumerate(_tried()):
            for name, claim in names.items():
                yield row(
                    self._error(run, name, L, R, theta),
                    self._measured(run, i, name),
                    claim=claim,
                    panel=ERRORS if (L, R) == (DRAWN_LENGTH, 1) else "",
                    x=theta,
                    curve=name,
                    quantity="test_error",
                    where=f"L = {L}, R = {R}, θ = {theta:.4g}",
                    key=claim == "oracle-error" and name == "attention",
                )

    def _slope(
        self, run: Run, name: str, slope: float, allowance: float, log: bool = False
    ) -> dict[str, Any]:
        """Compare the slope of the strength, or of its logarithm, in log L at the longest two L."""
        line = dict(list(self._line(run, name).items())[-2:])
        (short, low), (long, high) = ((L, strength.value) for L, strength in line.items())
        rise = math.log(high / low) if log else high - low
        found = Number(rise / math.log(long / short), converged=_sound(line))
        given = {"quantity": "exponent" if log else "slope in log L", "curve": name, "key": True}
        where = f"L = {short} to {long}" + ", leading order" * (not log)
        return row(slope, found, claim=CLAIMS[name], allowance=allowance, where=where, **given)

    def _leading(self, run: Run) -> dict[str, float]:
        """Return the slopes in log L to leading order, with sharpness free and fixed to k = 1.

        Free: a miss is a signal token below its threshold by the 1 % point. Fixed:
        (theta - k) exp(k theta) = O(sqrt(L)).
        """
        c, reach = (
            np.mean([n.value for n in self._line(run, name).values()][-2:]) - norm.isf(LEVEL)
            for name in ("attention", "attention_fixed")
        )
        free, fixed = norm.sf(c) / norm.pdf(c), 0.5 / (1 + 1 / (reach - 1))
        return {"attention": float(free), "attention_fixed": float(fixed)}

    def _least(self, run: Run) -> Iterator[dict[str, Any]]:
        """Judge that no curve is below that of the Bayes test by three errors."""
        tried = [(i, name) for i, (names, _) in enumerate(_tried()) for name in names]
        strengths = {(name, L): n for name in CURVES for L, n in self._line(run, name).items()}
        errors = {p[1:]: self._error(run, *p[1:]) for p in run.theory if p[0] == "error"}
        measured = {(name, i): self._measured(run, i, name) for i, name in tried}
        for quantity, numbers, resolved in (
            ("critical strength", strengths, RESOLVED),
            ("test_error", errors, RESOLVED),
            ("measured test_error", measured, 0.0),
        ):
            pairs = [
                (numbers["bayes", *place], number)
                for (name, *place), number in numbers.items()
                if name != "bayes" and ("bayes", *place) in numbers
            ]
            true = [
                a.value <= b.value + 3 * math.hypot(a.error, b.error) + resolved for a, b in pairs
            ]
            given = {"quantity": quantity, "where": f"{len(pairs)} cases, within three errors"}
            used = [number for pair in pairs for number in pair]
            yield all_true(true, used, claim="bayes-is-the-least", curve="bayes", **given)


def _sound(line: Mapping[int, Number]) -> bool:
    return all(strength.converged for strength in line.values())
