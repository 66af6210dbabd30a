"""What is computed, simulated and trained, and the rows that it makes."""

from __future__ import annotations

import dataclasses

from sparsetoken import simulation
from sparsetoken.beyond.architectures import Architecture, trial_error
from sparsetoken.beyond.network_training import Recipe
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.references import PROBLEM, References, predict_references
from sparsetoken.experiments.rows import Measured, averaged, measured
from sparsetoken.models import Attention, Model, Pooled
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

RIDGE, ETA_Q = 0.1, 50.0
RECIPE = Recipe(patience=5)


@dataclasses.dataclass(frozen=True)
class Simulated:
    """Test errors at finite dimension with as many labelled samples as the networks have.

    Attributes
    ----------
    load : float
        All labelled samples by dimension, however a training splits them.
    pooled, attention : Measured
    """

    load: float
    pooled: Measured
    attention: Measured


@dataclasses.dataclass(frozen=True)
class Trained:
    """A network trained end to end with real tokens.

    Attributes
    ----------
    load : float
        As of `Simulated`.
    network : Architecture
    test_error : Measured
    """

    load: float
    network: Architecture
    test_error: Measured

    @property
    def name(self) -> str:
        """The network, as readers know it among those of its family."""
        heads, family = self.network.heads, self.network.family
        one, more = ("query", "queries") if family == "multi-query" else ("head", "heads")
        read = {"class": "class token read", "mean": "mean read"}[self.network.read]
        return f"{heads} {one if heads == 1 else more}" + f", {read}" * (family == "two-layer")


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    loads : tuple of float
        All labelled samples by dimension, however a training splits them.
    dimension, trials, test_samples : int
        d; trainings of each network, each with its own data; fresh samples for each.
    queries, heads, layer_heads : tuple of int
        Numbers of queries, of heads of one layer, and of heads in each of two layers.
    recipe : Recipe
    reference_trials : int
        Simulations of pooled and of two-step attention at the same d.
    tolerance : float
        Of the theory.
    """

    loads: tuple[float, ...] = (2.0, 4.0, 8.0)
    dimension: int = 64
    trials: int = 3
    test_samples: int = 10_000
    queries: tuple[int, ...] = (1, 2, 4, 8)
    heads: tuple[int, ...] = (1, 4)
    layer_heads: tuple[int, ...] = (2,)
    recipe: Recipe = RECIPE
    reference_trials: int = 16
    tolerance: float = 1e-3

    @property
    def networks(self) -> list[Architecture]:
        """What is trained."""
        return [
            *(Architecture("multi-query", h) for h in self.queries),
            *(Architecture("class-token", h) for h in self.heads),
            *(
                Architecture("two-layer", h, read=read)
                for h in self.layer_heads
                for read in ("class", "mean")
            ),
        ]


PROFILES = {
    "quick": Profile(),
    "paper": Profile((1.0, 2.0, 4.0, 8.0), 128, 5, 50_000, heads=(1, 2, 4, 8)),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile; all networks see the same data."""
    d, found = profile.dimension, []
    for i, load in enumerate(profile.loads):
        own = seed_of("architectures", i, seed)
        found.append(Job(predict, (load, profile.tolerance), 0.5))
        found.append(Job(simulate, (load, d, profile.reference_trials, own), 0.25))
        sizes = (profile.recipe, d, profile.test_samples, profile.trials, own)
        for network in profile.networks:
            found.append(Job(train, (load, network, *sizes), _seconds(network, load, profile)))
    return found


def _seconds(network: Architecture, load: float, profile: Profile) -> float:
    """Return a rough cost: compiling, then trainings whose steps cost n d."""
    compiling, step = {"multi-query": (2.0, 0.2), "class-token": (3.0, 0.6)}.get(
        network.family, (3.0, 1.0)
    )
    size = load / 8 * (profile.dimension / 64) ** 2
    return compiling + profile.trials * (0.2 + step * size * network.heads**0.5)


def steps_of(load: float) -> TwoSteps:
    """Return the steps that have half of the samples."""
    return TwoSteps(load / 2, eta_q=ETA_Q)


@version(2)
def predict(load: float, tolerance: float) -> list[References]:
    """Predict the references; the readout of pooled has all samples."""
    sizes = {"load": load, "pooled_alpha1": load, "tolerance": tolerance}
    return [
        predict_references(PROBLEM, steps_of(load), Readout(ridge=RIDGE, alpha1=load / 2), **sizes)
    ]


def simulate(load: float, dimension: int, trials: int, seed: int) -> list[Simulated]:
    """Simulate pooled and attention."""

    def test_error(model: Model, alpha1: float) -> Measured:
        found = simulation.simulate(
            PROBLEM,
            model,
            Readout(ridge=RIDGE, alpha1=alpha1),
            dimension=dimension,
            trials=trials,
            seed=seed,
        )
        return measured(found, "test_error", dimension)

    attention = Attention(steps_of(load))
    return [Simulated(load, test_error(Pooled(), load), test_error(attention, load / 2))]


def train(
    load: float,
    network: Architecture,
    recipe: Recipe,
    dimension: int,
    test_samples: int,
    trials: int,
    seed: int,
) -> list[Trained]:
    """Train a network in all trials, each with its own data."""
    errors = [
        trial_error(
            network,
            PROBLEM,
            recipe,
            dimension=dimension,
            samples=round(load * dimension),
            test_samples=test_samples,
            seed=seed_of("trial", trial, seed),
        )
        for trial in range(trials)
    ]
    return [Trained(load, network, averaged(errors, dimension))]
