"""The real sets: bags, labels, published folds, true tokens where they are known."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from sparsetoken.bags import Bags

CLASSIC = ["musk1", "musk2", "fox", "tiger", "elephant"]
NEWSGROUPS = [
    "ng_alt_atheism",
    "ng_comp_graphics",
    "ng_comp_windows_x",
    "ng_misc_forsale",
    "ng_rec_autos",
    "ng_rec_sport_hockey",
    "ng_sci_electronics",
    "ng_sci_space",
    "ng_talk_politics_guns",
    "ng_talk_religion_misc",
]
SETS = CLASSIC + NEWSGROUPS
REPEATS, FOLDS = range(5), range(10)


BINS = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)  # of probabilities of tokens


class RealSet(NamedTuple):
    """One set.

    Attributes
    ----------
    bags : Bags
    y : array of shape (n,), of 0 and 1
    folds : array of shape (5, n)
        The test fold of each bag in each repeat.
    true : array of shape (N,), optional
        Whether a token makes its bag positive.
    """

    bags: Bags
    y: np.ndarray
    folds: np.ndarray
    true: np.ndarray | None

    def scores(self, model: Any, test: np.ndarray) -> dict[str, Any]:
        """Return accuracy, AUC and log-loss on test bags, and how often the top token is true."""
        bags, y = self.bags[test], self.y[test]
        chances = model.predict_proba(bags)[:, 1]
        row = {
            "accuracy": float(np.mean(model.predict(bags) == y)),
            "auc": float(roc_auc_score(y, chances)),
            "log_loss": float(log_loss(y, chances)),
        }
        if hasattr(model, "sharpness_"):
            row["sharpness"] = round(float(model.sharpness_[0]), 3)
        if hasattr(model, "weights_"):
            pairs = zip(model.member_names_, model.weights_[:, 0].round(3).tolist(), strict=True)
            row["weights"] = dict(pairs)
            row["signal"] = float(model.signal_pvalue_[0])
        if self.true is not None and hasattr(model, "top_tokens"):
            row.update(self._localised(model, test))
        if self.true is not None and hasattr(model, "predict_token_proba"):
            rows = np.repeat(test, self.bags.sizes)
            chances = np.concatenate(model.predict_token_proba(bags))
            row["tokens"] = reliability(chances, self.true[rows])
        return row

    def _localised(self, model: Any, test: np.ndarray) -> dict[str, Any]:
        """Count the test bags with a true token, those whose top token is one, and by chance."""
        starts = self.bags.offsets[:-1]
        counts = np.add.reduceat(self.true.astype(int), starts)
        rows = np.flatnonzero(test & (counts > 0))
        first = np.array([top[0] for top in model.top_tokens(self.bags[rows])])
        return {
            "with_true": len(rows),
            "top_true": int(self.true[starts[rows] + first].sum()),
            "by_chance": float((counts[rows] / self.bags.sizes[rows]).sum()),
        }


def reliability(chances: np.ndarray, true: np.ndarray) -> dict[str, Any]:
    """Count tokens and true ones, and add up probabilities, in each of the bins; and the loss."""
    place = np.searchsorted(BINS, chances, side="right")
    kept = np.clip(chances, 1e-9, 1 - 1e-9)
    return {
        "count": np.bincount(place, minlength=len(BINS) + 1).tolist(),
        "true": np.bincount(place, true, minlength=len(BINS) + 1).tolist(),
        "sum": np.bincount(place, chances, minlength=len(BINS) + 1).round(6).tolist(),
        "loss": float(-np.where(true, np.log(kept), np.log1p(-kept)).sum()),
    }


@functools.cache
def load(folder: Path, name: str) -> RealSet:
    """Read one set."""
    with np.load(folder / f"{name}.npz") as file:
        order = np.argsort(file["bag"], kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(file["bag"]))])
        true = file["inst_y"][order] > 0 if "inst_y" in file else None
        bags = Bags(file["X"][order].astype(float), offsets)
        return RealSet(bags, file["y"], file["folds"], true)
