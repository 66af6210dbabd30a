"""Forecasts of test errors beside those of more bags, on made and on real sets.

    python benchmarks/forecasts.py [--data FOLDER] [--sets cells] [--quick]

Each pilot of n labelled bags is asked for the test errors at n, 2n and 4n bags, by
`sparsetoken.forecast`, by a power law fitted to cross-validated errors, and by those of ten folds
held constant. The truth is a mean over draws of the training bags. No constant of the forecast was
chosen on the made sets. FOLDER holds the real sets, which are not part of the package. What was
computed is kept in results/cache, so that a second run goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory, Parallel, delayed
from scipy.optimize import least_squares
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import sparsetoken as st
from bag_sets import MADE, Setting, made_bags, real_names, real_set
from sparsetoken import BagClassifier
from sparsetoken.bags import Bags
from sparsetoken.estimators import PooledLinearClassifier, QueryWarning

PILOTS = (60, 100, 150)  # bags
FOLDS = (2, 3, 10)  # of the cross-validations of the other methods
DRAWS = {"real": 8, "made": 4}
NORMAL = 1.645  # standard deviations of a 90% interval
TRULY, SURELY = 0.03, 2.0  # a difference of errors that counts, and its standard errors
CLASSIFIERS = {"pooled": PooledLinearClassifier, "bag": lambda: BagClassifier(progress=False)}
PLACE = ["group", "set", "n", "at", "model"]
LARGER = ("fox", "tiger")  # real sets of 200 bags
DESIGN = ("elephant", "alt_atheism", "comp_graphics", "rec_autos", "misc_forsale", "musk2")


def settings(folder: Path | None) -> list[Setting]:
    """Return made sets, and real sets but those with a part in the design of the forecast."""
    found = [Setting("made", name, n, (n, 2 * n)) for name in MADE for n in PILOTS]
    for name in real_names(folder):
        if name in LARGER:
            found += [Setting("real", name, 60, (60, 120)), Setting("real", name, 100, (100, 150))]
        elif not name.endswith(DESIGN):
            found.append(Setting("real", name, 60, (60, 80)))
    return found


def drawn(
    setting: Setting, n: int, seed: tuple[int, ...], folder: Path | None
) -> tuple[Bags, np.ndarray, Bags, np.ndarray]:
    """Return n bags to train on and others to test on; of real sets with the rate of the set."""
    rng = np.random.default_rng([sum(map(ord, setting.name)), n, *seed])
    if folder is None or setting.group == "made":
        return made_bags(setting.name, n, rng)
    bags, y, *_ = real_set(folder, setting.name)
    count = round(n * y.mean())
    plus, minus = (rng.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    rows = np.concatenate([plus[:count], minus[: n - count]])
    rest = np.setdiff1d(np.arange(len(y)), rows)
    return bags[rows], y[rows], bags[rest], y[rest]


def measured(setting: Setting, n: int, draws: int, folder: Path | None) -> list[dict[str, Any]]:
    """Return the test errors at n bags, means over draws, and their standard errors."""
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        for number in range(draws):
            bags, y, rest, truth = drawn(setting, n, (number, 77), folder)
            fits = [make().fit(bags, y) for make in CLASSIFIERS.values()]
            errors.append([np.mean(fit.predict(rest) != truth) for fit in fits])
    mean, error = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(draws)
    return [
        {**_place(setting, n, model), "truth": m, "truth_error": e}
        for model, m, e in zip(CLASSIFIERS, mean, error, strict=True)
    ]


def forecast(setting: Setting, number: int, folder: Path | None) -> list[dict[str, Any]]:
    """Return what three methods say of a pilot, with intervals of 90%."""
    bags, y, *_ = drawn(setting, setting.n, (number,), folder)
    start = time.process_time()
    found = st.forecast(bags, y, setting.sizes, random_state=number, progress=False)
    seconds = time.process_time() - start
    trained, wrong = cross_validated(bags, y, number)
    rows = []
    for model in CLASSIFIERS:
        curve = wrong[model].mean(axis=1)
        spread = wrong[model].std(axis=1, ddof=1) / np.sqrt(len(y))
        width = NORMAL * spread[-1]
        simple = {
            "cross-validation held constant": [curve[-1] for _ in setting.sizes],
            "power law": power_law(trained, curve, spread, setting.sizes),
        }
        said = {name: [(v, v - width, v + width) for v in of] for name, of in simple.items()}
        said["forecast"] = [(at.error, at.low, at.high) for at in found.curves[model]]
        for method, values in said.items():
            for n, (value, low, high) in zip(setting.sizes, values, strict=True):
                row = {**_place(setting, n, model), "pilot": number, "method": method}
                rows.append({**row, "value": value, "low": low, "high": high, "seconds": seconds})
    return rows


def cross_validated(
    bags: Bags, y: np.ndarray, seed: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return numbers of training bags, and for each classifier which bags it gets wrong there."""
    trained = np.array([len(y) * (1 - 1 / folds) for folds in FOLDS])
    wrong: dict[str, list[np.ndarray]] = {model: [] for model in CLASSIFIERS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        for folds in FOLDS:
            splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
            for model, make in CLASSIFIERS.items():
                wrong[model].append(cross_val_predict(make(), bags, y, cv=splits) != y)
    return trained, {model: np.stack(some).astype(float) for model, some in wrong.items()}


def _place(setting: Setting, at: int, model: str) -> dict[str, Any]:
    return dict(zip(PLACE, (setting.group, setting.name, setting.n, at, model), strict=True))


def power_law(
    trained: np.ndarray, errors: np.ndarray, spread: np.ndarray, sizes: tuple[int, ...]
) -> list[float]:
    """Return a + b n^-c at the sizes, fitted to the errors at three numbers of training bags."""
    weight = 1 / np.sqrt(spread**2 + 1e-4)
    fits = [
        least_squares(
            lambda t: (t[0] + t[1] * trained ** -t[2] - errors) * weight,
            [max(float(errors.min()) - 0.05, 0.0), 0.5, start],
            bounds=([0.0, 0.0, 0.01], [0.5, 50.0, 3.0]),
        )
        for start in (0.3, 1.0)
    ]
    a, b, c = min(fits, key=lambda fit: fit.cost).x
    return [a + b * float(size) ** -c for size in sizes]


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how far each method is off, by group of sets and bags of a pilot."""
    off = rows["value"] - rows["truth"]
    inside = rows["truth"].between(rows["low"], rows["high"])
    rows = rows.assign(off=off, absolute=off.abs(), inside=inside, width=rows["high"] - rows["low"])
    by = ["group", "n", "method"]
    pilots = rows.assign(one=rows["set"] + rows["pilot"].astype(str)).groupby(by)["one"].nunique()
    means = dict.fromkeys(("absolute", "off", "inside", "width"), "mean")
    table = rows.groupby(by).agg({**means, "seconds": "median"}).join(pilots.rename("pilots"))
    right = recommended(rows).groupby(by)["right"]
    return table.join(right.agg(recommended_rightly="mean", of="count"))


def recommended(rows: pd.DataFrame) -> pd.DataFrame:
    """Tell where the classifiers truly differ whether the better one is recommended."""
    index = ["group", "method", "set", "n", "at", "pilot"]
    wide = rows.pivot(index=index, columns="model", values=["value", "truth", "truth_error"])
    told, gain = (wide[name]["pooled"] - wide[name]["bag"] for name in ("value", "truth"))
    error = np.hypot(wide["truth_error"]["pooled"], wide["truth_error"]["bag"])
    truly = gain.abs() > np.maximum(TRULY, SURELY * error)
    right = np.sign(told[truly]) == np.sign(gain[truly])
    return right.rename("right").reset_index()


def main() -> None:
    """Compute what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the real sets")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="names or groups")
    parser.add_argument("--pilots", type=int, default=2, help="of each number of bags")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="one pilot of two small sets")
    asked = parser.parse_args()
    if asked.quick:
        asked.sets, asked.pilots = ["minima", "musk1"], 1
    folder = asked.data and asked.data.resolve()
    chosen = [
        setting
        for setting in settings(folder)
        if not asked.sets or {setting.name, setting.group} & set(asked.sets)
    ]
    memory = Memory("results/cache", verbose=0)
    truth_of, said_of = memory.cache(measured), memory.cache(forecast)
    works = []
    for setting in chosen:
        for n in setting.sizes:
            draws = 2 if asked.quick else DRAWS[setting.group]
            works.append(delayed(truth_of)(setting, n, draws, folder))
        works += [delayed(said_of)(setting, i, folder) for i in range(asked.pilots)]
    done = Parallel(asked.jobs, verbose=1)(works)
    every = pd.DataFrame([row for rows in done for row in rows])
    truth = every[every["truth"].notna()][[*PLACE, "truth", "truth_error"]]
    said = every[every["truth"].isna()].drop(columns=["truth", "truth_error"])
    rows = said.merge(truth, on=PLACE)
    print(summary(rows).round(3).to_string())


if __name__ == "__main__":
    main()
