"""`BagRegressor` with and without members that see single tokens, on made and real sets.

    python benchmarks/regression.py [--data FOLDER] [--sets spreads musk1] [--splits 6]

Each split is fitted with all members, without one, and without both; the share of the variance of
bags left out that is missed is 1 - R^2. Sets are made of random numbers and of scikit-learn's
tables (tests have other rows), and of the real sets in FOLDER, whose labels 0 and 1 count as
numbers and whose first published ten folds are the splits.
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
from joblib import Memory

import sparsetoken as st
from bag_sets import photographs, real_names, real_split, table_rows
from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators import QueryWarning

Draw = tuple[list[np.ndarray], np.ndarray]
N, TEST = 150, 1000  # bags to fit to, and to score
MEMBERS = ("statistics", "prototypes")
LACKING: dict[str, tuple[str, ...]] = {
    "neither": MEMBERS,
    "statistics": ("prototypes",),
    "prototypes": ("statistics",),
    "both": (),
}
"""Names of what is compared, and the members that it lacks."""


def _sizes(n: int, rng: np.random.Generator) -> list[int]:
    return rng.integers(6, 16, n).tolist()


def token(n: int, rng: np.random.Generator) -> Draw:
    """One token is moved by three times y > 0, in one of twenty columns."""
    y = rng.exponential(size=n)
    bags = [rng.standard_normal((size, 20)) for size in _sizes(n, rng)]
    for bag, one in zip(bags, y, strict=True):
        bag[0, 0] += 3 * one
    return bags, y


def means(n: int, rng: np.random.Generator) -> Draw:
    """All tokens are moved a little by y, in five of thirty columns."""
    y = rng.standard_normal(n)
    moved = np.where(np.arange(30) < 5, 0.25, 0.0)
    return [
        rng.standard_normal((size, 30)) + one * moved
        for size, one in zip(_sizes(n, rng), y, strict=True)
    ], y


def spreads(n: int, rng: np.random.Generator) -> Draw:
    """Tokens vary more where y is large, in two of eight columns."""
    y = rng.uniform(size=n)
    scale = np.where(np.arange(8) < 2, 1.0, 0.0)
    return [
        rng.standard_normal((size, 8)) * (1 + 2 * one * scale)
        for size, one in zip(_sizes(n, rng), y, strict=True)
    ], y


def friedman(n: int, rng: np.random.Generator) -> Draw:
    """Friedman's first function of the mean token."""
    u = rng.random((n, 10))
    y = 10 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20 * (u[:, 2] - 0.5) ** 2
    y += 10 * u[:, 3] + 5 * u[:, 4] + rng.standard_normal(n)
    return [
        0.5 * rng.standard_normal((size, 10)) + 2 * one
        for size, one in zip(_sizes(n, rng), u, strict=True)
    ], y


def rings(n: int, rng: np.random.Generator) -> Draw:
    """None to five tokens are on a circle, in two of five columns; y is their number."""
    y = rng.integers(0, 6, n)
    bags = [rng.standard_normal((size, 5)) for size in _sizes(n, rng)]
    for bag, one in zip(bags, y, strict=True):
        bag[:one, :2] *= 3 / np.linalg.norm(bag[:one, :2], axis=1)[:, None]
    return bags, y.astype(float)


def kinds(n: int, rng: np.random.Generator) -> Draw:
    """Tokens of six Gaussian kinds; y is the share of one, with noise."""
    centres = 3 * np.random.default_rng(9).standard_normal((6, 8))
    chances = [rng.dirichlet(np.ones(6)) for _ in range(n)]
    drawn = [rng.choice(6, size, p=p) for size, p in zip(_sizes(n, rng), chances, strict=True)]
    y = np.array([np.mean(one == 0) for one in drawn]) + 0.05 * rng.standard_normal(n)
    return [centres[one] + rng.standard_normal((len(one), 8)) for one in drawn], y


def noise(n: int, rng: np.random.Generator) -> Draw:
    """The number has nothing to do with the tokens."""
    return [rng.standard_normal((size, 10)) for size in _sizes(n, rng)], rng.standard_normal(n)


def largest_digit(n: int, rng: np.random.Generator, part: int) -> Draw:
    """The largest of three to six handwritten digits."""
    X, target = table_rows("digits", part)
    rows = [rng.integers(len(X), size=rng.integers(3, 7)) for _ in range(n)]
    return [X[one] for one in rows], np.array([float(target[one].max()) for one in rows])


def sum_of_digits(n: int, rng: np.random.Generator, part: int) -> Draw:
    """The sum of four to eight handwritten digits."""
    X, target = table_rows("digits", part)
    rows = [rng.integers(len(X), size=rng.integers(4, 9)) for _ in range(n)]
    return [X[one] for one in rows], np.array([float(target[one].sum()) for one in rows])


def sevens(n: int, rng: np.random.Generator, part: int) -> Draw:
    """How many of twelve handwritten digits are a seven: none to four."""
    X, target = table_rows("digits", part)
    y, seven = rng.integers(0, 5, n), target == 7
    bags = [
        X[
            np.r_[
                rng.choice(np.flatnonzero(seven), one), rng.choice(np.flatnonzero(~seven), 12 - one)
            ]
        ]
        for one in y
    ]
    return bags, y.astype(float)


def malignant(n: int, rng: np.random.Generator, part: int) -> Draw:
    """The share of malignant cells."""
    X, target = table_rows("breast_cancer", part)
    bags, y = [], []
    for size, share in zip(_sizes(n, rng), rng.random(n), strict=True):
        bad = rng.random(size) < share
        picked = [rng.choice(np.flatnonzero((target == 0) == one)) for one in bad]
        bags.append(X[picked])
        y.append(bad.mean())
    return bags, np.array(y)


def alcohol(n: int, rng: np.random.Generator, part: int) -> Draw:
    """The largest content of alcohol of some wines, of which the other columns are known."""
    X, _ = table_rows("wine", part)
    rows = [rng.integers(len(X), size=rng.integers(3, 9)) for _ in range(n)]
    return [X[one, 1:] for one in rows], np.array([X[one, 0].max() for one in rows])


def diabetes(n: int, rng: np.random.Generator, part: int) -> Draw:
    """The mean progression of the patients of a ward."""
    X, target = table_rows("diabetes", part)
    rows = [rng.integers(len(X), size=rng.integers(3, 9)) for _ in range(n)]
    return [X[one] for one in rows], np.array([target[one].mean() for one in rows])


def textures(n: int, rng: np.random.Generator, part: int) -> Draw:
    """How many of fifteen patches are of another photograph: none to five."""
    usual, rare = (patches[part::2] for patches in photographs())
    y = rng.integers(0, 6, n)
    bags = [
        np.concatenate(
            [
                rare[rng.integers(len(rare), size=one)],
                usual[rng.integers(len(usual), size=15 - one)],
            ]
        )
        for one in y
    ]
    return bags, y.astype(float)


MADE: dict[str, Callable[..., Draw]] = {
    one.__name__.replace("_", " "): one
    for one in (token, means, spreads, friedman, rings, kinds, noise)
}
TABLES: dict[str, Callable[..., Draw]] = {
    one.__name__.replace("_", " "): one
    for one in (largest_digit, sum_of_digits, sevens, malignant, alcohol, diabetes, textures)
}


def split_of(
    name: str, number: int, folder: Path | None
) -> tuple[Bags, np.ndarray, Bags, np.ndarray]:
    """Return bags and numbers to fit to, and others to score."""
    if name in MADE:
        rng = np.random.default_rng([3, list(MADE).index(name), number])
        fit, test = (MADE[name](n, rng) for n in (N, TEST))
    elif name in TABLES:
        rng = np.random.default_rng([4, list(TABLES).index(name), number])
        fit, test = (TABLES[name](n, rng, part) for part, n in enumerate((N, TEST)))
    else:
        assert folder is not None
        split = real_split(name, number, folder)
        return split.bags, split.y.astype(float), split.test, split.truth.astype(float)
    return as_bags(fit[0]), fit[1], as_bags(test[0]), test[1]


def scored(name: str, number: int, lacking: tuple[str, ...], folder: Path | None) -> dict[str, Any]:
    """Fit without some members, and return the summed squares and the seconds of the fit."""
    bags, y, test, truth = split_of(name, number, folder)

    class Some(st.BagRegressor):
        _kinds = st.BagRegressor._kinds._replace(**dict.fromkeys(lacking))

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        model = Some(progress=False).fit(bags, y)
    seconds = time.process_time() - start
    missed = float(np.square(model.predict(test) - truth).mean())
    weights = dict(zip(model.member_names_, model.weights_[:, 0].tolist(), strict=True))
    return {"missed": missed, "squares": float(np.square(truth - y.mean()).mean())} | {
        "seconds": seconds,
        "weights": {one: weights.get(one, 0.0) for one in MEMBERS},
    }


def show(rows: list[dict[str, Any]]) -> None:
    """Print what is missed of the variance, and paired differences with standard errors."""
    frame = pd.DataFrame(rows)
    # Of one set all splits have one denominator, so that a small fold counts as it should.
    whole = frame.groupby("set", sort=False)["squares"].mean()
    frame["missed"] /= frame["set"].map(whole)
    table = frame.pivot(index=["set", "number"], columns="kind", values="missed")
    means = table.groupby(level="set", sort=False).mean()[list(LACKING)]
    for kind in list(LACKING)[1:]:
        gain = (table["neither"] - table[kind]).groupby(level="set", sort=False)
        means[f"gain of {kind}"] = gain.mean()
        means[f"± {kind}"] = gain.std() / np.sqrt(gain.size())
    seconds = frame.pivot_table("seconds", "set", "kind", "median", sort=False)
    means["seconds"] = seconds["neither"]
    means["times"] = seconds["both"] / seconds["neither"]
    weights = frame[frame["kind"] == "both"].groupby("set", sort=False)["weights"]
    for one in MEMBERS:
        means[f"weight of {one}"] = weights.apply(lambda w, n=one: np.mean([x[n] for x in w]))
    print(means.round(4).to_string())
    for group in (
        [name for name in means.index if name != "noise"],
        [name for name in means.index if name in MADE and name != "noise"],
        [name for name in means.index if name in TABLES],
        [name for name in means.index if name not in MADE and name not in TABLES],
    ):
        for kind in list(LACKING)[1:]:
            gain = means.loc[group, f"gain of {kind}"]
            if len(gain) > 1:
                error = gain.std() / np.sqrt(len(gain))
                print(f"{len(group)} sets, {kind}: {gain.mean():.4f} ± {error:.4f}")
    total = frame.groupby("kind", sort=False)["seconds"].sum()
    print(
        "seconds of all fits, over those of neither:", (total / total["neither"]).round(2).to_dict()
    )


def main() -> None:
    """Fit what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the real sets")
    parser.add_argument("--sets", nargs="+", metavar="SET")
    parser.add_argument("--splits", type=int, default=6, help="of each made set")
    parser.add_argument("--folds", type=int, default=10, help="of each real set, at most 10")
    asked = parser.parse_args()
    folder = asked.data and asked.data.resolve()
    classic = [name for name in real_names(folder) if not name.startswith("ng_")]
    names = [*MADE, *TABLES, *classic]
    run = functools.partial(Memory("results/cache", verbose=0).cache(scored), folder=folder)
    rows = []
    for name in asked.sets or names:
        for number in range(asked.folds if name in classic else asked.splits):
            for kind, lacking in LACKING.items():
                place = {"set": name, "number": number, "kind": kind}
                rows.append(place | run(name, number, lacking))
    show(rows)


if __name__ == "__main__":
    main()
