"""Tokens of any covariance: theory against simulation at 30 random settings, and CPU times.

    python benchmarks/covariance.py [--out results/covariance.jsonl]
    python benchmarks/covariance.py times

d = 400, flat and steep spectra, with and without an effect of samples whose eigenvectors are
others, square and logistic loss; eight trials with real tokens and sixteen without. A z score is
the difference of the means over its standard error, Student's law turned into a normal. Settings
have seeds of their own, so that their z scores are independent.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

import numpy as np
from scipy import stats

from resumable import rows
from sparsetoken import (
    Attention,
    Pooled,
    Query,
    Readout,
    SparseTokenProblem,
    TokenCovariance,
    TwoSteps,
    predict,
    simulate,
)
from sparsetoken.model import HardAttention
from sparsetoken.model.models import Model

SETTINGS, DIMENSION, SEED = 30, 400, 1
TRIALS = {"tensors": 8, "reduced": 16}
QUANTITIES = ["test_error", "training_loss", "auc", "noise_overlap"]


class Setting(NamedTuple):
    """What is drawn at random."""

    problem: SparseTokenProblem
    model: Model
    readout: Readout
    power: float
    effect: float


def tokens(d: int, power: float, effect: float, rng: np.random.Generator) -> TokenCovariance:
    """Return a power-law spectrum and an effect with decaying correlations."""
    j = np.arange(d)
    S = (j + 1.0) ** power
    xi = rng.standard_normal(d)
    between = effect * 0.9 ** np.abs(j[:, None] - j) if effect else None
    return TokenCovariance(S / S.mean(), between, signal=xi / np.linalg.norm(xi))


def drawn(index: int) -> Setting:
    """Return one of the settings."""
    rng = np.random.default_rng([SEED, index])
    length = int(rng.integers(2, 11))
    power = [0.0, -0.4, -0.8][index % 3]
    effect = float(rng.uniform(0.05, 0.5)) if index % 2 else 0.0
    loss = ["square", "logistic"][index // 2 % 2]
    problem = SparseTokenProblem(
        length,
        int(rng.integers(1, length // 2 + 1)),
        rng.uniform(2, 5),
        rng.uniform(0.3, 0.7),
        tokens=tokens(DIMENSION, power, effect, rng),
    )
    query = Query(rng.uniform(0.3, 0.95), rng.uniform(0.3, 2))
    models = [
        Attention(query),
        Pooled(),
        Attention(TwoSteps(alpha0=rng.uniform(2, 4), eta_q=20.0, loss=loss)),
        HardAttention(query),
    ]
    model = models[index % 4]
    readout = Readout(loss, 10 ** rng.uniform(-2, -0.5), rng.uniform(0.5, 3))
    return Setting(problem, model, readout, power, effect)


def run(index: int) -> dict:
    """Return one setting with theory, means, standard errors and z of each quantity."""
    setting = drawn(index)
    theory = predict(*setting[:3])
    row = {
        "index": index,
        "model": setting.model.name,
        "loss": setting.readout.loss.name,
        "power": setting.power,
        "effect": setting.effect,
        "status": str(theory.status.code),
    }
    for engine, trials in TRIALS.items():
        found = simulate(*setting[:3], trials=trials, seed=1000 + index, engine=engine).to_dict()
        for name in QUANTITIES:
            expected = theory.to_dict()[name]
            t = (found[name] - expected) / found[f"{name}_se"]
            z = stats.norm.ppf(stats.t.cdf(t, trials - 1))
            row[f"{engine}_{name}"] = [expected, found[name], found[f"{name}_se"], float(z)]
    return row


def times() -> None:
    """Print processor seconds of single theory points, after one that compiles."""
    for d, effect in ((200, 0.0), (1000, 0.0), (200, 0.2), (500, 0.2)):
        rng = np.random.default_rng(0)
        for model in (Pooled(), Attention(Query(0.8, 1.0)), Attention(TwoSteps(2.0))):
            spent = []
            for _ in range(3):  # another law each time: nothing of it is kept
                problem = SparseTokenProblem(tokens=tokens(d, -0.5, effect, rng))
                start = time.process_time()
                found = predict(problem, model)
                spent.append(time.process_time() - start)
                assert found.status.converged
            print(f"d = {d:5d} between {effect:3.1f} {model.name:10s} {min(spent[1:]):6.3f} s")


def main() -> None:
    """Run what is missing, and print how the z scores are spread."""
    if "times" in sys.argv[1:]:
        times()
        return
    done = rows(__doc__, SETTINGS, run)
    for engine in TRIALS:
        for name in QUANTITIES:
            z = np.array([row[f"{engine}_{name}"][3] for row in done])
            print(
                f"{engine:8s} {name:14s} mean z {z.mean():5.2f}  sd {z.std(ddof=1):4.2f}  "
                f"largest {np.abs(z).max():4.2f}  p {stats.kstest(z, 'norm').pvalue:.2f}"
            )


if __name__ == "__main__":
    main()
