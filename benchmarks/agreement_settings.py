"""Settings of `agreement.py`: problems, models, covariances, networks, minima, random queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sparsetoken import (
    Attention,
    Descent,
    Minimum,
    OnePass,
    Query,
    Readout,
    SparseTokenProblem,
    TokenCovariance,
    TwoSteps,
    networks,
    tasks,
)
from sparsetoken.model import ConceptProblem, HardAttention
from sparsetoken.model.models import Model, make_model
from sparsetoken.model.training import stem_of
from sparsetoken.theory.query.finite_dimension import drawn_queries


class Setting(NamedTuple):
    """A problem, a model and the fit of its readout."""

    problem: Any
    model: Model
    readout: Readout


def unit(vector: np.ndarray) -> np.ndarray:
    """Return a vector of length 1."""
    return vector / np.linalg.norm(vector)


def static(index: int) -> Setting:
    """Return a readout on features of a model, whose query is trained or given.

    Tokens are isotropic, or have a flat or steep spectrum at d = 400, half of these with an effect
    of bags whose eigenvectors are others.
    """
    rng = np.random.default_rng([1, index])
    length = int(rng.integers(2, 12))
    informative = int(rng.integers(1, length // 2 + 1))
    strength, rate = rng.uniform(1.5, 5), rng.uniform(0.25, 0.75)
    kind, tokens = index % 4, {}
    name = ["attention", "pooled", "hard", "vectorized", "attention", "elementwise"][index % 6]
    if kind:
        j = np.arange(400)
        S = (j + 1.0) ** [0.0, -0.4, -0.8][index % 3]
        xi = unit(rng.standard_normal(400))
        between = None
        if kind == 1 and name != "elementwise":  # of which theory takes no effect of bags
            between = rng.uniform(0.05, 0.5) * (1 + np.cos(0.5 * j))
        tokens["tokens"] = TokenCovariance(S / S.mean(), between, signal=xi)
    problem = SparseTokenProblem(length, informative, strength, rate, **tokens)
    loss = ["square", "logistic"][index // 2 % 2]
    steps = TwoSteps(alpha0=rng.uniform(1, 4), eta_q=10 ** rng.uniform(0.5, 1.5), loss=loss)
    given = Query(rng.uniform(-0.5, 1), rng.uniform(0.3, 3))
    activation = str(rng.choice(["erf", "sigmoid", "tanh", "relu", "linear"]))
    query = steps if rng.random() < 0.5 else given
    known = HardAttention(given) if name == "hard" else None
    model = known or make_model(name, query, activation=activation)
    return Setting(problem, model, Readout(loss, 10 ** rng.uniform(-2.5, 0), rng.uniform(0.5, 3)))


def prediction(index: int) -> Any:
    """Return a task, a model whose query is given, and a readout; every third is a `Task`."""
    rng = np.random.default_rng([6, index])
    cosine, sharpness = rng.uniform(-0.5, 1), 10 ** rng.uniform(-0.5, 0.7)
    alpha = 10 ** rng.uniform(-0.5, 1.3) if rng.random() < 0.85 else math.inf
    ridge = 10 ** rng.uniform(-4, 0)
    if index % 3 == 2:
        make = [tasks.single_location_regression, tasks.needle_with_value][index % 2]
        task = make(length=int(rng.integers(2, 8)), strength=rng.uniform(1, 5))
        names = task.directions
        shares = unit(rng.standard_normal(len(names) + 1))[:-1]
        query = Query(cosines=dict(zip(names, shares.tolist(), strict=True)), sharpness=sharpness)
        loss = "square" if index % 2 == 0 else str(rng.choice(["logistic", "squared_hinge"]))
        return Setting(task, Attention(query), Readout(loss, ridge, alpha))
    length = int(rng.integers(2, 25))
    informative = int(rng.integers(1, max(length // 3, 1) + 1))
    problem = SparseTokenProblem(
        length, informative, rng.uniform(1, 8), float(rng.choice([0.5, 0.3, 0.1]))
    )
    query = Query(cosine, sharpness)
    activation = str(rng.choice(["erf", "sigmoid", "tanh", "relu"]))
    models = [Attention(query), Attention(query), HardAttention(query)]
    model = [*models, make_model("elementwise", query, activation=activation)][rng.integers(4)]
    loss = str(rng.choice(["square", "logistic", "hinge", "squared_hinge"]))
    return Setting(problem, model, Readout(loss, ridge, alpha))


# Descents of networks.


def largest(H: Any, c: Any) -> Any:
    """Return a smooth maximum over the tokens, as a network of one's own."""
    return jax.nn.logsumexp(2 * H[:, 0]) / 2 + c[0]


def network(index: int) -> tuple[Any, Descent, str]:
    """Return a task, a descent, and the kind of the task."""
    rng = np.random.default_rng((0, index))
    task, kind = _task(rng, int(rng.integers(2, 9)))
    outputs = 1 if getattr(task, "classes", 2) == 2 else task.classes
    choices = [
        networks.Softmax(heads=int(rng.integers(1, 4))),
        networks.Gated(hidden=int(rng.integers(1, 5))),
        networks.SelfAttention(rank=int(rng.integers(1, 3))),
        networks.Elementwise(str(rng.choice(["erf", "sigmoid", "tanh"]))),
        networks.DeepSets(hidden=int(rng.integers(1, 5))),
        networks.Pooled(),
        networks.Network(largest, columns=["w"], weights=["b"]),
    ]
    chosen = choices[index % (len(choices) if outputs == 1 else len(choices) - 1)]
    columns = len(chosen.column_names(outputs))
    losses = ["logistic"] if outputs > 1 else ["logistic", "logistic", "square", "squared_hinge"]
    loss = str(rng.choice(losses)) if outputs == 1 else losses[0]
    slow = 0.3 if loss == "square" else 1.0
    descent = Descent(
        chosen,
        alpha=float(np.exp(rng.uniform(math.log(0.5), math.log(4)))),
        steps=int(rng.integers(6, 15)),
        rates=slow * np.exp(rng.uniform(math.log(0.3), math.log(2), columns)),
        rate_c=slow * float(rng.uniform(0, 1)),
        start=rng.uniform(0.2, 0.7, columns),
        start_overlaps=rng.uniform(0, 0.3, columns) if rng.random() < 0.5 else 0.0,
        momentum=float(rng.choice([0.0, 0.0, 0.4])),
        decay=float(rng.choice([0.0, 0.0, 0.05])),
        batches=int(rng.choice([1, 1, 2])),
        loss=loss,
    )
    return task, descent, kind


def _task(rng: np.random.Generator, L: int) -> tuple[Any, str]:
    kind = str(rng.choice(["one", "both", "classes", "atoms", "shared", "power"]))
    strength = float(rng.uniform(2.0, 5.0))
    if kind == "both" and L > 1:
        patterns, rates = [[1, 1], [0, 0], [1, 0], [0, 1]], [0.4, 0.2, 0.2, 0.2]
        return ConceptProblem(L, [strength + 1, strength], patterns, rates, [1, 0, 0, 0]), kind
    if kind == "classes":
        patterns, rates = [[0, 0], [1, 0], [0, 1]], [0.4, 0.3, 0.3]
        return ConceptProblem(L, [strength + 1, strength], patterns, rates, [0, 1, 2]), kind
    informative, rate = int(rng.integers(1, min(L, 3) + 1)), float(rng.uniform(0.3, 0.7))
    values, d, between = (L, informative, strength, rate), 600, None
    if kind == "power":
        within = np.arange(1.0, d + 1) ** -0.4
    elif kind in ("atoms", "shared"):
        within = np.repeat(rng.uniform(0.3, 2.0, 3), d // 3)
    else:
        return SparseTokenProblem(*values), kind
    if kind == "shared":
        between = np.repeat(rng.uniform(0.0, 0.5, 3), d // 3)
    tokens = TokenCovariance(within / within.mean(), between, unit(rng.standard_normal(d)))
    return SparseTokenProblem(*values, tokens=tokens), kind


# Joint minima.


def joint_minimum(index: int) -> tuple[Any, Minimum]:
    """Return a task and a minimum: of eight, five of softmax attention on sparse tokens.

    In one of these the query is given, and the minimum is convex.
    """
    rng = np.random.default_rng([9, index])
    length = int(rng.integers(3, 8))
    alpha = float(np.exp(rng.uniform(math.log(0.7), math.log(16))))
    ridge = float(np.exp(rng.uniform(math.log(0.003), math.log(0.2))))
    strength, few = rng.uniform(2.5, 5), min(length, 5)
    task: Any = SparseTokenProblem(length, int(rng.integers(1, 3)), strength, rng.uniform(0.3, 0.6))
    loss = str(rng.choice(["logistic", "logistic", "square", "squared_hinge"]))
    chosen: Any = networks.Softmax()
    more: dict[str, Any] = {"frozen": {"q": (1.2, 1.5)}} if index % 8 == 4 else {}
    if index % 8 == 5:
        chosen = [
            networks.Elementwise("sigmoid"),
            networks.SelfAttention(rank=1),
            networks.Gated(hidden=1),
            networks.Softmax(heads=2),
        ][index // 8 % 4]
        more = {"ridge_c": 0.1} if index // 8 % 4 == 2 else {}
    elif index % 8 == 6:
        task, loss = tasks.single_location_regression(few, strength=strength), "square"
    elif index % 8 == 7:
        task, loss = tasks.needle_with_value(few, strength=strength), "logistic"
    return task, Minimum(chosen, alpha=alpha, ridge=ridge, loss=loss, **more)


# Descents of networks of several layers.

RATES = {"Q": 3.0, "K": 3.0, "V": 1.5, "O": 1.0, "q": 0.7, "w": 0.3, "u": 1.0, "v": 1.0}
SLOW = {"Q": 3.0, "K": 3.0, "V": 1.0, "O": 1.0, "q": 0.6, "w": 0.15}
SIGNAL = {"Q": 0.6, "K": 0.6, "V": 0.5, "O": 0.0, "q": 0.2, "w": 0.1}
CONCEPT = {"Q": 0.4, "K": 0.4, "V": {"1": 0.4, "2": 0.0}, "O": 0.0, "q": 0.2, "w": 0.0}
PLACE = {"Q": {"place": 0.5}, "K": {"place": 0.5}, "V": {"place": 0.5}, "O": 0.0}
SINGLE = PLACE | {"q": {"place": 0.2}, "w": {"value": 0.2}}
NEEDLE = {name: {"needle": 0.5} for name in "QKV"} | {"O": 0.0, "q": 0.0, "w": 0.0}
HOPS = {
    **{"Q": {"key": 0.6}, "K": {"key": 0.4, "mark": 0.3}, "V": {"mark": 0.5}, "O": 0.0},
    **{"q": {"value": 0.2}, "w": {"value": 0.3}},
}
SPECTRUM = TokenCovariance(
    within=np.repeat([0.5, 1.5], 400),
    between=np.repeat([0.3, 0.0], 400),
    signal=np.full(800, 800**-0.5),
)


def attended_mean(H: Any, c: Any, G: Any) -> Any:
    """Return attention to a query, a hidden unit that reads what it wrote, and a mean."""
    R = H + (jax.nn.softmax(H[:, 0]) @ H[:, 1]) * G[2]
    R = R + jnp.tanh(R[:, 3])[:, None] * G[4]
    return R[:, 5].mean() + c[0]


def by_stems(chosen: Any, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return numbers for the columns of a network, by name without digits; others are 0."""
    stems = {stem_of(name) for name in chosen.column_names(1)}
    return {stem: numbers.get(stem, 0.0) for stem in stems}


def deep_network(index: int) -> tuple[Any, Descent]:
    """Return a task and a descent of a network of several layers; those from 12 on are random."""
    two, three = networks.Transformer(2), networks.Transformer(3)
    sparse = SparseTokenProblem(5, 1, 4.0)
    patterns, rates = [[1, 1], [0, 0], [1, 0], [0, 1]], [0.4, 0.2, 0.2, 0.2]
    meeting = ConceptProblem(5, [4.0, 4.0], patterns, rates, [1, 0, 0, 0])
    place, needle = tasks.single_location_regression(6), tasks.needle_with_value(5)
    own = networks.Network(attended_mean, ["q", "v", "o", "u", "x", "w"], ["b"], gram=True)
    heads, reads = networks.Transformer(2, heads=2), SIGNAL
    given: list[tuple[Any, Any, float, int, dict[str, Any]]] = [
        (sparse, two, 1.0, 12, {}),
        (sparse, two, 8.0, 14, {}),
        (sparse, three, 2.0, 12, {}),
        (sparse, heads, 2.0, 12, {"momentum": 0.3, "batches": 2, "decay": 0.02}),
        (meeting, heads, 2.0, 12, {"start_overlaps": CONCEPT}),
        (place, two, 8.0, 14, {"loss": "square", "rates": SLOW, "start_overlaps": SINGLE}),
        (needle, two, 2.0, 12, {"start_overlaps": NEEDLE}),
        (needle, own, 2.0, 12, {"start_cosines": {("o", "u"): 0.4, ("x", "w"): 0.4}}),
        (needle, networks.Transformer(2, hidden=1), 8.0, 12, {"start_overlaps": NEEDLE}),
        (tasks.lookup(6), two, 4.0, 12, {"start_overlaps": HOPS}),
        (tasks.lookup(6), three, 2.0, 10, {"start_overlaps": HOPS}),
        (SparseTokenProblem(5, 1, 4.0, tokens=SPECTRUM), two, 2.0, 12, {}),
    ]
    if index < len(given):
        task, chosen, alpha, steps, more = given[index]
        if chosen is own:
            reads = {"q": {"needle": 0.5}, "u": {"needle": 0.4}, "w": {"value": 0.3}}
            more = {"rates": {**dict.fromkeys("oux", 1.0), "q": 1.5, "v": 1.5, "w": 0.3}} | more
        settings = {"rates": RATES, "start_overlaps": reads} | more
        for name in ("rates", "start_overlaps"):
            settings[name] = by_stems(chosen, settings[name])
        return task, Descent(chosen, alpha=alpha, steps=steps, **settings)
    rng = np.random.default_rng([20, index])
    classes = ConceptProblem(5, [4.0, 4.0], [[0, 0], [1, 0], [0, 1]], [0.4, 0.3, 0.3], [0, 1, 2])
    length = int(rng.integers(3, 9))
    problems = [
        (SparseTokenProblem(length, 1, rng.uniform(3, 5), rng.uniform(0.3, 0.7)), SIGNAL),
        (tasks.lookup(length + 1, strengths=rng.uniform(3, 5)), HOPS),
        (tasks.needle_with_value(length), NEEDLE),
        (classes, CONCEPT),
    ]
    task, reads = problems[index % 4]
    chosen = networks.Transformer(
        int(rng.integers(2, 4)),
        heads=int(rng.integers(1, 3)),
        beta=rng.uniform(0.7, 1.5),
        hidden=int(rng.integers(0, 3)),
        causal=bool(rng.random() < 0.3),
        last=bool(rng.random() < 0.3),
    )
    normalised = index % 8 == 5
    rates = {name: rate * rng.uniform(0.5, 1.0) for name, rate in RATES.items()}
    if normalised:
        rates = dict.fromkeys(RATES, 0.1)
    return task, Descent(
        chosen,
        alpha=float(rng.choice([1, 2, 3, 4, 6])),
        steps=int(rng.integers(6, 13)),
        rates=by_stems(chosen, rates),
        start_overlaps=by_stems(chosen, reads),
        momentum=float(rng.choice([0.0, 0.3])),
        decay=float(rng.choice([0.0, 0.03])),
        batches=int(rng.choice([1, 2])),
        sphere=("O",) * (index % 8 == 4),
        normalised=normalised,
    )


# One pass, and one task after another.


def one_pass(index: int) -> tuple[Any, OnePass]:
    """Return a task and one pass of a random network."""
    rng = np.random.default_rng([27, index])
    strength, length = rng.uniform(3, 5), int(rng.integers(3, 6))
    loss = str(rng.choice(["logistic", "squared_hinge"]))
    task: Any = SparseTokenProblem(length, 1, strength, rng.uniform(0.4, 0.6))
    chosen: Any = [
        networks.Softmax(),
        networks.Gated(hidden=2),
        networks.Softmax(),
        networks.Softmax(heads=2),
        networks.Softmax(),
        networks.Transformer(2),
    ][index % 6]
    scale, overlaps = 1.0, rng.uniform(0.1, 0.3)
    if index % 6 == 2:
        task = tasks.single_location_regression(length, strength=strength)
        loss, scale = "square", 0.4
        overlaps = {"q": {"place": 0.4}, "w": {"value": 0.2}}
    elif index % 6 == 3:
        patterns, rates = [[1, 1], [0, 0], [1, 0], [0, 1]], [0.4, 0.2, 0.2, 0.2]
        task = ConceptProblem(length, [strength, strength], patterns, rates, [1, 0, 0, 0])
        overlaps = {"q1": {"1": 0.4}, "q2": {"2": 0.4}, "w1": 0.2, "w2": 0.2}
    elif index % 6 == 4:
        patterns, rates = [[0, 0], [1, 0], [0, 1]], [0.4, 0.3, 0.3]
        task = ConceptProblem(length, [strength, strength], patterns, rates, [0, 1, 2])
        loss, overlaps = "logistic", {"q": 0.3, "w": 0.1}
    elif index % 6 == 5:
        overlaps = by_stems(chosen, SIGNAL)
    last = rng.uniform(2, 8)
    return task, OnePass(
        chosen,
        times=[0, last / 2, last],
        rates=scale * rng.uniform(0.4, 1.5, len(chosen.column_names(task.outputs))),
        rate_c=scale * rng.uniform(0, 0.4),
        decay=float(rng.choice([0.0, 0.1])),
        loss=loss,
        start_overlaps=overlaps,
    )


def sequence(index: int) -> tuple[tuple[Any, Any], Callable[[Any], tuple[Any, Any]]]:
    """Return a task and its training, and those that follow from what they find."""
    sparse, other = SparseTokenProblem(5, 1, 4.0), SparseTokenProblem(4, 2, 3.0)
    place, later = (tasks.single_location_regression(4, strength=s) for s in (3.0, 4.0))
    attention = {"rates": {"q": 4.0, "w": 1.0}, "steps": 6}
    single = {"rates": {"q": 1.0, "w": 0.2}, "loss": "square"}
    reads = {"q": {"place": 0.4}, "w": {"value": 0.2}}
    two_heads = {"network": networks.Softmax(heads=2), "alpha": 2.0, "steps": 4, "rates": 1.0}
    times = [0, 1, 2]

    def then(task: Any, kind: Any, cosines: Any, **settings: Any) -> Callable[[Any], Any]:
        return lambda at: (task, kind(start=at, signal_cosines=cosines, **settings))

    return [
        ((sparse, Descent(alpha=3.0, **attention)), then(sparse, Descent, 0.8, **attention)),
        (
            (sparse, OnePass(times=[0, 4], start_overlaps=0.2)),
            then(other, OnePass, 0.5, times=times),
        ),
        (
            (place, Descent(alpha=2.0, steps=5, start_overlaps=reads, **single)),
            then(later, OnePass, [[0.8, 0.3], [0.0, -0.7]], times=times, **single),
        ),
        ((sparse, Minimum(alpha=3.0, ridge=0.1)), then(other, Descent, 0.6, **two_heads)),
    ][index]


# Queries that are random at the dimension of the tokens.


def random_query(index: int) -> tuple[Setting, int]:
    """Return spectra (j + 1)^-a with a from 0 to 1.5, and how many queries to draw.

    The first has three large eigenvalues.
    """
    rng = np.random.default_rng([18, index])
    d = 300 if index % 2 == 0 else 500
    j = np.arange(d)
    S = (j + 1.0) ** (-1.5 * index / 9)
    if index == 0:
        S[:3] = 60, 30, 15
    xi = unit(S ** rng.uniform(0, 0.5) * rng.standard_normal(d))
    between = 0.2 * S[::-1].copy() if index % 3 == 2 else None
    # As visible as a signal of 4 widths among isotropic tokens of the leading directions
    strength = 4 * math.sqrt(xi @ (S * xi))
    tokens = TokenCovariance(S, between, signal=xi)
    problem = SparseTokenProblem(int(rng.integers(4, 11)), 1, strength, 0.5, tokens=tokens)
    loss = ("logistic", "square")[index % 2]
    steps = TwoSteps(2.0, 0.5, 0.5, loss=loss)
    # The step size that gives the median draw a sharpness of 1.5.
    usual = float(np.median(drawn_queries(problem, steps, d, 256).sharpness))
    steps = TwoSteps(2.0, 0.5, 0.5, float(f"{steps.eta_q * 1.5 / usual:.2g}"), loss=loss)
    return Setting(problem, Attention(steps), Readout(loss, 0.01, alpha1=2.0)), 64
