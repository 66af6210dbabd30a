"""Sensitivities that are asked of `BagClassifier`, and those on new bags.

    python benchmarks/sensitivities.py [--quick]

Bags are 8 Gaussian tokens (d = 6); one token of a positive bag is shifted by 8, which separates the
classes, or by 3. Each training set has n positive bags and twice as many negative ones. Beside the
threshold of the classifier is that which finds the wished share of the held-out bags themselves.
"""

from __future__ import annotations

import argparse

import numpy as np

from sparsetoken import BagClassifier
from sparsetoken.base.tables import text
from sparsetoken.estimators.thresholds import threshold_of

WISHED, NEW = 0.9, 1000  # bags of each class


def drawn(rng: np.random.Generator, n: int, negative: int, shift: float) -> tuple:
    """Return bags and which of them are positive."""
    y = np.arange(n + negative) < n
    X = rng.standard_normal((len(y), 8, 6))
    X[y, 0, 0] += shift
    return X, y


def found(n: int, shift: float, draw: int) -> np.ndarray:
    """Return sensitivity and specificity on new bags, by either threshold."""
    rng = np.random.default_rng([n, draw, int(shift)])
    X, y = drawn(rng, n, 2 * n, shift)
    model = BagClassifier(progress=False).fit(X, y)
    new, truth = drawn(rng, NEW, NEW, shift)
    seen, chances = model._probabilities(model.left_out_scores_)[:, 1], model.predict_proba(new)
    of_held_out = np.sort(seen[y])[::-1][int(np.ceil(WISHED * n)) - 1]
    lines = (of_held_out, threshold_of({"sensitivity": WISHED}, seen, y, np.ones(len(y))))
    told = [chances[:, 1] >= line for line in lines]
    return np.array([[one[truth].mean(), 1 - one[~truth].mean()] for one in told])


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two draws of 10 positive bags")
    quick = parser.parse_args().quick
    rows = []
    for shift in (8.0, 3.0):
        for n in (10,) if quick else (10, 20, 40):
            every = np.array([found(n, shift, draw) for draw in range(2 if quick else 40)])
            row = {"shift": shift, "positive": n}
            for k, name in enumerate(("held-out share", "classifier")):
                sensitivity, specificity = every[:, k].T
                row[f"{name}: sensitivity"] = f"{sensitivity.mean():.3f}"
                row["least" + " " * k] = f"{sensitivity.min():.2f}"
                row["specificity" + " " * k] = f"{specificity.mean():.3f}"
            rows.append(row)
    print(text(rows))


if __name__ == "__main__":
    main()
