"""Forecasts from pilots, and what more bags really bring."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence

import numpy as np

from sparsetoken.estimators import AttentionClassifier, PooledLinearClassifier, QueryWarning
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.forecasts.rows import Forecasted, LeftOut, Simulated
from sparsetoken.experiments.forecasts.sets import MULTIPLES, BagSet, Drawn
from sparsetoken.experiments.rows import Measured
from sparsetoken.forecasting import forecast
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.validation import InvalidInput

CLASSIFIERS = ("pooled", "attention")
CONSTRUCTED = (("digits", 5, 60), ("textures", 20, 80))
"""What a token is, how many are in a bag, and the bags of a pilot."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    pilots, draws, test_bags : int
        Of the constructed sets; draws are sets of training bags at each number of bags.
    set_pilots, set_draws : int
        Of each set that is given.
    """

    pilots: int
    draws: int
    test_bags: int
    set_pilots: int
    set_draws: int


PROFILES = {
    "quick": Profile(pilots=6, draws=12, test_bags=1000, set_pilots=3, set_draws=8),
    "paper": Profile(pilots=24, draws=16, test_bags=4000, set_pilots=8, set_draws=24),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of the constructed sets."""
    found = []
    for i, (tokens, length, pilot) in enumerate(CONSTRUCTED):
        drawn = Drawn(tokens, length, pilot, profile.test_bags)
        own = seed_of("forecasts", i, seed)
        found += _jobs_of(drawn, profile.pilots, profile.draws, own)
    return found


def set_jobs(profile: Profile, seed: int, sets: Sequence[BagSet | LeftOut]) -> list[Job]:
    """Return the jobs of sets that are given.

    Raises
    ------
    InvalidInput
        If two sets have one name.
    """
    names = [f"{length} {tokens}" for tokens, length, _ in CONSTRUCTED]
    names += [one.set if isinstance(one, LeftOut) else one.name for one in sets]
    if len(set(names)) < len(names):
        raise InvalidInput("sets", "of different names, also from the constructed ones", names)
    found = []
    for one in sets:
        if isinstance(one, LeftOut):
            found.append(Job(leave_out, (one.set, one.reason), 1e-3))
        else:
            own = seed_of("forecasts", one.digest, seed)
            found += _jobs_of(one, profile.set_pilots, profile.set_draws, own)
    return found


def _jobs_of(bags: Drawn | BagSet, pilots: int, draws: int, seed: int) -> list[Job]:
    found = [
        Job(forecast_pilot, (bags, number, seed), 2 + 0.03 * bags.pilot) for number in range(pilots)
    ]
    return found + [
        Job(measure_errors, (bags, n, draws, seed), 1e-3 * n * draws) for n in bags.sizes
    ]


@version(3)
def forecast_pilot(bags: Drawn | BagSet, number: int, seed: int) -> list[Forecasted]:
    """Draw a pilot and forecast the errors of one, two and four times as many bags."""
    rng = np.random.default_rng(seed_of("pilot", number, seed))
    pilot = bags.split(bags.pilot, rng)
    sizes = [multiple * bags.pilot for multiple in MULTIPLES]
    found = forecast(pilot.bags, pilot.positive, sizes, random_state=number)
    return [
        Forecasted(
            set=bags.name,
            given=isinstance(bags, BagSet),
            model=model,
            pilot=number,
            pilot_bags=bags.pilot,
            bags=point.n,
            error=point.error,
            low=point.low,
            high=point.high,
        )
        for model, points in found.curves.items()
        for point in points
    ]


@version(3)
def measure_errors(bags: Drawn | BagSet, n: int, draws: int, seed: int) -> list[Simulated]:
    """Fit both classifiers with their default parameters to n bags, and test them on others."""
    wrong: dict[str, list[np.ndarray]] = {model: [] for model in CLASSIFIERS}
    tested = []
    for draw in range(draws):
        split = bags.split(n, np.random.default_rng(seed_of("draw", n, draw, seed)))
        tested.append(split.numbers)
        for model in CLASSIFIERS:
            classifier = _classifier(model, draw)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", QueryWarning)  # the error tells
                classifier.fit(split.bags, split.positive)
            wrong[model].append(classifier.predict(split.rest) != split.truth)
    given = isinstance(bags, BagSet)
    dimension = split.rest.dimension
    return [
        Simulated(bags.name, given, model, n, _mean(found, tested, dimension, given))
        for model, found in wrong.items()
    ]


def _classifier(model: str, seed: int) -> PooledLinearClassifier | AttentionClassifier:
    if model == "pooled":
        return PooledLinearClassifier()
    return AttentionClassifier(random_state=seed)


def _mean(
    wrong: Sequence[np.ndarray], tested: Sequence[np.ndarray], dimension: int, given: bool
) -> Measured:
    """Return the mean over draws; a given set adds the luck of which bags it has."""
    errors = [float(one.mean()) for one in wrong]
    error = float(np.std(errors, ddof=1) / math.sqrt(len(errors)))
    if given:
        numbers, sums = np.concatenate(tested), np.concatenate(wrong).astype(float)
        counts = np.bincount(numbers)
        shares = np.bincount(numbers, sums)[counts > 0] / counts[counts > 0]
        error = math.hypot(error, float(shares.std(ddof=1)) / math.sqrt(len(shares)))
    mean, kept = float(np.mean(errors)), tuple(errors)
    return Measured(mean, error, dimension, len(errors), "tensors", values=kept)


def leave_out(name: str, reason: str) -> list[LeftOut]:
    """Return the row that says why a set is not there."""
    return [LeftOut(name, reason)]
