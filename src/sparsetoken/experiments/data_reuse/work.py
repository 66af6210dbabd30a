"""What is computed and trained, and the rows that it makes."""

from __future__ import annotations

import dataclasses
import math

from sparsetoken import theory
from sparsetoken.beyond.reuse import ARMS, reuse_trial
from sparsetoken.experiments.descents import follow_trials
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.references import PROBLEM, References, predict_references
from sparsetoken.experiments.rows import Measured, Predicted, averaged, averages
from sparsetoken.models import Attention
from sparsetoken.results import Status, StatusCode, Trajectory
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import JointDescent, Readout, TwoSteps

FIT = 48
"""Steps of the readout after the two steps: it is then at its minimum, see `one_data_set`."""
_LAST = 5  # steps whose change counts as numerical error
_TOLERANCE = 3e-3  # of twice the error of the test error, far below its standard errors


@dataclasses.dataclass(frozen=True)
class Reused:
    """What theory predicts of query and readout found on the same samples.

    Attributes
    ----------
    alpha : float
        n/d of the one data set.
    test_error, cosine : Predicted
    """

    alpha: float
    test_error: Predicted
    cosine: Predicted


@dataclasses.dataclass(frozen=True)
class Descended:
    """The same descent without tokens at finite dimension.

    Attributes
    ----------
    alpha : float
        n/d of the one data set.
    test_error, cosine : Measured
    """

    alpha: float
    test_error: Measured
    cosine: Measured


@dataclasses.dataclass(frozen=True)
class Trained:
    """One way of using the data, trained with real tokens.

    Attributes
    ----------
    load : float
        n0/d = n1/d.
    arm : str
        One of `sparsetoken.beyond.reuse.ARMS`.
    test_error, cosine : Measured
        The cosine is that of the query with the signal.
    excess : Measured
        The test error less that of the arm "fresh" in the same trial.
    """

    load: float
    arm: str
    test_error: Measured
    cosine: Measured
    excess: Measured


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    loads : tuple of float
        n0/d = n1/d of the classifier with fresh data.
    dimension, trials : int
        Of real tokens; at loads below 1 the dimension is larger, see `dimension_of`.
    replicas : int
        Of the theory.
    samples, far_trials : int
        Of the descents without tokens: as many samples at each alpha, so that d is largest where
        alpha is small.
    """

    loads: tuple[float, ...]
    dimension: int
    trials: int
    replicas: int
    samples: int
    far_trials: int

    def dimension_of(self, load: float) -> int:
        """Return the dimension of real tokens at a load.

        What finite size adds hangs on the samples that find the query: there are never fewer of
        them than at load 1.
        """
        return round(self.dimension / min(load, 1.0))


PROFILES = {
    "quick": Profile((0.5, 1.0, 2.0, 4.0), 200, 20, 4, 1600, 8),
    "paper": Profile((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), 400, 60, 16, 3200, 20),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [Job(predict, (load,), 0.6) for load in profile.loads]
    for i, alpha in enumerate(alphas_of(profile)):
        found.append(Job(reuse, (alpha, profile.replicas), 0.7 * profile.replicas))
        own = seed_of("data-reuse", "without tokens", i, seed)
        cost = profile.far_trials * (profile.samples / 3200)
        found.append(Job(descend, (alpha, profile.samples, profile.far_trials, own), cost))
    for i, load in enumerate(profile.loads):
        dimension, trials = profile.dimension_of(load), profile.trials
        cost = trials * (0.2 + 0.03 * load * (dimension / 200) ** 2)
        own = seed_of("data-reuse", i, seed)
        found.append(Job(train, (load, dimension, trials, own), cost))
    return found


def alphas_of(profile: Profile) -> list[float]:
    """Return n/d of all data sets that serve both query and readout."""
    return sorted({times * load for load in profile.loads for times in (1, 2)})


def steps_of(load: float) -> TwoSteps:
    """Return the steps that find the query at a load."""
    return TwoSteps(load, eta_q=25.0)


@version(2)
def predict(load: float) -> list[References]:
    """Predict the references at a load."""
    return [predict_references(PROBLEM, steps_of(load), Readout(alpha1=load))]


def one_data_set(alpha: float) -> JointDescent:
    """Return the two steps and then the fit of the readout, all on the same samples.

    The fit is gradient descent with momentum on the objective of `Readout`. The square root of
    the product of step size and ridge, 4 and 0.01, is the rate of descent with the best
    momentum, so that 48 steps shrink what is left by e^-9. The bias has no ridge and the
    smallest curvature, the mean slope of the sigmoid over samples that are nearly all fitted;
    its steps are larger once the first have passed.
    """
    start, count = steps_of(alpha), FIT
    eta = [1.0] * 4 + [4.0] * (count - 4)
    bias = eta[:8] + [32.0] * (count - 8)
    still = [0.0] * count
    return JointDescent(
        alpha=alpha,
        steps=2 + count,
        eta_w=[start.eta_w, 0.0, *eta],
        eta_b=[start.eta_b, 0.0, *bias],
        eta_q=[0.0, start.eta_q, *still],
        momentum=[0.0, 0.0, 0.0, *[0.7] * (count - 1)],
        decay_w=Readout().ridge,
    )


@version(2)
def reuse(alpha: float, replicas: int) -> list[Reused]:
    """Predict query and readout found on the same samples."""
    found = theory.descend(PROBLEM, Attention(one_data_set(alpha)), replicas=replicas)
    status = str(_status(found).code)
    columns = {
        name: Predicted(float(getattr(found, name)[-1]), _error(found, name), status)
        for name in ("test_error", "cosine")
    }
    return [Reused(alpha, **columns)]


def descend(alpha: float, samples: int, trials: int, seed: int) -> list[Descended]:
    """Follow the same descent without tokens, at the dimension at which it has so many samples."""
    descent, dimension = one_data_set(alpha), round(samples / alpha)
    mean = follow_trials(descent, [descent.steps], dimension, trials, seed)
    return [Descended(alpha, mean("test_error", -1), mean("cosine", -1))]


def _error(found: Trajectory, name: str) -> float:
    """Return the standard error over replicas and what the last steps still changed."""
    values = getattr(found, name)
    return math.hypot(float(getattr(found.errors, name)[-1]), abs(values[-1] - values[-1 - _LAST]))


def _status(found: Trajectory) -> Status:
    if found.status.code is StatusCode.NO_LIMIT:
        return found.status
    if 2 * _error(found, "test_error") > _TOLERANCE:
        return Status(StatusCode.TOLERANCE_NOT_REACHED, "Take more replicas.")
    return Status(StatusCode.CONVERGED)


def train(load: float, dimension: int, trials: int, seed: int) -> list[Trained]:
    """Train all arms in all trials."""
    found = [
        reuse_trial(
            PROBLEM,
            steps_of(load),
            Readout(alpha1=load),
            dimension=dimension,
            seed=seed,
            trial=i,
        )
        for i in range(trials)
    ]
    rows = []
    for arm in ARMS:
        reached = averages([trial[arm] for trial in found], ("test_error", "cosine"), dimension)
        excess = [trial[arm].test_error - trial["fresh"].test_error for trial in found]
        rows.append(Trained(load, arm, **reached, excess=averaged(excess, dimension)))
    return rows
