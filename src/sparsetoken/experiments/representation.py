"""What the best weights can do: critical strength against length, and errors by simulation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from sparsetoken import theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.representation_claims import LEVEL, TUNED, judge_points
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.critical import CURVES
from sparsetoken.theory.representation import Representation

__all__ = ["REPRESENTATION", "RepresentationProfile"]

BLOCKS = 16
_CHUNK = 2_000_000  # projections held at once
STATEMENTS = (
    Statement(
        "linear-needs-sqrt-length",
        "Pooled and vectorised classifiers need a signal of the order of √L.",
    ),
    Statement(
        "attention-log-length-free",
        "With its sharpness free, attention needs a signal that grows like √(2 log L); "
        "k = √(2 log L) is then as good as the best.",
    ),
    Statement(
        "bayes-boundary",
        "For one informative token, attention with free sharpness needs no stronger signal than "
        "the Bayes test.",
    ),
    Statement(
        "attention-fixed-sharpness",
        "With k fixed, attention needs a signal that grows like log L, with slope 1/(2k): noise "
        "moves the mean of the attended tokens by O(1/√L) only, and the best threshold uses it.",
    ),
    Statement(
        "bounded-elementwise-loses",
        "Elementwise attention by 1 + erf or by a sigmoid loses the logarithmic law and needs √L.",
    ),
    Statement(
        "elementwise-powers",
        "Elementwise attention by tanh, ReLU or 1 + x, with its sharpness free, sums squares and "
        "needs L^(1/4); by exp it keeps the law of attention.",
    ),
    Statement("bayes-is-the-floor", "The Bayes test is never worse than the best weights."),
    Statement(
        "oracle-error",
        "The predicted error of the best weights and of the Bayes test is that of fresh samples.",
    ),
)


@dataclasses.dataclass(frozen=True)
class RepresentationProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    lengths : tuple of int
    informative : tuple of int
        Values of R; growth laws are judged for the first, which is 1.
    curve_length : int
        L of the errors against theta.
    strengths : tuple of float
        theta of these errors.
    places : tuple of (L, R, theta)
        Where fresh samples are drawn.
    samples : int
        Fresh samples of each class, divided among 16 blocks.
    """

    lengths: tuple[int, ...]
    informative: tuple[int, ...]
    curve_length: int
    strengths: tuple[float, ...]
    places: tuple[tuple[int, int, float], ...]
    samples: int


PLACES = ((64, 1, 4.5), (1024, 1, 5.0), (1024, 4, 3.5))
QUICK = RepresentationProfile(
    (8, 64, 512, 4096, 65536), (1,), 1024, (1, 2, 3, 4, 5, 6, 7, 8, 10, 12), PLACES, 16_000
)
PAPER = RepresentationProfile(
    tuple(2**i for i in range(3, 17)),
    (1, 4),
    1024,
    tuple(0.5 * i for i in range(1, 25)),
    (*PLACES, (16384, 1, 6.0)),
    64_000,
)


def _jobs(profile: RepresentationProfile, seed: int) -> list[Job]:
    jobs = []
    for R in profile.informative:
        for name in (*CURVES, TUNED):
            for L in profile.lengths:
                cost = 3.0 if name == "bayes" and R > 1 else 1.5
                jobs.append(Job(_critical, (name, L, R), cost))
    for name in CURVES:
        jobs.append(Job(_errors, (name, profile.curve_length, profile.strengths), 4.0))
    for L, R, theta in profile.places:
        cost = 3 + profile.samples * L * 1e-7
        jobs.append(Job(_fresh, (L, R, theta, profile.samples, seed), cost))
    return jobs


def _critical(name: str, L: int, R: int) -> list[Point]:
    model, k, activation = CURVES.get(name, ("attention", math.sqrt(2 * math.log(L)), "erf"))
    found = theory.critical_strength(
        model, L, informative=R, error_level=LEVEL, sharpness=k, activation=activation
    )
    status = str(found.status.code)
    point = Point(
        name, "critical_strength", L, found.strength, found.numerical_error, group=f"R = {R}"
    )
    return [dataclasses.replace(point, status=status)]


def _errors(name: str, L: int, strengths: Sequence[float]) -> list[Point]:
    model, k, activation = CURVES[name]
    points = []
    for strength in strengths:
        problem = SparseTokenProblem(L, 1, strength)
        found: theory.BayesError | Representation
        if model == "bayes":
            found = theory.bayes_error(problem)
        else:
            found = theory.best_error(model, problem, sharpness=k, activation=activation)
        values = (found.test_error, found.numerical_error)
        status = str(found.status.code)
        points.append(
            Point(name, "test_error", strength, *values, group="curve", status=status, y=L)
        )
    return points


def _fresh(L: int, R: int, strength: float, samples: int, seed: int) -> list[Point]:
    """Return predicted and measured errors of the predicted best tests at one place."""
    problem = SparseTokenProblem(L, R, strength)
    group = f"L = {L}, R = {R}"
    tests: dict[str, Representation] = {
        "pooled": theory.best_error("pooled", problem),
        "attention": theory.best_error("attention", problem),
        "attention_fixed": theory.best_error("attention", problem, sharpness=1.0),
        "elementwise_relu": theory.best_error("elementwise", problem, activation="relu"),
    }
    found: dict[str, theory.BayesError | Representation] = dict(tests)
    if R == 1:
        found["bayes"] = theory.bayes_error(problem)
    mistakes: dict[str, list[float]] = {name: [] for name in found}
    for block in range(BLOCKS):
        rng = np.random.default_rng([seed, L, R, block])
        for name, share in _mistakes(problem, tests, samples // BLOCKS, rng).items():
            mistakes[name].append(share)
    points = []
    for name, prediction in found.items():
        shares = np.array(mistakes[name])
        error = float(shares.std(ddof=1) / math.sqrt(BLOCKS))
        point = Point(
            name,
            "test_error",
            strength,
            prediction.test_error,
            prediction.numerical_error,
            group=group,
            status=str(prediction.status.code),
        )
        points.append(point)
        points.append(
            dataclasses.replace(
                point,
                value=float(shares.mean()),
                error=error,
                source="tensors",
                dimension=1,
                trials=BLOCKS,
                status="converged",
            )
        )
    return points


def _mistakes(
    problem: SparseTokenProblem,
    tests: dict[str, Representation],
    samples: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return the share of mistakes of each test on fresh tokens, half of each class."""
    _, theta, R, L = problem.letters
    wrong: dict[str, float] = {}
    rows = max(1, _CHUNK // L)
    for positive in (True, False):
        for start in range(0, samples, rows):
            n = min(rows, samples - start)
            t = rng.standard_normal((n, L))
            t[:, :R] += theta * positive
            calls = {name: _score(name, t, test) > test.threshold for name, test in tests.items()}
            if R == 1:
                calls["bayes"] = logsumexp(theta * t, axis=1) > math.log(L) + theta**2 / 2
            for name, call in calls.items():
                wrong[name] = wrong.get(name, 0.0) + float(np.sum(call != positive))
    return {name: count / (2 * samples) for name, count in wrong.items()}


def _score(name: str, t: np.ndarray, test: Representation) -> np.ndarray:
    """Return <w, f_q(X)> with w = xi, from the projections of the tokens."""
    if name == "pooled" or test.sharpness == 0:
        return t.mean(axis=1)
    if name == "elementwise_relu":
        return np.mean(t * np.maximum(test.sharpness * t, 0), axis=1)
    if test.sharpness == math.inf:
        return t.max(axis=1)
    a = np.exp(test.sharpness * (t - t.max(axis=1, keepdims=True)))
    return np.sum(a * t, axis=1) / a.sum(axis=1)


def _setting(profile: RepresentationProfile) -> str:
    return (
        "π = 0.5, readout and query along ξ, threshold free. The law of a sum over tokens is "
        "computed on a lattice, exact at any length up to the stated numerical error; the Bayes "
        "test for 1 &lt; R &lt; L by quasi-Monte Carlo over the largest tokens. Critical strength: "
        f"θ at a best test error of {LEVEL:g}, for L = {profile.lengths[0]} to "
        f"{profile.lengths[-1]} and R = {', '.join(map(str, profile.informative))}. "
        "The sharpness k is optimised, except for “attention fixed” (k = 1) and “attention tuned” "
        f"(k = √(2 log L)). Errors against θ at L = {profile.curve_length}, R = 1. Simulation: "
        f"{profile.samples} fresh samples of each class in {BLOCKS} blocks, all tokens drawn, only "
        "their projections on ξ kept since no test looks at the rest; each test has its predicted "
        "k and threshold."
    )


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    def strengths(name: str) -> list[Point]:
        return select(points, curve=name, quantity="critical_strength", group="R = 1")

    last = {name: strengths(name)[-1] for name in (*CURVES, TUNED)}
    slope = {
        c.curve: c.measured for c in claims if c.quantity == "slope" and math.isfinite(c.measured)
    }
    L = last["pooled"].x
    failed = sorted({c.statement for c in claims if c.verdict == "fails"})
    text = (
        f"At L = {L:g} and R = 1 an error of {LEVEL:g} takes θ = {last['bayes'].value:.2f} by the "
        f"Bayes test, {last['attention'].value:.2f} by attention with k free, "
        f"{last['attention_fixed'].value:.2f} with k = 1, {last['elementwise_relu'].value:.1f} by "
        f"elementwise ReLU, {last['elementwise_erf'].value:.0f} by 1 + erf and "
        f"{last['pooled'].value:.0f} by pooling. At the largest lengths θ rises by "
        f"{slope['attention']:.3f} per unit of log L with k free and by "
        f"{slope['attention_fixed']:.3f} with k = 1: log L / (2k) is its leading term, half of "
        "what a threshold of the order of θ would need."
    )
    return text + (f" Not confirmed: {', '.join(failed)}." if failed else "")


REPRESENTATION = Experiment(
    "representation",
    "What the best weights can do",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    judge_points,
    _setting,
    _result,
    left="All powers of two from 8 to 65536, R = 4, finer curves, and L = 16384 by simulation.",
)
