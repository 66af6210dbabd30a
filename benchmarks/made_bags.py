"""BagClassifier against each of its members, on bags made here and on noise.

python benchmarks/made_bags.py

It writes a row for each of four draws of eleven sets, and for each of 60 sets of noise.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

from made_bags_sets import SETS, made, noise
from resumable import rows
from sparsetoken import BagClassifier
from sparsetoken.estimators import QueryWarning

DRAWS, NOISE = 4, 60
JOBS = [(name, draw) for name in SETS for draw in range(DRAWS)]
JOBS += [("noise", seed) for seed in range(NOISE)]
MEMBERS = ["forest", "mean", "maxima", "attention", "attention of normal scores", "size"]


def run(index: int) -> dict:
    """Fit, and score the average and each member on test bags."""
    name, draw = JOBS[index]
    (bags, y), (test, truth) = noise(draw) if name == "noise" else made(name, draw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)  # what noise is meant to give
        model = BagClassifier(progress=False).fit(bags, y)
    scores = dict(zip(model.member_names_, model.member_scores(test).T, strict=True))
    chances = {"BagClassifier": model.predict_proba(test)[:, 1]}
    chances |= {member: expit(score) for member, score in scores.items()}
    return {"set": name} | {who: _numbers(p, truth) for who, p in chances.items()}


def _numbers(chances: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Return accuracy, AUC and log-loss."""
    accuracy = float(np.mean((chances > 0.5) == truth))
    return accuracy, float(roc_auc_score(truth, chances)), float(log_loss(truth, chances))


def tables(found: list[dict]) -> str:
    """Return means of each set, differences from each member over the sets, and the noise."""
    lines = [f"| set | {' | '.join(['BagClassifier: accuracy', 'AUC', 'log-loss', *MEMBERS])} |"]
    lines.append("| --- " * (4 + len(MEMBERS)) + "|")
    frame = pd.DataFrame([row for row in found if row["set"] != "noise"])
    mean = {}  # of accuracy, AUC and log-loss: where a member has no scores it is not a number
    for name, of_set in frame.groupby("set", sort=False):
        mean[name] = {
            who: np.mean([v for v in of_set[who] if isinstance(v, list | tuple)], axis=0)
            for who in ["BagClassifier", *MEMBERS]
            if of_set[who].notna().any()
        }
        ours = "{:.3f} | {:.3f} | {:.3f}".format(*mean[name]["BagClassifier"])
        single = [f"{mean[name][m][0]:.3f}" if m in mean[name] else "" for m in MEMBERS]
        lines.append(f"| {name} | {ours} | {' | '.join(single)} |")
    lines += ["", "| BagClassifier less | accuracy | AUC | log-loss |", "| --- | --- | --- | --- |"]
    for member in MEMBERS:
        apart = [of["BagClassifier"] - of[member] for of in mean.values() if member in of]
        error = np.std(apart, axis=0, ddof=1) / np.sqrt(len(apart))
        cells = [f"{m:+.3f} ± {e:.3f}" for m, e in zip(np.mean(apart, axis=0), error, strict=True)]
        lines.append(f"| {member} ({len(apart)} sets) | {' | '.join(cells)} |")
    excess = [
        row["BagClassifier"][2] - row["constant"][2] for row in found if row["set"] == "noise"
    ]
    error = np.std(excess, ddof=1) / np.sqrt(len(excess))
    lines += ["", f"Log-loss above that of the class rate on noise: {np.mean(excess):.4f} ± "]
    lines[-1] += f"{error:.4f}, at most {np.max(excess):.3f}."
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(tables(rows(__doc__, len(JOBS), run)) + "\n")
