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
        row = {
            "accuracy": float(np.mean(model.predict(bags) == y)),
            "auc": float(roc_auc_score(y, model.decision_function(bags))),
            "log_loss": float(log_loss(y, model.predict_proba(bags)[:, 1])),
        }
        if hasattr(model, "sharpness_"):
            row["sharpness"] = round(float(model.sharpness_[0]), 3)
            row["query"] = str(model.query_kind_[0])
            row["pvalue"] = float(model.attention_pvalue_[0])
            row["signal"] = float(model.signal_pvalue_[0])
        if hasattr(model, "weights_"):
            pairs = zip(model.member_names_, model.weights_[:, 0].round(3).tolist(), strict=True)
            row["weights"] = dict(pairs)
            row["signal"] = float(model.signal_pvalue_[0])
        if self.true is not None and hasattr(model, "top_tokens"):
            row.update(self._localised(model, test))
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


@functools.cache
def load(folder: Path, name: str) -> RealSet:
    """Read one set."""
    with np.load(folder / f"{name}.npz") as file:
        order = np.argsort(file["bag"], kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(file["bag"]))])
        true = file["inst_y"][order] > 0 if "inst_y" in file else None
        bags = Bags(file["X"][order].astype(float), offsets)
        return RealSet(bags, file["y"], file["folds"], true)
