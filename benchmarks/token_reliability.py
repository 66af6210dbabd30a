"""Are probabilities of tokens reliable? On newsgroups, whose tokens have labels, and on models.

python benchmarks/token_reliability.py ROWS.jsonl [--out docs/images/token_reliability.png]

ROWS.jsonl is what benchmarks/real_bags.py wrote of the method "bag". Constructed bags are of the
sparse-token model: 300 bags of 20 tokens in 50 dimensions, one informative token of strength 4,
eight draws, each tested on 200 more bags.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import sparsetoken as st
from real_bags_sets import reliability
from sparsetoken.figures.style import COLOURS, styled

DRAWS, BAGS, TESTED = 8, 300, 200
PROBLEM, DIMENSION = st.SparseTokenProblem(length=20, informative=1, strength=4.0), 50


def constructed() -> dict[str, Any]:
    """Return counts for bags of the model, in which the first token of a positive bag is true."""
    parts = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((BAGS + TESTED, PROBLEM.length, DIMENSION))
        y = np.arange(len(X)) % 2
        X[y == 1, 0, 0] += PROBLEM.strength
        model = st.BagClassifier().fit(X[:BAGS], y[:BAGS])
        true = np.zeros((TESTED, PROBLEM.length), dtype=bool)
        true[:, 0] = y[BAGS:] == 1
        chances = np.concatenate(model.predict_token_proba(X[BAGS:]))
        parts.append(reliability(chances, true.ravel()))
    return added(parts)


def added(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums over parts."""
    return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}


def main() -> None:
    """Print a table for each kind of bags and draw both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/images/token_reliability.png"))
    asked = parser.parse_args()
    rows = [json.loads(line) for line in asked.rows.read_text().splitlines()]
    kinds = {
        "newsgroups, ten sets": added([row["tokens"] for row in rows if "tokens" in row]),
        "one informative Gaussian token of 20": constructed(),
    }
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
