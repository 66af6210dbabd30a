"""How well a classifier ranks bags: AUC and average precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def ranked(estimator: Any, bags: Any, y: np.ndarray) -> tuple[float, float]:
    """Return AUC and average precision on bags of every class: of several, means over classes."""
    import numpy as np
    from sklearn.metrics import average_precision_score, roc_auc_score

    classes = estimator.classes_
    if len(classes) == 2:
        scores, positive = estimator.decision_function(bags), y == classes[1]
        return (
            float(roc_auc_score(positive, scores)),
            float(average_precision_score(positive, scores)),
        )
    several = hasattr(estimator, "predict_proba")
    scores = (estimator.predict_proba if several else estimator.decision_function)(bags)
    truth = np.asarray(y)[:, None] == classes
    pairs_of = [(truth[:, k], scores[:, k]) for k in range(len(classes))]
    return (
        float(np.mean([roc_auc_score(*one) for one in pairs_of])),
        float(np.mean([average_precision_score(*one) for one in pairs_of])),
    )
