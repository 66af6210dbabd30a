"""Real tokens: learning curves of bags of digits and of textures, predicted and measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from sparsetoken.experiments.core.bag_sets import draw_bags, source
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.rows import CONVERGED, THEORY, Row, Rows, averaged
from sparsetoken.experiments.core.rules import placed, report_only
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import COLOURS
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.readout.covariances import FullCovariances
from sparsetoken.theory.readout.equations import Load, SaddleEquations
from sparsetoken.theory.readout.outcome import scores_on
from sparsetoken.theory.readout.solve import solve_readout

CLASSIFIERS = ("pooled", "attention")
PLACES = (("digits", 5), ("digits", 20), ("digits", 50), ("textures", 20))
"""What a token is, and how many are in a bag."""
RIDGE, SHARPNESS, LOSS = 0.02, 1.0, "logistic"

# `law_bags` of each class give the means and covariances of the features.
SIZES = profiles(
    bags=Size((80, 320), (40, 80, 160, 320, 640, 1280)),
    trials=Size(8, 32),
    test_bags=Size(1000, 4000),
    law_bags=Size(5000, 15000),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work; both classifiers use the same bags."""
    for i, (tokens, length) in enumerate(PLACES):
        own = seed_of("real-tokens", i, seed)
        for classifier in CLASSIFIERS:
            at = {"tokens": tokens, "length": length, "classifier": classifier}
            yield piece(predict_errors, at, sizes.bags, sizes.law_bags, cost=0.1)
            for n in sizes.bags:
                cost = 5e-7 * length * sizes.trials * (n + sizes.test_bags)
                yield piece(measure_error, at, n, sizes.test_bags, sizes.trials, own, cost=cost)


def features(
    tokens: str, length: int, classifier: str, labels: Int[np.ndarray, " n"], rng: Any
) -> Float[np.ndarray, "n d"]:
    """Draw bags, and return their mean tokens or those that the query attends to."""
    bags = draw_bags(tokens, length, labels, rng)
    if classifier == "pooled":
        return bags.mean(axis=1)
    weights = softmax(SHARPNESS * (bags @ source(tokens).query), axis=1)
    return np.einsum("nl,nld->nd", weights, bags)


def predict_errors(at: dict[str, Any], bags: tuple[int, ...], law_bags: int) -> Iterator[Row]:
    """Solve for the readout of features of two classes with a mean and a covariance each.

    In the general form the directions are the class means; amounts and amplitudes say which
    class a bag is of.
    """
    rng = np.random.default_rng(seed_of("real-tokens", at["tokens"], at["length"]))
    labels = np.repeat([1, -1], law_bags)
    F = features(**at, labels=labels, rng=rng)
    plus, minus = F[labels > 0], F[labels < 0]
    centre = F.mean(axis=0)
    M = np.stack([plus.mean(axis=0) - centre, minus.mean(axis=0) - centre], axis=1)
    G = np.array([np.cov(plus.T), np.cov(minus.T)])
    which = np.eye(2)
    nodes = FeatureLaw.of(which, which, [1, -1], [0.5, 0.5])
    readout = SaddleEquations(nodes, get_loss(LOSS), FullCovariances(G, M))
    solved = None
    for n in bags:
        solved = solve_readout(readout, Load(float(n), RIDGE), solved)
        error = scores_on(nodes, solved.state).test_error()
        status = CONVERGED if solved.converged else "not solved"
        yield Row(THEORY, "test_error", error, at={**at, "bags": n}, status=status)


def measure_error(
    at: dict[str, Any], bags: int, test_bags: int, trials: int, seed: int
) -> Iterator[Row]:
    """Fit readouts to drawn bags, and test them on others."""
    errors = []
    for trial in range(trials):
        rng = np.random.default_rng(seed_of("trial", trial, seed))
        labels, truth = (np.where(np.arange(n) % 2, 1, -1) for n in (bags, test_bags))
        F = features(**at, labels=labels, rng=rng)
        fit = fit_readout(F, labels, get_loss(LOSS), RIDGE)
        scores = features(**at, labels=truth, rng=rng) @ fit.w + fit.b
        errors.append(float(np.mean((scores > 0) != (truth > 0))))
    yield averaged(errors, dimension=F.shape[1], bags=bags, **at)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Report what was measured; the most bags of most tokens stand for it."""
    longest = max(length for _, length in PLACES)
    place = ("{classifier}", "{tokens}, L = {length}, {bags} bags", "bags")
    for row in rows.where("simulated"):
        key = row["bags"] == max(sizes.bags) and row["length"] == longest
        yield report_only("real-bags", row, **placed(row, *place), key=key)


def gaps(rows: Rows, classifier: str) -> list[float]:
    """Return the absolute differences of measured and predicted errors of a classifier."""
    known, measured = rows.where(THEORY), rows.where("simulated", classifier=classifier)
    return [abs(row.value - known.beside(row).value) for row in measured]


def draw(rows: Rows) -> Plot:
    """Draw test errors against the number of bags, a panel for each kind of bag."""
    bags = Axis("labelled bags", ticks=sorted(rows.where("simulated").distinct("bags")))
    panels: list[Panel] = []
    for tokens, length in PLACES:
        shown = rows.where(tokens=tokens, length=length)
        lines = [Curve(name, COLOURS[name], shown.where(classifier=name)) for name in CLASSIFIERS]
        error = Axis("" if panels else "test error", low=0, high=0.5)
        panels.append(Panel("bags", bags, error, lines, f"{length} {tokens} in a bag"))
    return curves(panels, 11, 3.7)


EXPERIMENT = Experiment("real-tokens", SIZES, work, judge, {"real_tokens": draw})
