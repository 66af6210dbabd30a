"""A readout on a task with a query that is frozen: what can be predicted and simulated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.base import Problem
from sparsetoken.model.models import Model, Pooled, QueriedModel
from sparsetoken.model.network_checks import check_metric
from sparsetoken.model.stages import query_cosines
from sparsetoken.model.tokens import isotropic_only


def frozen(
    task: Problem, model: Model, loss: Any
) -> tuple[Problem, Float[np.ndarray, " P+1"] | None]:
    """Return the task with its metric, and the query along the directions and beside them.

    The query has its sharpness for its norm; a model without one has None.

    Raises
    ------
    InvalidInput
        If there are K > 2 classes, tokens have a covariance, the model or its query is not one for
        tasks, or the loss does not fit the targets.
    """
    if task.outputs > 1:
        minimum = 'st.Minimum(st.networks.Softmax(), alpha, ridge, frozen={"q": (...)})'
        remedy = f"Write st.minimize(task, {minimum}), with overlaps and norm of the query."
        raise InvalidInput(
            "task", "of two classes or one number", f"{task.outputs} outputs", remedy
        )
    task = task.for_loss(loss)
    isotropic_only(task.tokens, "A readout on a task")
    check_metric(task, loss)
    if isinstance(model, QueriedModel):
        query: Any = model.query
        s = query_cosines(query, task.directions, task.tokens)
        rest = math.sqrt(max(1 - math.hypot(*s) ** 2, 0.0))
        return task, query.sharpness * np.array([*s, rest])
    if not isinstance(model, Pooled):
        remedy = "A network of your own is a QueriedModel."
        raise InvalidInput("model on a task", "Pooled() or one with a query", model, remedy)
    return task, None
