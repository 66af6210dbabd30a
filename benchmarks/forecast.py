"""Forecast test errors beside those of more bags, on constructed and on real sets.

python benchmarks/forecast.py [--group tuning|aside] [--out FILE] [--data FOLDER] [--share 0/8]
                              [--bags 160]

A second run goes on where the first was stopped. With a share, a process does each eighth job;
files of several shares put together are one. With a number of bags pilots are of so many, and of
constructed sets alone. Real sets that are not in the folder are left out. The constants of the
forecast were chosen on the tuning sets alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from forecast_sets import ASIDE, TUNING, Setting, pilot, settings, train_and_test
from forecast_tables import MODELS, tables
from sparsetoken import BagClassifier
from sparsetoken.estimators import PooledLinearClassifier, QueryWarning
from sparsetoken.forecasting.crossvalidation import HeldOut, held_out_errors
from sparsetoken.forecasting.inputs import bag_law, read_labelled
from sparsetoken.forecasting.posterior import fit_posterior

PILOTS = 5
REAL_DRAWS, FEW_DRAWS, MANY_DRAWS, MANY = 12, 6, 5, 100  # up to 100 bags: few bags, more draws


def measure(setting: Setting, n: int, folder: Path) -> dict[str, Any]:
    """Return the test errors at n bags, means over draws, and their standard errors."""
    draws = REAL_DRAWS if setting.real else FEW_DRAWS if n <= MANY else MANY_DRAWS
    errors: dict[str, list[float]] = {model: [] for model in MODELS}
    for number in range(draws):
        bags, y, rest, truth = train_and_test(setting, n, number, folder)
        for model, classifier in (
            ("pooled", PooledLinearClassifier()),
            ("bag", BagClassifier(progress=False)),
        ):
            wrong = classifier.fit(bags, y).predict(rest) != truth
            errors[model].append(float(wrong.mean()))
    return {
        model: [float(np.mean(e)), float(np.std(e, ddof=1) / np.sqrt(draws))]
        for model, e in errors.items()
    }


def forecast(setting: Setting, number: int, folder: Path) -> dict[str, Any]:
    """Return what `sparsetoken.forecast` finds, with the held-out errors it rests on."""
    data = read_labelled(*pilot(setting, number, folder))
    start = time.process_time()
    held_out = held_out_errors(data, number)
    posterior = fit_posterior(bag_law(data), held_out)
    errors = {model: float(held_out.errors(model)[-1]) for model in MODELS}
    found = [posterior.continued(n, setting.n, errors) for n in setting.sizes]
    return {
        "seconds": round(time.process_time() - start, 2),
        "trained": held_out.sizes.tolist(),
        "held_out": {model: held_out.errors(model).tolist() for model in MODELS},
        "spread": [s / np.sqrt(len(data.bags)) for m in MODELS for s in _deviations(held_out, m)],
        "forecast": {
            model: [[at[model].value, at[model].low, at[model].high] for at in found]
            for model in MODELS
        },
    }


def _deviations(held_out: HeldOut, model: str) -> list[float]:
    return held_out.shares[model].std(axis=1, ddof=1).tolist()


def jobs(group: str, folder: Path, bags: int | None) -> Iterator[dict[str, Any]]:
    """Return what tells a row from others: measurements and pilots of each setting."""
    for setting in settings(bags):
        there = not setting.real or (folder / f"{setting.name}.npz").exists()
        if there and group in ("", setting.group):
            same = {"group": setting.group, "set": setting.name, "n": setting.n}
            for n in setting.sizes:
                yield {**same, "kind": "measured", "at": n}
            for number in range(PILOTS):
                yield {**same, "kind": "pilot", "at": number}


def run(job: dict[str, Any], folder: Path, bags: int | None) -> dict[str, Any]:
    """Return the row of a job."""
    setting = next(s for s in settings(bags) if (s.name, s.n) == (job["set"], job["n"]))
    work = measure if job["kind"] == "measured" else forecast
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", QueryWarning)
        return {**job, "real": setting.real, **work(setting, job["at"], folder)}


def main() -> None:
    """Run what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", choices=[TUNING, ASIDE], default="")
    parser.add_argument("--out", type=Path, default=Path("results/forecast.jsonl"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/mil"))
    parser.add_argument("--share", default="0/1")
    parser.add_argument("--bags", type=int)
    asked = parser.parse_args()
    first, step = map(int, asked.share.split("/"))
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    lines = asked.out.read_text().splitlines() if asked.out.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    done = {tuple(row[key] for key in ("set", "n", "kind", "at")) for row in rows}
    wanted = list(jobs(asked.group, asked.data, asked.bags))
    # The last pilots come last: without them the tables still speak of all sets.
    wanted.sort(key=lambda job: job["kind"] == "pilot" and job["at"] >= PILOTS - 2)
    missing = [
        job
        for job in wanted[first::step]
        if (job["set"], job["n"], job["kind"], job["at"]) not in done
    ]
    start = time.monotonic()
    with asked.out.open("a") as file:
        for count, job in enumerate(missing, 1):
            rows.append(run(job, asked.data, asked.bags))
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
            left = (time.monotonic() - start) / count * (len(missing) - count)
            print(f"\r{count}/{len(missing)}, {left:.0f} s left ", end="", file=sys.stderr)
    print(file=sys.stderr)
    print(tables(rows))


if __name__ == "__main__":
    main()
