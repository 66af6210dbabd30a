"""Forecasts of test errors beside those of more bags, on made and on real sets.

    python benchmarks/forecasts.py [--data FOLDER] [--sets cells] [--power-law] [--quick]
    python benchmarks/forecasts.py --data FOLDER --only 60 --pilots 3
    python benchmarks/forecasts.py --sets made --only 60 --times 4

Each pilot of n labelled bags is asked for the test errors at n and 2n bags, or other multiples, by
`sparsetoken.forecast` and by its cross-validated errors held constant; by a power law fitted to
errors of two, three and ten folds too, which takes most of the time. The areas under the ROC curves
(AUC) of the same fits are compared likewise, but with no power law. The truth is a mean over
draws of the training bags. Pilots of patients have 30 of them with 4 bags each, that share a
shift; the truth is of new patients. No constant of the forecast was chosen on these sets, but on
other tasks with rows of the tables of three. FOLDER holds the real sets, which are not part of the
package. What was computed is kept in results/cache,
so that a second run goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Memory, Parallel, delayed
from scipy.optimize import least_squares
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import sparsetoken as st
from bag_sets import MADE, TEST, Setting, made_bags, real_names, real_set
from sparsetoken import BagClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators import PooledClassifier, QueryWarning

PILOTS = {60: 2, 100: 1, 150: 1}  # number of pilots of so many bags
PATIENTS, EACH, OF_PATIENTS = 30, 4, 6  # patients of a pilot, bags of one; number of pilots
FOLDS = (2, 3, 10)  # of the cross-validations of a power law
DRAWS = {"real": 6, "made": 3, "patients": 3}
NORMAL = 1.645  # standard deviations of a 90% interval
TRULY, SURELY = 0.03, 2.0  # a difference of errors that counts, and its standard errors
CLASSIFIERS = {"pooled": PooledClassifier, "bag": lambda: BagClassifier(progress=False)}
PLACE = ["group", "set", "n", "at", "model"]
TRUTHS = ["truth", "auc_truth", "truth_error", "auc_truth_error"]
SIGNALS = {"no signal": 0.0, "a weak signal": 0.7, "a signal": 1.5}
"""Of patients, by how much the mean token of the two classes differs, over its noise in a bag."""
# Made sets whose bags repeat rows of a table; the bags to score have rows that no pilot has, which
# neither folds of a pilot nor a forecast can foresee.
TABLES = ("cells", "wines", "digits", "loops", "couples", "textures", "pages")
LARGER = ("fox", "tiger")  # real sets of 200 bags
DESIGN = ("elephant", "alt_atheism", "comp_graphics", "rec_autos", "misc_forsale", "musk2")


def settings(folder: Path | None, times: tuple[int, ...] = (1, 2)) -> list[Setting]:
    """Return made sets, and real sets but those with a part in the design of the forecast.

    Made sets are asked for at multiples of the pilot.
    """
    found = [Setting("made", name, n, tuple(k * n for k in times)) for name in MADE for n in PILOTS]
    for name in real_names(folder):
        if name in LARGER:
            found += [Setting("real", name, 60, (60, 120)), Setting("real", name, 100, (100, 150))]
        elif not name.endswith(DESIGN):
            found.append(Setting("real", name, 60, (60, 80)))
    n = PATIENTS * EACH
    return [*found, *(Setting("patients", name, n, (n, 2 * n)) for name in SIGNALS)]


class Drawn(NamedTuple):
    """Bags to train on, their labels and patients, other bags and their labels."""

    bags: Bags
    y: np.ndarray
    patients: np.ndarray | None
    rest: Bags
    truth: np.ndarray


def drawn(setting: Setting, n: int, seed: tuple[int, ...], folder: Path | None) -> Drawn:
    """Return n bags to train on and others to test on; of real sets with the rate of the set."""
    rng = np.random.default_rng([sum(map(ord, setting.name)), n, *seed])
    if setting.group == "patients":
        strength = SIGNALS[setting.name]
        bags, y, patients = of_patients(n // EACH, strength, rng)
        return Drawn(bags, y, patients, *of_patients(TEST, strength, rng)[:2])
    if folder is None or setting.group == "made":
        bags, y, rest, truth = made_bags(setting.name, n, rng)
        return Drawn(bags, y, None, rest, truth)
    bags, y, *_ = real_set(folder, setting.name)
    count = round(n * y.mean())
    plus, minus = (rng.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    rows = np.concatenate([plus[:count], minus[: n - count]])
    rest = np.setdiff1d(np.arange(len(y)), rows)
    return Drawn(bags[rows], y[rows], None, bags[rest], y[rest])


def of_patients(
    count: int, strength: float, rng: np.random.Generator
) -> tuple[Bags, np.ndarray, np.ndarray]:
    """Return bags of patients that share a shift, half of them with a signal in one column."""
    patient, y = np.repeat(np.arange(count), EACH), rng.permutation(np.arange(count) % 2)
    bags = rng.standard_normal((len(patient), 5, 10))
    bags += rng.standard_normal((count, 1, 10))[patient]
    bags[:, :, 0] += strength * y[patient][:, None]
    return as_bags(bags), y[patient], patient


def measured(setting: Setting, n: int, draws: int, folder: Path | None) -> list[dict[str, Any]]:
    """Return test errors and AUCs at n bags, means over draws, and their standard errors."""
    errors, areas = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        for number in range(draws):
            bags, y, patients, rest, truth = drawn(setting, n, (number, 77), folder)
            fits = [make().fit(bags, y, groups=patients) for make in CLASSIFIERS.values()]
            errors.append([np.mean(fit.predict(rest) != truth) for fit in fits])
            areas.append([roc_auc_score(truth, fit.decision_function(rest)) for fit in fits])
    found = np.stack([errors, areas], axis=-1)
    spread = found.std(axis=0, ddof=1) / np.sqrt(draws)
    values = np.concatenate([found.mean(axis=0), spread], axis=-1)
    return [
        {**_place(setting, n, model), **dict(zip(TRUTHS, row, strict=True))}
        for model, row in zip(CLASSIFIERS, values, strict=True)
    ]


def forecast(setting: Setting, number: int, folder: Path | None, law: bool) -> list[dict[str, Any]]:
    """Return what the methods say of a pilot, with intervals of 90%.

    The time is that of a forecast at four sizes.
    """
    bags, y, patients, *_ = drawn(setting, setting.n, (number,), folder)
    asked = sorted({*setting.sizes, 3 * setting.n, 4 * setting.n})
    start = time.process_time()
    found = st.forecast(bags, y, asked, groups=patients, random_state=number, progress=False)
    seconds = time.process_time() - start
    trained, wrong = cross_validated(bags, y, number) if law and patients is None else (None, None)
    rows = []
    for model in CLASSIFIERS:
        at, stated = dict(zip(found.sizes, found.curves[model], strict=True)), found.measured[model]
        width, auc_width = NORMAL * stated.standard_error, NORMAL * stated.auc_standard_error
        areas = {
            "forecast": [(at[n].auc, at[n].auc_low, at[n].auc_high) for n in setting.sizes],
            "constant": [(stated.auc, stated.auc - auc_width, stated.auc + auc_width)]
            * len(setting.sizes),
        }
        said = {
            "forecast": [(at[n].error, at[n].low, at[n].high) for n in setting.sizes],
            "constant": [(stated.error, stated.error - width, stated.error + width)]
            * len(setting.sizes),
        }
        if wrong is not None:
            curve = wrong[model].mean(axis=1)
            spread = wrong[model].std(axis=1, ddof=1) / np.sqrt(len(y))
            values = power_law(trained, curve, spread, setting.sizes)
            width = NORMAL * spread[-1]
            said["power law"] = [(v, v - width, v + width) for v in values]
        unknown = [(np.nan,) * 3] * len(setting.sizes)
        for method, values in said.items():
            by_size = zip(setting.sizes, values, areas.get(method, unknown), strict=True)
            for n, (value, low, high), area in by_size:
                row = {**_place(setting, n, model), "pilot": number, "method": method}
                row |= {"value": value, "low": low, "high": high, "seconds": seconds}
                row |= zip(("auc", "auc_low", "auc_high"), area, strict=True)
                # Of other methods the model of less error is taken for the recommended one.
                rows.append({**row, "told": found.better(n) if method == "forecast" else ""})
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


def summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return how far each method is off."""
    off = rows["value"] - rows["truth"]
    inside = rows["truth"].between(rows["low"], rows["high"])
    rows = rows.assign(off=off, absolute=off.abs(), inside=inside, width=rows["high"] - rows["low"])
    pilots = rows.assign(one=rows["set"] + rows["pilot"].astype(str)).groupby(by)["one"].nunique()
    means = dict.fromkeys(("absolute", "off", "inside", "width"), "mean")
    table = rows.groupby(by).agg({**means, "seconds": "median"}).join(pilots.rename("pilots"))
    wrong = recommended(rows).groupby(by)["wrong"]
    return table.join(wrong.agg(wrong="sum", of="count"))


def of_areas(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return how far AUCs are off; the standard error is over pilots, whose values go together."""
    rows = rows[rows["auc"].notna()]
    off = rows["auc"] - rows["auc_truth"]
    inside = rows["auc_truth"].between(rows["auc_low"], rows["auc_high"])
    width = rows["auc_high"] - rows["auc_low"]
    rows = rows.assign(off=off, square=off**2, inside=inside, width=width)
    means = dict.fromkeys(("off", "square", "inside", "width", "auc_truth_error"), "mean")
    of_pilot = list(dict.fromkeys([*by, "set", "n", "pilot"]))
    pilots = rows.groupby(of_pilot, as_index=False).agg({"off": "mean"})
    table = rows.groupby(by).agg(means)
    table.insert(1, "error", pilots.groupby(by)["off"].sem())
    table.insert(2, "rms", np.sqrt(table.pop("square")))
    return table.join(pilots.groupby(by).size().rename("pilots"))


def recommended(rows: pd.DataFrame) -> pd.DataFrame:
    """Tell where the classifiers truly differ whether the worse one is recommended."""
    index = ["group", "method", "set", "n", "at", "pilot", "told"]
    wide = rows.pivot(index=index, columns="model", values=["value", "truth", "truth_error"])
    said, gain = (wide[name]["pooled"] - wide[name]["bag"] for name in ("value", "truth"))
    error = np.hypot(wide["truth_error"]["pooled"], wide["truth_error"]["bag"])
    told = wide.index.get_level_values("told")
    of_bag = np.where(told == "", said > 0, told == "bag")
    truly = gain.abs() > np.maximum(TRULY, SURELY * error)
    return (of_bag != (gain > 0))[truly].rename("wrong").reset_index()


def main() -> None:
    """Compute what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the real sets")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="names or groups")
    parser.add_argument("--power-law", action="store_true", help="as another method")
    parser.add_argument("--truth", action="store_true", help="measure the true errors alone")
    parser.add_argument("--only", type=int, metavar="N", help="pilots of so many bags alone")
    parser.add_argument("--pilots", type=int, help="of each set and number of bags")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 2], help="pilots of made sets")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="one pilot of two small sets")
    asked = parser.parse_args()
    if asked.quick:
        asked.sets = ["minima", "musk1"]
    folder = asked.data and asked.data.resolve()
    chosen = [
        setting
        for setting in settings(folder, tuple(asked.times))
        if not asked.sets or {setting.name, setting.group} & set(asked.sets)
        if asked.only in (None, setting.n)
    ]
    memory = Memory("results/cache", verbose=0)
    truth_of, said_of = memory.cache(measured), memory.cache(forecast)
    works = []
    for setting in chosen:
        for n in setting.sizes:
            draws = 2 if asked.quick else DRAWS[setting.group]
            works.append(delayed(truth_of)(setting, n, draws, folder))
        pilots = 1 if asked.quick else asked.pilots or PILOTS.get(setting.n, OF_PATIENTS)
        if not asked.truth:
            works += [delayed(said_of)(setting, i, folder, asked.power_law) for i in range(pilots)]
    done = Parallel(asked.jobs, verbose=1)(works)
    every = pd.DataFrame([row for rows in done for row in rows])
    if asked.truth:
        print(every.round(3).to_string())
        return
    truth = every[every["truth"].notna()][[*PLACE, *TRUTHS]]
    said = every[every["truth"].isna()].drop(columns=TRUTHS)
    rows = said.merge(truth, on=PLACE)
    rows.loc[rows["set"].isin(TABLES), "group"] = "tables"
    print(summary(rows, ["group", "n", "method"]).round(3).to_string())
    for but in (["patients"], ["patients", "tables"]):
        rest = rows[~rows["group"].isin(but)]
        if len(rest):
            print("without", *but)
            print(summary(rest, ["n", "method"]).round(3).to_string())
    print("AUC")
    for by in (["group", "n", "method"], ["n", "method"], ["n", "model", "method"]):
        print(of_areas(rows, by).round(3).to_string())


if __name__ == "__main__":
    main()
