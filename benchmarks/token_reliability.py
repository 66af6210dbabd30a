"""Are probabilities of tokens reliable? On newsgroups, whose tokens have labels, and on models.

python benchmarks/token_reliability.py [--data FOLDER] [--out docs/images/token_reliability.png]

Newsgroups are the ten sets in FOLDER, in the ten folds of the first repeat. Constructed bags are
300 bags of 20 Gaussian tokens in 50 dimensions, of which half are positive, eight draws, each
tested on 200 more bags.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import sparsetoken as st
from real_bags_sets import NEWSGROUPS, load, reliability
from sparsetoken.figures.style import COLOURS, styled

DRAWS, BAGS, TESTED, LENGTH, DIMENSION = 8, 300, 200, 20, 50
MODELS = {
    "one informative token of 20": (1, 4.0),
    "any number, independently": (0, 4.0),
    "three of 20": (3, 2.5),
}


def constructed(count: int, strength: float) -> dict[str, Any]:
    """Return counts for bags in which so many tokens are informative; 0 for any number."""
    parts = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((BAGS + TESTED, LENGTH, DIMENSION))
        true = (np.arange(LENGTH) < count) & (np.arange(len(X)) % 2 == 1)[:, None]
        if count == 0:  # in half of the bags there is one or more
            true = rng.random(true.shape) < 1 - 0.5 ** (1 / LENGTH)
        X[true, 0] += strength
        y = true.any(axis=1)
        model = st.BagClassifier(progress=False).fit(X[:BAGS], y[:BAGS])
        parts.append(of_tokens(model, X[BAGS:], true[BAGS:].ravel()))
    return added(parts)


def newsgroups(folder: Path) -> dict[str, Any]:
    """Return counts for the posts of the test bags of ten folds of each set."""
    parts = []
    for name in NEWSGROUPS:
        bags, y, folds, true = load(folder, name)
        assert true is not None
        for fold in range(10):
            test = folds[0] == fold
            model = st.BagClassifier(progress=False).fit(bags[~test], y[~test])
            parts.append(of_tokens(model, bags[test], true[np.repeat(test, bags.sizes)]))
    return added(parts)


def of_tokens(model: st.BagClassifier, bags: Any, true: np.ndarray) -> dict[str, Any]:
    """Return the counts of one fit."""
    return reliability(np.concatenate(model.predict_token_proba(bags)), true)


def added(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums over parts."""
    return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}


def main() -> None:
    """Print a table for each kind of bags and draw both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/mil"))
    parser.add_argument("--out", type=Path, default=Path("docs/images/token_reliability.png"))
    asked = parser.parse_args()
    kinds = {name: constructed(*values) for name, values in MODELS.items()}
    if asked.data.exists():
        kinds["newsgroups, ten sets"] = newsgroups(asked.data)
    with styled():
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(5.2, 4.6))
        axes.plot([0, 1], [0, 1], color="0.7", lw=1)
        for (name, found), colour in zip(kinds.items(), COLOURS.values(), strict=False):
            full = found["count"] >= 20  # a share of fewer tokens says little
            p, share = found["sum"][full] / found["count"][full], found["true"] / found["count"]
            share, count = share[full], found["count"][full]
            error = np.sqrt(share * (1 - share) / count)
            axes.errorbar(p, share, yerr=2 * error, fmt="o", color=colour, label=name, capsize=2.5)
            rate, tokens = found["true"].sum() / found["count"].sum(), found["count"].sum()
            base = -(rate * np.log(rate) + (1 - rate) * np.log1p(-rate))
            print(f"{name}: {tokens:.0f} tokens, {100 * rate:.2f}% true, mean probability ", end="")
            print(f"{100 * found['sum'].sum() / tokens:.2f}%, log-loss ", end="")
            print(f"{found['loss'] / tokens:.4f} (rate alone {base:.4f})")
            print("| mean probability | share of true tokens | tokens |\n| --- | --- | --- |")
            for one in zip(p, share, error, count, strict=True):
                print("| {:.3f} | {:.3f} ± {:.3f} | {:.0f} |".format(*one))
        axes.set(xlabel="mean probability in a bin", ylabel="share of true tokens")
        axes.legend(frameon=False, loc="upper left")
        figure.tight_layout()
        figure.savefig(asked.out, dpi=120)


if __name__ == "__main__":
    main()
