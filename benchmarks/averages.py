"""The averages of AttentionClassifier beside a choice, on constructed laws.

python benchmarks/averages.py [--draws 8] [--workers 2]

The choice is attention by itself where it gains more than one standard error over mean pooling
and `signal_pvalue_` is below 0.05, else mean pooling. For each group of laws: mean test errors and
log-losses, how often the top token of a positive bag is one that makes it positive, and shares of
the score.
"""

from __future__ import annotations

import argparse
import warnings
from multiprocessing import Pool
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from forecast_sets import CONSTRUCTED, Draw, gaussian_bags, text_bags
from sparsetoken import AttentionClassifier, PooledLinearClassifier
from sparsetoken.bags import Bags
from sparsetoken.estimators import QueryWarning
from sparsetoken.estimators.query_classifier import Trained
from sparsetoken.fitting.sharpness import LEVEL
from sparsetoken.fitting.training import Options
from sparsetoken.forecasting.crossvalidation import _Attention

TEST = 800


def column_bags(d: int, length: int, columns: int, strength: float, gamma: bool = False) -> Draw:
    """Return bags with effects; a token of positive ones is high in one of a few columns."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y, shape = np.arange(n) % 2, (n, length, d)
        X = rng.gamma(0.5, size=shape) if gamma else rng.standard_normal(shape)
        X += 0.5 * rng.standard_normal((n, 1, d))
        plus = np.flatnonzero(y)
        X[plus, 0, rng.integers(0, columns, len(plus))] += strength
        return X, y

    return draw


def token_and_column_bags(
    d: int,
    length: int,
    columns: int,
    strength: float,
    high: float,
    seed: int,
    either: bool = False,
    between: float = 0.5,
) -> Draw:
    """Return bags with effects; positive ones have two tokens of their own, or one of the two.

    The first is shifted by `strength` in a direction of all columns, the second is high in one
    of a few columns.
    """

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        direction = np.random.default_rng(seed).standard_normal(d)
        direction /= np.linalg.norm(direction)
        y, X = np.arange(n) % 2, rng.standard_normal((n, length, d))
        X += between * rng.standard_normal((n, 1, d))
        plus = np.flatnonzero(y)
        first = rng.random(len(plus)) < (0.5 if either else 1.0)
        second = ~first if either else first
        X[plus[first], 0] += strength * direction
        X[plus[second], 1, rng.integers(0, columns, second.sum())] += high
        return X, y

    return draw


def spread_bags(d: int, length: int, columns: int, factor: float) -> Draw:
    """Return bags; in positive ones a few columns have a larger spread."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y, X = np.arange(n) % 2, rng.standard_normal((n, length, d))
        X[y == 1, :, :columns] *= factor
        return X, y

    return draw


def mean_bags(d: int, length: int, strength: float, seed: int, **law: Any) -> Draw:
    """Return bags whose labels are made of the mean token, with noise."""
    base = gaussian_bags(d, length, 0, 0.0, seed, **law)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, _ = base(n, rng)
        w = np.random.default_rng(seed + 1).standard_normal(d)
        score = X.mean(axis=1) @ w
        return X, (strength * score / score.std() + rng.logistic(size=n) > 0).astype(int)

    return draw


COLUMNS = {
    "col1": (column_bags(40, 10, 1, 4.0), 80),
    "col3": (column_bags(60, 8, 3, 5.0), 150),
    "col10": (column_bags(100, 6, 10, 6.0), 150),
    "colgamma": (column_bags(80, 10, 2, 3.0, gamma=True), 100),
    "colgamma8": (column_bags(200, 6, 8, 4.0, gamma=True), 180),
    "spread": (spread_bags(50, 10, 8, 1.5), 120),
}
BOTH = {
    "both1": (token_and_column_bags(60, 10, 3, 3.0, 3.5, 81), 120),
    "both2": (token_and_column_bags(40, 8, 5, 2.5, 4.0, 82), 100),
    "both3": (token_and_column_bags(100, 10, 2, 3.5, 3.5, 83), 200),
    "either1": (token_and_column_bags(60, 10, 3, 5.0, 5.0, 84, either=True), 150),
    "either2": (token_and_column_bags(40, 6, 2, 5.0, 5.0, 85, either=True, between=0.2), 200),
}
WEAK = {
    "weak50_90": (text_bags(50, 2, 41), 90),
    "weak50two_90": (text_bags(50, 3, 41, targets=2), 90),
    "weak30_60": (text_bags(30, 1, 42), 60),
    "weak60three_100": (text_bags(60, 2, 42, targets=3), 100),
    "weak20four_80": (text_bags(20, 1, 41, targets=4), 80),
    "weak40two_100": (text_bags(40, 2, 42, targets=2), 100),
}
MEANS = {
    "own_normal": (mean_bags(20, 10, 2.5, 61), 100),
    "own_effects": (mean_bags(50, 20, 3.0, 62, between=0.5), 150),
    "own_steep": (mean_bags(100, 8, 3.0, 63, between=0.2, steep=0.7), 80),
    "own_tails": (mean_bags(30, 10, 2.5, 64, tails=4), 150),
    "half": (gaussian_bags(50, 10, 5, 1.0, 65), 150),
    "half_effects": (gaussian_bags(60, 12, 6, 1.5, 66, between=0.3, steep=0.4), 100),
    "all": (gaussian_bags(80, 10, 10, 0.5, 69, between=0.1, steep=0.3), 120),
}
NOISE = {
    "noise": (gaussian_bags(40, 10, 0, 0.0, 70), 100),
    "noise_tails": (gaussian_bags(60, 15, 0, 0.0, 71, between=0.3, tails=4), 100),
}
TEXTS = {name: (law, n) for name, (_, law, n) in CONSTRUCTED.items() if name.startswith("text")}
OTHERS = {name: (law, n) for name, (_, law, n) in CONSTRUCTED.items() if name not in TEXTS}
GROUPS: dict[str, dict[str, tuple[Draw, int]]] = {
    "texts": TEXTS,
    "other laws of forecasts": OTHERS,
    "weak texts": WEAK,
    "single columns": COLUMNS,
    "a token and columns": BOTH,
    "means": MEANS,
    "noise": NOISE,
}
# Tokens that make a bag positive, the first ones, where that is not one.
INFORMATIVE = {
    "digits10two_100": 2,
    "tex15_80": 2,
    "gausseffect_200": 2,
    "t3_120": 2,
    "text30_40": 3,
    "text15_40": 6,
    "scene_40": 2,
    "molecules_40": 2,
    "aligned_60": 5,
    "wide_120": 2,
    "t3_250": 2,
    "creeper_120": 2,
    "text20_40": 3,
    "text40_80": 4,
    "scene2_40": 2,
    "molecules2_80": 2,
    "wide2_100": 3,
    "half": 5,
    "half_effects": 6,
    "both1": 2,
    "both2": 2,
    "both3": 2,
    "either1": 2,
    "either2": 2,
    "weak50_90": 2,
    "weak50two_90": 3,
    "weak60three_100": 2,
    "weak40two_100": 2,
}
EVERY = ("dense_100", "aligned2_40", "spread", "all", "noise", "noise_tails")  # none or all


class Averaged(_Attention):
    """Keeps by how many standard errors attention by itself gains over mean pooling."""

    def _keep(self, found: Trained, bags: Bags, options: Options, weight: np.ndarray) -> None:
        super()._keep(found, bags, options, weight)
        alone = found.fits[0].refused
        self.gain_ = alone.gain if alone is not None else np.nan


def run(work: tuple[str, str, int]) -> list[float]:
    """Return what one draw of one law gives."""
    group, name, seed = work
    draw, n = GROUPS[group][name]
    rng = np.random.default_rng([sum(map(ord, name)), seed, 7])
    (X, y), (test, truth) = draw(n, rng), draw(TEST, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        model = Averaged(random_state=seed).fit(X, y)
        pooled = PooledLinearClassifier().fit(X, y)
        on = model.gain_ > 1 and model.signal_pvalue_[0] < LEVEL
        chosen = model.attending_ if on else pooled
        known = name not in EVERY and not name.startswith("own")
        positive, count = test[truth == 1], INFORMATIVE.get(name, 1)
        tops = [first(one, positive, count) if known else np.nan for one in (chosen, model)]
    found = [
        value
        for one in (pooled, chosen, model)
        for value in (1 - one.score(test, truth), log_loss(truth, one.predict_proba(test)))
    ]
    return [*found, *tops, *model.shares_[0]]


def first(
    model: AttentionClassifier | PooledLinearClassifier, bags: np.ndarray, count: int
) -> float:
    """Return the share of bags whose top token is among the first ones."""
    if isinstance(model, AttentionClassifier):
        top = np.array([tokens[0] for tokens in model.top_tokens(bags)])
    else:
        top = np.argmax(model.token_logits(bags), axis=1)
    return float(np.mean(top < count))


def main() -> None:
    """Print a row for each group of laws."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    columns = [
        *(
            f"{measure}: {one}"
            for one in ("mean", "choice", "average")
            for measure in ("error", "log-loss")
        ),
        "top token true, %: choice",
        "average",
        "share of attention",
        "of largest values",
        "most that the average errs more",
    ]
    print(f"| laws | {' | '.join(columns)} |")
    print("| --- " * (len(columns) + 1) + "|")
    with Pool(asked.workers, threadpool_limits, (1,)) as pool:
        for group, laws in GROUPS.items():
            works = [(group, name, seed) for name in laws for seed in range(asked.draws)]
            rows = np.array(pool.map(run, works, 1)).reshape(len(laws), asked.draws, -1)
            law = rows.mean(axis=1)
            mean = np.nanmean(law, axis=0) if group != "noise" else law.mean(axis=0)
            errors = " | ".join(f"{value:.3f}" for value in mean[:6])
            tops = " | ".join("" if value != value else f"{100 * value:.1f}" for value in mean[6:8])
            shares = " | ".join(f"{value:.2f}" for value in mean[8:])
            worst = (law[:, 4] - law[:, 2]).max()
            print(
                f"| {group}, {len(laws)} | {errors} | {tops} | {shares} | {worst:.3f} |", flush=True
            )


if __name__ == "__main__":
    main()
