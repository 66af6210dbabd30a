"""Beyond the theorems: attention networks of three families, trained end to end."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from sparsetoken import simulation, theory
from sparsetoken.beyond.architectures import Architecture, trial_error
from sparsetoken.beyond.network_training import Recipe, require_libraries
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, observed
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.references import References, reference_points, references_of
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining

__all__ = ["ARCHITECTURES", "ArchitecturesProfile"]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
RIDGE, ETA_Q = 0.1, 50.0
RECIPE = Recipe()
STATEMENTS = (
    Statement(
        "several-queries",
        "Where do several queries, trained end to end with their readout, stand between pooled, "
        "two-step attention and Bayes?",
        open=True,
    ),
    Statement(
        "class-token",
        "Where does self-attention with a class token stand between pooled, two-step attention "
        "and Bayes?",
        open=True,
    ),
    Statement(
        "two-layers",
        "Where do two layers of self-attention stand between pooled, two-step attention and Bayes?",
        open=True,
    ),
)
FAMILY_OF = {
    "several-queries": "multi-query",
    "class-token": "class-token",
    "two-layers": "two-layer",
}


@dataclasses.dataclass(frozen=True)
class ArchitecturesProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    alphas : tuple of float
        Loads: all labelled samples by dimension, however a training splits them.
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

    alphas: tuple[float, ...] = (2.0, 4.0, 8.0)
    dimension: int = 64
    trials: int = 4
    test_samples: int = 20_000
    queries: tuple[int, ...] = (1, 2, 4, 8)
    heads: tuple[int, ...] = (1, 4)
    layer_heads: tuple[int, ...] = (2,)
    recipe: Recipe = RECIPE
    reference_trials: int = 16
    tolerance: float = 1e-3

    @property
    def networks(self) -> dict[str, Architecture]:
        """What is trained, by the names of the curves."""
        found = {_count(h, "query"): Architecture("multi-query", h) for h in self.queries}
        found |= {_count(h, "head"): Architecture("class-token", h) for h in self.heads}
        for h in self.layer_heads:
            for read in ("class", "mean"):
                name = f"{_count(h, 'head')}, {_READ[read]}"
                found[name] = Architecture("two-layer", h, read=read)
        return found


_READ = {"class": "class token read", "mean": "mean read"}
QUICK = ArchitecturesProfile()
PAPER = ArchitecturesProfile((1.0, 2.0, 4.0, 8.0, 16.0), 128, 8, 50_000, heads=(1, 2, 4, 8))


def _count(n: int, what: str) -> str:
    plural = {"query": "queries", "head": "heads"}
    return f"{n} {what if n == 1 else plural[what]}"


def _training(alpha: float) -> FourStageTraining:
    """Return the two-step training that gives half of the samples to the query."""
    return FourStageTraining(alpha0=alpha / 2, eta_q=ETA_Q, ridge=RIDGE)


def _jobs(profile: ArchitecturesProfile, seed: int) -> list[Job]:
    require_libraries()  # before hours of other work, not after
    jobs = [Job(_references, (alpha, profile, seed), 4.0) for alpha in profile.alphas]
    for name, network in profile.networks.items():
        for alpha in profile.alphas:
            cost = _seconds(network, alpha, profile)
            jobs.append(Job(_trained, (name, network, alpha, profile, seed), cost))
    return jobs


def _seconds(network: Architecture, alpha: float, profile: ArchitecturesProfile) -> float:
    """Return a rough cost: compiling, then trainings whose steps cost n d."""
    one = {"multi-query": 0.2, "class-token": 0.6, "two-layer": 2.0}[network.family]
    compiling = {"multi-query": 2.0, "class-token": 3.0, "two-layer": 5.0}[network.family]
    size = alpha / 8 * (profile.dimension / 64) ** 2
    return compiling + profile.trials * (0.2 + one * size * network.heads**0.5)


def _references(alpha: float, profile: ArchitecturesProfile, seed: int) -> list[Point]:
    """Return theory and simulation of pooled and attention, and Bayes, in every panel."""
    training, tolerance = _training(alpha), profile.tolerance
    points = reference_points(PROBLEM, training, alpha / 2, x=alpha, tolerance=tolerance)
    all_to_readout = theory.predict("pooled", PROBLEM, training, alpha, tolerance=tolerance)
    pooled = Point(
        "pooled",
        "test_error",
        alpha,
        all_to_readout.test_error,
        all_to_readout.numerical_error,
        status=str(all_to_readout.status.code),
    )
    points = [pooled, *(p for p in points if p.curve != "pooled")]
    points += [
        _simulated("pooled", alpha, alpha, profile, seed),
        _simulated("attention", alpha, alpha / 2, profile, seed),
    ]
    return [dataclasses.replace(p, group=group) for group in FAMILY_OF.values() for p in points]


def _simulated(
    model: str, alpha: float, alpha1: float, profile: ArchitecturesProfile, seed: int
) -> Point:
    d, trials = profile.dimension, profile.reference_trials
    training = _training(alpha)
    found = simulation.simulate(
        model, PROBLEM, training, alpha1, dimension=d, trials=trials, seed=seed
    )
    return Point(
        model,
        "test_error",
        alpha,
        found.mean.test_error,
        found.standard_error.test_error,
        source="reduced",
        dimension=d,
        trials=trials,
        status=str(found.status.code),
    )


def _trained(
    name: str, network: Architecture, alpha: float, profile: ArchitecturesProfile, seed: int
) -> list[Point]:
    errors = [
        trial_error(
            network,
            PROBLEM,
            profile.recipe,
            dimension=profile.dimension,
            samples=round(alpha * profile.dimension),
            test_samples=profile.test_samples,
            seed=seed + trial,
        )
        for trial in range(profile.trials)
    ]
    spread = statistics.stdev(errors) / len(errors) ** 0.5 if len(errors) > 1 else float("nan")
    return [
        Point(
            name,
            "test_error",
            alpha,
            statistics.fmean(errors),
            spread,
            source="tensors",
            group=network.family,
            dimension=profile.dimension,
            trials=profile.trials,
        )
    ]


def _claims(profile: ArchitecturesProfile, points: Sequence[Point]) -> list[Claim]:
    claims = []
    for statement, family in FAMILY_OF.items():
        measured = select(points, group=family, source="tensors")
        for p in measured:
            where = f"{p.curve}, α = {p.x:g}"
            claims.append(observed(statement, p, where=where, key=p == _best(measured)))
    return claims


def _best(measured: Sequence[Point]) -> Point:
    """Return the smallest error at the largest load."""
    largest = max(p.x for p in measured)
    return min((p for p in measured if p.x == largest), key=lambda p: p.value)


def _setting(profile: ArchitecturesProfile) -> str:
    r = profile.recipe
    decays = " or ".join(f"{decay:g}" for decay in r.weight_decays)
    width = profile.networks[_count(profile.heads[0], "head")].width
    return (
        f"L = 10, R = 1, π = 0.5, θ = 5; d = {profile.dimension}, real tokens in float32, "
        f"{profile.trials} trainings of each network, each with its own signal, data and start, "
        f"judged on {profile.test_samples} fresh samples; the standard error is that of their "
        "mean. The load α counts all labelled samples, αd. "
        "Networks: queries with softmax pooling and a readout of all pooled features; "
        "self-attention with a class token that is read; two layers of self-attention with "
        "residuals, where the class token or the mean over the tokens is read "
        f"(keys and values of width {width}). All weights are trained together, with the "
        f"logistic loss and full-batch Adam at learning rate {r.learning_rate:g} with decoupled "
        f"weight decay {decays}, at most {r.block * r.blocks} steps. Weight decay and step are "
        f"those with the smallest loss on {100 * r.held_out:g} % of the samples, held out. "
        f"Matrices start with entries of size {r.scale:g}/√inputs, readouts with 0. "
        "Biases are read through a constant of size √d, so that Adam moves them as fast "
        "as a readout. "
        f"References with as many samples: pooled with the logistic loss and λ = {RIDGE:g}; "
        "two-step attention with half of the samples for the query and half for the readout, "
        f"η<sub>w</sub> = η<sub>b</sub> = 0.5, η<sub>q</sub> = {ETA_Q:g}, β = 1, λ = {RIDGE:g}, "
        f"in theory (d → ∞) and simulated at the same d ({profile.reference_trials} trials, "
        "reduced engine); Bayes knows the signal."
    )


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    load = max(p.x for p in points)
    families = list(FAMILY_OF.values())
    known = references_of(points, group=families[0], x=load)
    small = {p.curve: p for p in select(points, group=families[0], x=load, source="reduced")}
    said = [
        f"At α = {load:g}: {known.summary()}; simulated at d = {small['pooled'].dimension}, "
        + " and ".join(f"{name} {p.value:.4f} ± {p.error:.4f}" for name, p in small.items())
        + "."
    ]
    for statement in STATEMENTS:
        found = select(points, group=FAMILY_OF[statement.name], x=load, source="tensors")
        said.append(f"{_TITLE[statement.name]}: {_standings(found, known)}.")
    return " ".join(said)


def _standings(found: Sequence[Point], known: References) -> str:
    """Sort networks by where they stand; say what more heads change."""
    places: dict[str, list[str]] = {}
    for p in found:
        number = f"{p.curve} {p.value:.4f} ± {p.error:.4f}"
        places.setdefault(_between(p, known), []).append(number)
    said = [f"{', '.join(numbers)} ({place})" for place, numbers in places.items()]
    heads = sorted(found, key=lambda p: int(p.curve.split()[0]))
    few, many = heads[0], heads[-1]
    if few.curve.split()[0] != many.curve.split()[0]:
        error = (few.error**2 + many.error**2) ** 0.5
        change = many.value - few.value
        said.append(f"{many.curve} less {few.curve}: {change:+.4f} ± {error:.4f}")
    return "; ".join(said)


_TITLE = {
    "several-queries": "Several queries",
    "class-token": "Class token",
    "two-layers": "Two layers",
}


def _between(p: Point, known: References) -> str:
    """Say where a measured error stands, within two standard errors."""
    two = 2 * p.error
    if p.value > known.pooled + two:
        return "worse than pooled"
    if p.value > known.pooled - two:
        return "level with pooled"
    if p.value > known.attention + two:
        return "between pooled and two-step attention"
    if p.value > known.attention - two:
        return "level with two-step attention"
    return "between two-step attention and Bayes"


ARCHITECTURES = Experiment(
    name="architectures",
    title="Other architectures, trained end to end (beyond the theorems)",
    statements=STATEMENTS,
    profiles={"quick": QUICK, "paper": PAPER},
    jobs=_jobs,
    claims=_claims,
    setting=_setting,
    result=_result,
    left="Loads 1 and 16, d = 128, 8 trainings, and 2 and 8 heads with a class token.",
)
