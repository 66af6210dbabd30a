"""Claims, the comparisons that decide them, and the rules, which are stated beforehand."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from sparsetoken.base.validation import InvalidInput

HOLDS, FAILS = "holds", "fails"
NOT_CONVERGED, BY_EXPERIMENT = "not converged", "by experiment"
LOOK = "look"
"""Trials behind a comparison are outlying, so that it neither holds nor fails."""
VERDICTS = (HOLDS, FAILS, LOOK, NOT_CONVERGED, BY_EXPERIMENT)

THEORY, REDUCED, TENSORS = "theory", "reduced", "tensors"
COMPUTED = "computed"
EVIDENCE = {
    TENSORS: "against real tensors",
    REDUCED: "against the reduced engine",
    COMPUTED: "computed against computed",
    "measured": "measured only",
}
"""The kinds of evidence, the strongest first, and their names for readers."""

OWN = "this project’s own"
"""The source of a claim that no paper states."""
PROVED, DERIVED, MEASURED = "proved in the paper", "derived here and checked", "by experiment"

LARGEST_Z = 4.0
"""Largest |z| at which a comparison with a simulation holds.

The report makes hundreds of such comparisons, so that |z| > 3, of chance 0.0027, is met in most
reports of a correct theory. |z| > 4 has chance 6.3e-5: with 400 comparisons, a correct theory
fails one of them in 2.5 % of reports.
"""

SMALL = 1e-4
"""Two numbers below it are not compared with each other: a wrong factor would pass."""

FAR, FEWEST = 50.0, 8
"""Of eight normal trials one is so many median absolute deviations from their median once in 30 000
sets, of eight squares of normals once in 40, of more trials less often; fewer tell nothing."""

RULE = (
    "A claim holds when all its comparisons hold. A comparison with a simulation holds when "
    f"|z| ≤ {LARGEST_Z:g}. With the difference D = measured − theory, "
    "t = (D − shift) / √(standard error² + numerical error² + shift error²). The shift is the "
    "expected finite-size effect, c/d of the theory, with c measured by simulations of other "
    "settings at several d, without the theory; its error is the spread of c between "
    "settings. Where simulations at several d are extrapolated to infinite dimension, there is no "
    "shift. z is the normal quantile with the tail chance of t under Student’s law, with the "
    "degrees of freedom of Welch and Satterthwaite. A few comparisons have a bound below which "
    "a difference does not count, such as what rounding or a small ridge can change; the setting "
    "of their section says so. The limit of |z| allows for the number of comparisons: each "
    f"exceeds it by chance once in {1 / (2 * stats.norm.sf(LARGEST_Z)):.0f} times. Where theory "
    f"and simulation are both below {SMALL:g}, a wrong factor would pass, and the comparison is "
    "left out. A comparison of two computed numbers holds when they differ by no more than the "
    "bound and three numerical errors. A claim about order or sign must be true in all cases. A "
    "computation that did not converge never holds. Where trials behind a comparison are "
    "outlying, its mean and its standard error say little: it neither holds nor fails, and is "
    f"there for a look. Trials are outlying, if there are {FEWEST} or more, where they are farther "
    f"from the median than {FAR:g} median absolute deviations."
)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the theory, or an open question.

    Attributes
    ----------
    name : str
        A word for tables and scripts, such as alignment-rate.
    text : str
        One sentence. An index is written η_q or α*_{pool}, an exponent d^{−1/2}.
    source, status : str
        The result that it states, as the paper calls it, and how it is known.
    open : bool
        Whether it is beyond the theorems, and answered by experiment only.
    """

    name: str
    text: str
    source: str = OWN
    status: str = DERIVED
    open: bool = False


@dataclasses.dataclass(frozen=True)
class Number:
    """A number with its error, and what it was found from.

    Attributes
    ----------
    value : float
    error : float
        Numerical error of what is computed, standard error of a mean over trials.
    engine : str
        theory, or what measured it: reduced, or tensors for real tokens.
    dimension, trials : int
        Of a simulation, else 0.
    converged : bool
    values : tuple of tuples of float
        The values of the trials of each mean from which the number was found.
    """

    value: float
    error: float = 0.0
    engine: str = THEORY
    dimension: int = 0
    trials: int = 0
    converged: bool = True
    values: tuple[tuple[float, ...], ...] = ()

    def __sub__(self, other: Number) -> Number:
        """Return a difference of two numbers with independent errors."""
        measured = self if self.engine != THEORY else other
        return dataclasses.replace(
            measured,
            value=self.value - other.value,
            error=math.hypot(self.error, other.error),
            converged=self.converged and other.converged,
            values=tuple(dict.fromkeys(self.values + other.values)),
        )

    def times(self, factor: float) -> Number:
        """Return a multiple."""
        values = tuple(tuple(factor * v for v in some) for some in self.values)
        error = abs(factor) * self.error
        return dataclasses.replace(self, value=factor * self.value, error=error, values=values)


def predicted(result: Any, quantity: str) -> Number:
    """Return a quantity of a result of the theory at one point, with its stated error.

    A result without errors of each quantity states that of its first.
    """
    columns = result.columns()
    if hasattr(result, "errors"):
        error = result.errors.columns().get(quantity, 0.0)
    else:
        error = columns.get("numerical_error", 0.0) if quantity == next(iter(columns)) else 0.0
    sound = np.isfinite(columns[quantity]) and result.converged
    return Number(float(columns[quantity]), float(error), converged=bool(sound))


def measured(result: Any, quantity: str, *, dimension: int, engine: str = REDUCED) -> Number:
    """Return the mean over trials of a quantity of a simulation at one point."""
    values = np.asarray(result.trials.columns()[quantity])
    return averaged(values, dimension=dimension, engine=engine, converged=result.converged)


def averaged(
    values: Any, *, dimension: int, engine: str = TENSORS, converged: bool = True
) -> Number:
    """Return the mean of one value for each trial; a single trial has the error nan."""
    values = np.asarray(values, float)
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    sound = converged and math.isfinite(mean)
    return Number(mean, error, engine, dimension, n, sound, (tuple(values.tolist()),))


def to_one_sample(share: Number, samples: float) -> Number:
    """Return a share of training samples with an error of one sample in all trials at least.

    A count of no errors has spread 0; it is still known only to one sample.
    """
    return dataclasses.replace(share, error=max(share.error, 1 / (share.trials * samples)))


class Shift(NamedTuple):
    """The c of a quantity in ``mean = limit (1 + c/d)`` over settings: its middle and its error.

    The spread is the standard deviation between settings, beyond the noise of the trials; and so
    many settings were measured.
    """

    mean: float
    error: float
    spread: float
    settings: int = 0

    @property
    def deviation(self) -> float:
        """The standard deviation of c in a new setting."""
        return math.hypot(self.error, self.spread)


def _read() -> dict[str, Shift]:
    text = resources.files(__package__).joinpath("shifts.json").read_text("utf-8")
    return {name: Shift(*values) for name, values in json.loads(text).items()}


SHIFTS = _read()
"""By quantity; written by benchmarks/agreement.py from simulations alone, no theory."""
NO_SHIFT = Shift(0.0, 0.0, 0.0)
"""The shift of quantities without dimension dependence, or extrapolated to infinity."""
DIFFERENCE = Shift(0.0, 0.0, SHIFTS["test_error"].spread)
"""Of a difference of two test errors, relative to the larger: their own shifts have one mean."""


def scale_of(quantity: str, limit: float) -> float:
    """Return the number that a shift is relative to.

    It is the limit, of an AUC what it lacks to 1, and of a cosine s its |s| (1 - s^2): a query
    that points exactly along the signal does so at every d.
    """
    if quantity in ("cosine", "readout_cosine"):
        return abs(limit) * (1 - limit**2)
    return abs(1 - limit) if quantity == "auc" else abs(limit)


def fitted_line(x: Any, y: Any, errors: Any) -> tuple[Number, Number]:
    """Return intercept and slope of the weighted least-squares line."""
    weights = 1 / np.asarray(errors, float)
    (slope, intercept), covariance = np.polyfit(x, y, 1, w=weights, cov="unscaled")
    slope_error, error = np.sqrt(np.diag(covariance)).tolist()
    return Number(float(intercept), error), Number(float(slope), slope_error)


def fitted_power(sizes: Sequence[float], numbers: Sequence[Number]) -> Number:
    """Return p in ``numbers = c sizes^p``, by a line through the logarithms."""
    y, errors = zip(*((math.log(n.value), n.error / n.value) for n in numbers), strict=True)
    slope = fitted_line([math.log(size) for size in sizes], y, errors)[1]
    return _found_from(numbers, slope)


def carried_to_infinity(numbers: Sequence[Number], sizes: Sequence[float] | None = None) -> Number:
    """Return the limit of infinite size by a line in 1/size through means at several sizes.

    The sizes are by default the dimensions.
    """
    sizes = [n.dimension for n in numbers] if sizes is None else sizes
    y, errors = zip(*((n.value, n.error) for n in numbers), strict=True)
    return _found_from(numbers, fitted_line([1 / size for size in sizes], y, errors)[0])


def _found_from(numbers: Sequence[Number], fit: Number) -> Number:
    """Return what is fitted to numbers with what measured them; trials are the fewest of one."""
    return dataclasses.replace(
        max(numbers, key=lambda n: n.dimension),
        value=fit.value,
        error=fit.error,
        trials=min(n.trials for n in numbers),
        converged=all(n.converged for n in numbers),
        values=tuple(dict.fromkeys(values for n in numbers for values in n.values)),
    )


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One comparison for or against a claim.

    Attributes
    ----------
    claim : str
        Name of the claim.
    quantity, curve : str
        The quantity, and the model or another name of what is compared; by default the quantity.
    where : str
        The place, for readers; indices as in `Claim.text`.
    theory, measured, standard_error, numerical_error, allowance, z : float
        nan where there is none. The allowance is a bound below which a difference does not count.
    dimension, trials : int
        Of a simulation, else 0.
    engine : str
        What measured it: reduced or tensors; computed where nothing was simulated.
    verdict : str
        holds, fails, look, not converged or by experiment.
    key : bool
        Whether it stands for its claim in the table that opens the report.
    raw_z : float
        z without a shift of finite dimension, and without an allowance; nan where z is.
    shift, shift_error : float
        What finite dimension is expected to add, and the standard deviation of that.
    cases : int
        Of a claim about order or sign: the number of cases, of which `measured` is the share that
        is true. Else 0.
    outlying : str
        The outlying trials that are to be looked at, in a line; else empty.
    """

    claim: str
    quantity: str
    curve: str = ""
    where: str = ""
    theory: float = math.nan
    measured: float = math.nan
    standard_error: float = math.nan
    numerical_error: float = math.nan
    allowance: float = math.nan
    z: float = math.nan
    dimension: int = 0
    trials: int = 0
    engine: str = COMPUTED
    verdict: str = NOT_CONVERGED
    key: bool = False
    raw_z: float = math.nan
    shift: float = 0.0
    shift_error: float = 0.0
    cases: int = 0
    outlying: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "curve", self.curve or self.quantity)

    @property
    def evidence(self) -> str:
        """A key of `EVIDENCE`: the engine, or measured if no theory was there to judge it."""
        return self.engine if math.isfinite(self.allowance) else "measured"

    @property
    def empty(self) -> bool:
        """Whether an error, a loss or a cosine was simulated where theory and it are next to 0."""
        small = max(abs(self.theory), abs(self.measured)) < SMALL
        return self.quantity in SHIFTS and math.isfinite(self.z) and small


def compare(
    claim: str,
    quantity: str,
    theory: Number,
    found: Number,
    *,
    shift: Shift | None = None,
    size: float | None = None,
    bound: float = 0.0,
    **place: Any,
) -> Comparison:
    """Compare a simulated number with the theory in the same setting.

    Parameters
    ----------
    claim, quantity : str
    theory, found : Number
    shift : Shift, optional
        The c of finite dimension; by default that of the quantity in `SHIFTS`.
    size : float, optional
        What the shift is relative to; by default `scale_of` the theory.
    bound : float
        A difference up to this does not count; the reason stands beside the call.
    **place
        What it is of: the curve, where and key of `Comparison`.

    Raises
    ------
    InvalidInput
        If the quantity has no shift in `SHIFTS` and none is given.
    """
    if shift is None and quantity not in SHIFTS:
        remedy = "NO_SHIFT of sparsetoken.studies.compare says that there is none."
        legal = f"one of {sorted(SHIFTS)}, or with a shift"
        raise InvalidInput("quantity", legal, quantity, remedy)
    c = SHIFTS[quantity] if shift is None else shift
    per = scale_of(quantity, theory.value) if size is None else size
    per /= found.dimension or math.inf  # a fit that failed has no dimension
    z = _score(found, theory, c.mean * per, c.deviation * per, bound)
    reported = report_only(claim, quantity, found, **place)
    sound = theory.converged and found.converged
    return dataclasses.replace(
        reported,
        theory=theory.value,
        numerical_error=theory.error,
        allowance=bound,
        shift=c.mean * per,
        shift_error=c.deviation * per,
        z=z,
        raw_z=_score(found, theory),
        verdict=_verdict(sound, abs(z) <= LARGEST_Z, reported.outlying),
    )


def _score(
    found: Number, theory: Number, shift: float = 0.0, shift_error: float = 0.0, bound: float = 0.0
) -> float:
    """Return z of a difference whose mean is the shift, less a bound towards 0."""
    left = found.value - theory.value - shift
    excess = max(abs(left) - bound, 0.0)
    scale = math.hypot(found.error, theory.error, shift_error)
    t = excess / scale if scale else math.inf if excess > 0 else 0.0
    # Only the standard error is estimated from trials (Welch and Satterthwaite).
    freedom = (found.trials - 1) * ((scale / found.error) ** 4 if found.error > 0 else 1.0)
    return math.copysign(normal_score(t, freedom), left)


def normal_score(t: float, freedom: float) -> float:
    """Return the normal quantile with the same tail probability as t >= 0 of Student's law.

    It is nan for a single trial, which says nothing of its error.
    """
    if freedom < 1:
        return math.nan
    return float(stats.norm.isf(stats.t.sf(t, freedom)))


def _verdict(sound: bool, true: bool, outlying: str, holds: str = HOLDS) -> str:
    if not sound:
        return NOT_CONVERGED
    return LOOK if outlying else holds if true else FAILS


def _outliers(values: Sequence[float]) -> list[int]:
    """Return the places of values that are far from the median."""
    if len(values) < FEWEST:
        return []
    distance = np.abs(np.asarray(values) - np.median(values))
    spread = float(np.median(distance))
    if spread < 1e-9:  # most are equal but for rounding, as where no sample is wrong
        spread = 0.005
    return np.flatnonzero(distance > FAR * spread).tolist()


def outlying_trials(trial_sets: Iterable[Sequence[float]]) -> str:
    """Return the outlying values among trials, and what the others are like; "" without any."""
    lines = []
    for values in dict.fromkeys(map(tuple, trial_sets)):
        if places := _outliers(values):
            rest = np.delete(values, places)
            far = ", ".join(f"{values[place]:.4g}" for place in places)
            lines.append(
                f"{far} among {len(values)} trials, of which the others have mean "
                f"{rest.mean():.4g} and standard deviation {rest.std(ddof=1):.2g}"
            )
    return "; ".join(lines)


def _engine(numbers: Iterable[Number]) -> str:
    """Return what measured the first number that was measured; theory if none was."""
    return next((n.engine for n in numbers if n.engine != THEORY), THEORY)


def within(
    claim: str,
    quantity: str,
    found: Number,
    expected: float,
    allowance: float,
    *,
    cases: int = 0,
    **place: Any,
) -> Comparison:
    """Compare a number with an expected one, where no standard error decides.

    It holds when ``|value - expected| <= allowance + 3 error``. The reason for the allowance stands
    beside the call. Other parameters are as of `compare`.
    """
    near = abs(found.value - expected) <= allowance + 3 * found.error
    outlying = outlying_trials(found.values)
    return Comparison(
        claim=claim,
        quantity=quantity,
        theory=expected,
        measured=found.value,
        numerical_error=found.error,
        allowance=allowance,
        engine=COMPUTED if found.engine == THEORY else found.engine,
        verdict=_verdict(found.converged and math.isfinite(found.value), near, outlying),
        cases=cases,
        outlying=outlying,
        **place,
    )


def all_true(
    claim: str, quantity: str, true: Iterable[Any], used: Iterable[Number], **place: Any
) -> Comparison:
    """Judge a claim about order or sign: it must be true in all cases.

    Parameters
    ----------
    claim, quantity : str
    true : iterable of bool
        Whether it is, case by case; there is one at least.
    used : iterable of Number
        What it was found from.
    **place
        As of `compare`.
    """
    true, used = [bool(one) for one in true], list(used)
    share = sum(true) / len(true) if true else math.nan
    found = Number(
        share,
        engine=_engine(used),
        converged=all(n.converged for n in used),
        values=tuple(values for n in used for values in n.values),
    )
    return within(claim, quantity, found, 1.0, 0.0, cases=len(true), **place)


def report_only(claim: str, quantity: str, found: Number, **place: Any) -> Comparison:
    """Report a measured number that no theorem predicts; parameters as of `compare`."""
    outlying = outlying_trials(found.values)
    return Comparison(
        claim=claim,
        quantity=quantity,
        measured=found.value,
        standard_error=found.error,
        dimension=found.dimension,
        trials=found.trials,
        engine=found.engine,
        verdict=_verdict(found.converged, True, outlying, BY_EXPERIMENT),
        outlying=outlying,
        **place,
    )


@dataclasses.dataclass(frozen=True)
class Finding:
    """A claim with the comparisons that bear on it."""

    claim: Claim
    comparisons: Sequence[Comparison]

    @property
    def verdict(self) -> str:
        """The verdict on the claim."""
        return verdict_of(self.comparisons)

    @property
    def example(self) -> Comparison | None:
        """The comparison shown for all: a failing one, else the key one furthest off."""

        def standing(comparison: Comparison) -> tuple[bool, bool, float]:
            off = abs(comparison.z) if math.isfinite(comparison.z) else 0.0
            return comparison.verdict == self.verdict, comparison.key, off

        return max(self.comparisons, key=standing, default=None)

    @property
    def evidence(self) -> dict[str, int]:
        """Number of comparisons of each kind of `EVIDENCE` that it has."""
        return {kind: n for kind, n in evidence_of(self.comparisons).items() if n}


def detectable(comparisons: Iterable[Comparison]) -> float:
    """Return the relative error of a formula at which a comparison fails: the median.

    It is the difference at which |z| reaches its limit, over the number that the theory gives; nan
    where nothing was compared with a simulation.
    """
    sizes = [
        (c.allowance + LARGEST_Z * math.hypot(c.standard_error, c.numerical_error, c.shift_error))
        / abs(c.theory)
        for c in comparisons
        if math.isfinite(c.z) and math.isfinite(c.standard_error) and c.theory
    ]
    return float(np.median(sizes)) if sizes else math.nan


class Scatter(NamedTuple):
    """The z of comparisons with a simulation without a bound below which differences do not count.

    Raw ones are without the shift of finite dimension; a correct theory has standard normal z. A z
    of exactly 0 is that of a one-sided comparison, and is omitted and counted as bounded.
    """

    z: list[float]
    raw: list[float]
    bounded: int

    @property
    def largest(self) -> float:
        """The largest |z|; 0 of none."""
        return max(map(abs, self.z), default=0.0)

    @property
    def chance(self) -> float:
        """The probability that the same number of standard normals includes a larger |z|."""
        return _any_beyond(self.largest, len(self.z))

    @property
    def false_alarm(self) -> float:
        """The chance that a correct theory exceeds the bound in one comparison at least."""
        return _any_beyond(LARGEST_Z, len(self.z) + self.bounded)

    def beyond(self, z: float) -> tuple[int, float]:
        """Return the number of comparisons beyond z, and that expected of standard normals."""
        return sum(abs(value) > z for value in self.z), len(self.z) * 2 * stats.norm.sf(z)


def _any_beyond(z: float, count: int) -> float:
    return float(-np.expm1(count * np.log1p(-2 * stats.norm.sf(z))))


def scatter_of(comparisons: Iterable[Comparison]) -> Scatter:
    """Return the scatter of the comparisons with a simulation."""
    judged = [c for c in comparisons if math.isfinite(c.z) and math.isfinite(c.raw_z)]
    free = [c for c in judged if c.allowance == 0 and c.raw_z]
    return Scatter([c.z for c in free], [c.raw_z for c in free], len(judged) - len(free))


def findings(claims: Iterable[Claim], comparisons: Sequence[Comparison]) -> list[Finding]:
    """Return each claim with its comparisons but those of two numbers next to 0."""
    kept = [c for c in comparisons if not c.empty]
    return [Finding(claim, [c for c in kept if c.claim == claim.name]) for claim in claims]


def evidence_of(comparisons: Iterable[Comparison]) -> dict[str, int]:
    """Return the number of comparisons of each kind of `EVIDENCE`."""
    kinds = [comparison.evidence for comparison in comparisons]
    return {kind: kinds.count(kind) for kind in EVIDENCE}


def verdict_of(comparisons: Iterable[Comparison]) -> str:
    """Return the verdict on a claim: that of its worst comparison.

    A claim without comparisons is not converged: nothing speaks for it.
    """
    verdicts = {comparison.verdict for comparison in comparisons}
    for verdict in (FAILS, NOT_CONVERGED, LOOK, HOLDS, BY_EXPERIMENT):
        if verdict in verdicts:
            return verdict
    return NOT_CONVERGED


def largest_z(comparisons: Iterable[Comparison]) -> float:
    """Return the largest |z| of the comparisons with a simulation, 0 if there is none."""
    return max((abs(c.z) for c in comparisons if math.isfinite(c.z)), default=0.0)
