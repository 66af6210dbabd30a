"""What fits say of bags that are left out, beside folds and beside new bags.

    python benchmarks/left_out.py [columns] [patients] [time] [--quick]

*columns*: the log-loss of left-out bags, which costs one fit, that of 20 folds in which all is
learned anew, and that of 4000 new bags, for several kinds of columns. *patients*: accuracies that
fits with and without groups state of 30 patients with four bags each, and their forecasts, beside
those of new patients. *time*: processor time of a fit to each of 20 sets.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
)

import sparsetoken as st
from bag_sets import MADE, made_bags
from sparsetoken.estimators import AttentionClassifier, PooledClassifier

Drawn = tuple[np.ndarray, np.ndarray]
DRAWS, BAGS, NEW = 4, 200, 4000
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "pooled": PooledClassifier,
    "attention": lambda: AttentionClassifier(),
    "bag": lambda: st.BagClassifier(progress=False),
}
PATIENTS, EACH = 30, 4


def dense(n: int, rng: np.random.Generator) -> Drawn:
    """Gaussian columns; one token of six tells."""
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 6, 50))
    X[:, 0, :3] += 1.5 * y[:, None]
    return X, y


def units(n: int, rng: np.random.Generator) -> Drawn:
    """The same in units that differ by a factor of up to a thousand."""
    X, y = dense(n, rng)
    return X * np.exp(2 * np.random.default_rng(0).standard_normal(50)), y


def rare(n: int, rng: np.random.Generator) -> Drawn:
    """Columns of which two values in a thousand are not 0, and 20 of twelve or six in a hundred."""
    y = np.arange(n) % 2
    X = (rng.random((n, 4, 800)) < 0.002) * rng.uniform(0.5, 1.5, (n, 4, 800))
    X[:, :, :20] += rng.random((n, 4, 20)) < np.where(y, 0.12, 0.06)[:, None, None]
    return X, y


def counts(n: int, rng: np.random.Generator) -> Drawn:
    """Counts with rates around one in fifty, as of words."""
    y = np.arange(n) % 2
    rate = 0.02 * np.exp(np.random.default_rng(0).standard_normal(200))
    more = np.where((np.arange(200) < 20) & (y[:, None] > 0), 2 * rate, rate)
    return rng.poisson(more[:, None], (n, 8, 200)).astype(float), y


def heavy(n: int, rng: np.random.Generator) -> Drawn:
    """Columns of infinite variance."""
    y = np.arange(n) % 2
    X = rng.standard_t(2, (n, 5, 60))
    X[:, :, :6] += 0.6 * y[:, None, None]
    return X, y


KINDS = (dense, units, rare, counts, heavy)


def log_loss(scores: np.ndarray, y: np.ndarray) -> float:
    return float(np.logaddexp(0, -(2.0 * y - 1) * scores).mean())


def of_columns(draws: int) -> Iterator[dict[str, Any]]:
    for kind in KINDS:
        for draw in range(draws):
            rng = np.random.default_rng([draw, 1])
            (X, y), (new, truth) = kind(BAGS, rng), kind(NEW, rng)
            for name, make in CLASSIFIERS.items():
                fit, folds = make().fit(X, y), np.empty(BAGS)
                for train, test in KFold(20, shuffle=True, random_state=0).split(y):
                    part = make().fit(X[train], y[train])
                    folds[test] = part.decision_function(X[test])
                yield {
                    "columns": kind.__name__,
                    "classifier": name,
                    "left out": log_loss(fit.left_out_scores_[:, 0], y),
                    "20 folds": log_loss(folds, y),
                    "new bags": log_loss(fit.decision_function(new), truth),
                    "accuracy": fit.score(new, truth),
                }


def patients(
    count: int, signal: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bags of patients that share a shift, their labels, and the patients."""
    patient = np.repeat(np.arange(count), EACH)
    y = rng.permutation(np.arange(count) % 2)[patient]
    X = rng.standard_normal((len(patient), 5, 10)) + rng.standard_normal((count, 1, 10))[patient]
    X[:, 0, 0] += signal * y
    return X, y, patient


def of_patients(draws: int) -> Iterator[dict[str, Any]]:
    for signal in (0.0, 4.0):
        for draw in range(draws):
            rng = np.random.default_rng([draw, 2])
            X, y, patient = patients(PATIENTS, signal, rng)
            new, truth, _ = patients(1000, signal, rng)
            for grouped in (False, True):
                groups = patient if grouped else None
                start = time.process_time()
                fit = CLASSIFIERS["bag"]().fit(X, y, groups=groups)
                middle = time.process_time()
                told = st.forecast(X, y, sizes=[len(y)], groups=groups, progress=False)
                end = time.process_time()
                folds = GroupKFold(10) if grouped else StratifiedKFold(10)
                parts = cross_val_score(CLASSIFIERS["bag"](), X, y, groups=patient, cv=folds)
                yield {
                    "signal": signal,
                    "groups": grouped,
                    "left out": np.mean((fit.left_out_scores_[:, 0] > 0) == y),
                    "folds": parts.mean(),
                    "forecast": 1 - told.curves["bag"][0].error,
                    "new patients": fit.score(new, truth),
                    "fit, s": middle - start,
                    "forecast, s": end - middle,
                }


def of_time(draws: int) -> Iterator[dict[str, Any]]:
    for number, (name, (_, n)) in enumerate(MADE.items()):
        for draw in range(draws):
            bags, y, new, truth = made_bags(name, n, np.random.default_rng([number, draw, 3]))
            start = time.process_time()
            fit = CLASSIFIERS["bag"]().fit(bags, y)
            spent = time.process_time() - start
            yield {"set": name, "bags": n, "fit, s": spent, "accuracy": fit.score(new, truth)}


PARTS = {
    "columns": (of_columns, ["columns", "classifier"]),
    "patients": (of_patients, ["signal", "groups"]),
    "time": (of_time, ["set", "bags"]),
}


def main() -> None:
    """Print the means over draws of each part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--quick", action="store_true", help="one draw")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in arguments.parts or PARTS:
        rows, by = PARTS[part]
        frame = pd.DataFrame(rows(1 if arguments.quick else DRAWS))
        print(frame.groupby(by, sort=False).agg(["mean", "sem"]).round(3).to_string(), flush=True)


if __name__ == "__main__":
    main()
