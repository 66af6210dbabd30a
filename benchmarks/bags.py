"""Classifiers of bags on real and made sets, beside mean pooling, forests and the Bayes error.

    python benchmarks/bags.py [--data FOLDER] [--sets musk1 cells] [--methods bag forest] [--quick]

Real sets (five repeats of the published ten folds) are not part of the package: FOLDER holds
musk1.npz and the others. Made sets are made of random numbers and of scikit-learn's tables, those
of the model have the Bayes-optimal error beside them, and labels of noise have nothing to do with
the tokens. What was computed is kept in results/cache, so that a second run goes on.
"""

from __future__ import annotations

import argparse
import functools
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory, Parallel, delayed
from scipy import special
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sparsetoken as st
from bag_sets import MODELS, Split, bayes_errors, sets
from sparsetoken.bags import Bags
from sparsetoken.estimators import BagPooling, PooledClassifier, QueryWarning
from sparsetoken.estimators.base import BagEstimator

MEASURES = ("accuracy", "auc", "log_loss")
BINS = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)  # of probabilities of tokens
STRENGTHS = np.logspace(-4, 2, 13)  # 1 / penalty, as scikit-learn counts


def logistic(pooling: str, random_state: int) -> Pipeline:
    """Logistic regression on pooled tokens; the penalty of least log-loss in five inner folds."""
    del random_state
    features = {
        "mean": BagPooling("mean"),
        "max": BagPooling("max"),
        "mean, max and deviation": FunctionTransformer(columns),
    }
    both = make_union(features["mean"], features["max"])
    model = LogisticRegressionCV(
        Cs=STRENGTHS,
        cv=5,
        scoring="neg_log_loss",
        max_iter=2000,
        use_legacy_attributes=False,
        l1_ratios=(0.0,),
    )
    return make_pipeline(features.get(pooling, both), StandardScaler(), model)


def columns(bags: Bags) -> np.ndarray:
    """Return mean, maximum and standard deviation of the columns of each bag."""
    tokens = [bags[i] for i in range(len(bags))]
    return np.stack([np.concatenate([X.mean(0), X.max(0), X.std(0)]) for X in tokens])


def forest(random_state: int) -> Pipeline:
    """Return 500 trees on pooled columns."""
    trees = RandomForestClassifier(500, random_state=random_state)
    return make_pipeline(FunctionTransformer(columns), trees)


METHODS: dict[str, Callable[[int], Any]] = {
    "bag": lambda seed: st.BagClassifier(random_state=seed, progress=False),
    "attention": lambda seed: st.AttentionClassifier(random_state=seed),
    "pooled": lambda seed: PooledClassifier(),
    "mean, logistic": functools.partial(logistic, "mean"),
    "max, logistic": functools.partial(logistic, "max"),
    "mean and max, logistic": functools.partial(logistic, "mean and max"),
    "mean, max and deviation, logistic": functools.partial(logistic, "mean, max and deviation"),
    "forest": forest,
}


def scored(name: str, number: int, method: str, folder: Path | None) -> list[dict[str, Any]]:
    """Fit a method to a split; return its scores, and those of its members alone."""
    group, _, split_of = sets(folder)[name]
    split = split_of(number)
    model = METHODS[method](split.seed)
    given = {"groups": split.groups} if isinstance(model, BagEstimator) else {}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)  # the scores tell how good the query was
        model.fit(split.bags, split.y, **given)
    seconds = time.process_time() - start
    place = {"group": group, "set": name, "number": number}
    chances = model.predict_proba(split.test)
    row = {**place, "method": method, **_measures(chances, split.truth), "seconds": seconds}
    if hasattr(model, "top_tokens") and split.true is not None:
        row |= _top_token(model, split)
    if hasattr(model, "predict_token_proba") and split.true is not None:
        row["tokens"] = _tokens(np.concatenate(model.predict_token_proba(split.test)), split.true)
    rows = [row]
    if hasattr(model, "member_scores"):
        each = np.moveaxis(model.member_scores(split.test), 1, 0)
        scores = zip(model.member_names_, each, strict=True)
        for member, score in scores:
            own = _measures(_chances(score), split.truth)
            rows.append({**place, "method": f"its {member}", **own})
    return rows


def _chances(scores: np.ndarray) -> np.ndarray:
    """Return probabilities of classes from log odds of the second, or from those of more."""
    if scores.ndim > 1:
        return special.softmax(scores, axis=1)
    return np.stack([special.expit(-scores), special.expit(scores)], axis=1)


def _measures(chances: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return accuracy, AUC and log-loss; of several classes the AUC of each against the rest."""
    two = chances.shape[1] == 2
    predicted = chances[:, 1] > 0.5 if two else chances.argmax(axis=1)
    area = roc_auc_score(truth, chances[:, 1] if two else chances, multi_class="ovr")
    values = np.mean(predicted == truth), area, log_loss(truth, chances)
    return dict(zip(MEASURES, map(float, values), strict=True))


def _top_token(model: Any, split: Split) -> dict[str, int]:
    """Count the test bags with a true token, and those whose top token is one."""
    assert split.true is not None
    true = np.split(split.true, split.test.offsets[1:-1])
    rows = np.array([i for i, one in enumerate(true) if one.any()])
    top = model.top_tokens(split.test[rows])
    hits = sum(bool(true[i][first[0]]) for i, first in zip(rows, top, strict=True))
    return {"with_true": len(rows), "top_true": hits}


def _tokens(chances: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Count tokens and true ones in bins of probability, and add up probabilities and losses."""
    place = np.searchsorted(BINS, chances, side="right")
    kept = np.clip(chances, 1e-9, 1 - 1e-9)
    loss = -np.where(true, np.log(kept), np.log1p(-kept))
    sums = (np.ones_like(chances), true, chances, loss)
    return np.array([np.bincount(place, one, minlength=len(BINS) + 1) for one in sums])


def _cell(values: pd.Series) -> str:
    """Return a mean with its standard error; folds share bags, so that it is a rough guide."""
    error = f" ± {values.std() / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{error}"


def show(frame: pd.DataFrame) -> None:
    """Print each measure by set and method, what `bag` gains, tokens, and seconds."""
    order = {"index": ["group", "set"], "columns": "method", "sort": False}
    for measure in MEASURES:
        print(f"\n{measure}")
        print(frame.pivot_table(values=measure, aggfunc=_cell, **order).fillna("").to_string())
    by_set = frame.pivot_table(values=list(MEASURES), **order)
    for measure in MEASURES if "bag" in set(frame["method"]) else ():
        gain = by_set[measure].rsub(by_set[measure]["bag"], axis=0).drop(columns="bag")
        cells = {
            group: some.apply(lambda column: _cell(column.dropna()))
            for group, some in gain.groupby(level="group", sort=False)
        }
        print(f"\n{measure} of bag less that of the method: mean over sets, standard error of sets")
        print(pd.DataFrame(cells).to_string())
    signal = frame[frame["group"] != "noise"]
    if "bag" in set(signal["method"]):
        _show_best(signal)
    if "top_true" in frame:
        top = frame.dropna(subset="top_true").groupby(["group", "set", "method"], sort=False)
        print("\nshare of positive bags whose top token is true")
        print((top["top_true"].sum() / top["with_true"].sum()).round(3).to_string())
    if "tokens" in frame:
        _show_tokens(frame.dropna(subset="tokens"))
    if "classes" in set(frame["group"]):
        print("\nseconds of processor time of a fit to each set of several classes, median")
        of_classes = frame[frame["group"] == "classes"].dropna(subset="seconds")
        print(of_classes.pivot_table("seconds", "set", "method", "median", sort=False).round(2))
    print("\nseconds of processor time of a fit: median, largest, sum")
    print(frame.groupby("method")["seconds"].agg(["median", "max", "sum"]).round(2).to_string())


def _show_best(frame: pd.DataFrame) -> None:
    """Print by how much `bag` is better than the single method that is best in the mean over sets.

    On each set the difference has a standard error over splits. Members alone are methods too.
    """
    for measure, sign in zip(MEASURES, (1, 1, -1), strict=True):
        table = frame.pivot_table(values=measure, index=["set", "number"], columns="method")
        means = sign * table.groupby(level="set", sort=False).mean()
        others = means.drop(columns="bag").dropna(axis=1)
        best = others.mean().idxmax()
        gains = (sign * (table["bag"] - table[best])).groupby(level="set", sort=False)
        z = gains.mean() / (gains.std() / np.sqrt(gains.size()))
        gain = means["bag"] - others[best]
        print(f"\n{measure}: gain of bag over {best}, the best of single methods in the mean")
        print(f"{_cell(gain)} over {len(gain)} sets, against the best of each set: ", end="")
        print(f"{_cell(means['bag'] - others.max(axis=1))}")
        columns_of = {"bag": means["bag"], "best": others[best], "gain": gain, "z": z}
        print(pd.DataFrame(columns_of).round(3).to_string())


def _show_tokens(frame: pd.DataFrame) -> None:
    """Print the share of true tokens in each bin of probability, and the loss."""
    groups = frame["set"].where(frame["group"] != "newsgroups", "newsgroups")
    for name, some in frame.groupby(groups, sort=False):
        count, true, chance, loss = np.sum(list(some["tokens"]), axis=0)
        share, n = true / np.maximum(count, 1), np.maximum(count, 1)
        table = {"probability": chance / n, "share true": share}
        table |= {"standard error": np.sqrt(share * (1 - share) / n), "tokens": count}
        print(f"\nprobabilities of tokens, {name}: log-loss {loss.sum() / count.sum():.4f}")
        print(pd.DataFrame(table).round(3).to_string(index=False))


def main() -> None:
    """Fit what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the real sets")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="names or groups; by default all")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["bag", "mean, logistic"])
    parser.add_argument("--splits", type=int, default=50, help="of each set, at most")
    parser.add_argument("--jobs", type=int, default=2, help="fits at a time")
    parser.add_argument("--quick", action="store_true", help="one split of six sets")
    asked = parser.parse_args()
    if asked.quick:
        asked.splits, asked.methods = 1, ["bag", "mean, logistic", "forest"]
        names = ["musk1", "ng_sci_space", "cells", "sizes", "three of 20", "noise"]
        asked.sets = asked.sets or [*names, next(iter(MODELS))]
    every = sets(asked.data and asked.data.resolve())
    chosen = {
        name: one
        for name, one in every.items()
        if not asked.sets or name in asked.sets or one.group in asked.sets
    }
    if not chosen:
        parser.error(f"no such set; there are {', '.join(every)}")
    run = Memory("results/cache", verbose=0).cache(scored)
    works = [
        delayed(run)(name, number, method, asked.data and asked.data.resolve())
        for number in range(asked.splits)
        for name, one in chosen.items()
        for method in asked.methods
        if number < one.splits
    ]
    found = Parallel(asked.jobs, verbose=1)(works)
    show(pd.DataFrame([row for rows in found for row in rows]))
    for name in chosen:
        if name in MODELS:
            bayes, known = bayes_errors(name)
            print(f"{name}: Bayes-optimal error {bayes:.3f}, with the signal known {known:.3f}")


if __name__ == "__main__":
    main()
