"""Exact predictions and experiments for attention on a few informative tokens.

The public names are loaded on first use, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsetoken.advice import Diagnosis as Diagnosis
    from sparsetoken.advice import diagnose as diagnose
    from sparsetoken.bags import Bags as Bags
    from sparsetoken.bags import as_bags as as_bags
    from sparsetoken.bags import from_long as from_long
    from sparsetoken.displays import AttentionDisplay as AttentionDisplay
    from sparsetoken.displays import BagLearningCurveDisplay as BagLearningCurveDisplay
    from sparsetoken.displays import ScoreDisplay as ScoreDisplay
    from sparsetoken.estimators import AttentionClassifier as AttentionClassifier
    from sparsetoken.estimators import BagPooling as BagPooling
    from sparsetoken.estimators import (
        ElementwiseAttentionClassifier as ElementwiseAttentionClassifier,
    )
    from sparsetoken.estimators import PooledLinearClassifier as PooledLinearClassifier
    from sparsetoken.estimators import TokenPCA as TokenPCA
    from sparsetoken.estimators import TokenScaler as TokenScaler
    from sparsetoken.estimators import VectorizedLinearClassifier as VectorizedLinearClassifier
    from sparsetoken.losses import CustomLoss as CustomLoss
    from sparsetoken.losses import Loss as Loss
    from sparsetoken.losses import get_loss as get_loss
    from sparsetoken.numerics.leave_one_out import LeaveOneOut as LeaveOneOut
    from sparsetoken.numerics.leave_one_out import leave_one_out as leave_one_out
    from sparsetoken.problem import SparseTokenProblem as SparseTokenProblem
    from sparsetoken.results import Alignment as Alignment
    from sparsetoken.results import Capacity as Capacity
    from sparsetoken.results import Outcome as Outcome
    from sparsetoken.results import Overlaps as Overlaps
    from sparsetoken.results import Prediction as Prediction
    from sparsetoken.results import Simulation as Simulation
    from sparsetoken.results import Status as Status
    from sparsetoken.simulation import draw_training_set as draw_training_set
    from sparsetoken.simulation import is_separable as is_separable
    from sparsetoken.simulation import simulate as simulate
    from sparsetoken.simulation import simulate_alignment as simulate_alignment
    from sparsetoken.theory import QueryVerdict as QueryVerdict
    from sparsetoken.theory import QueryWarning as QueryWarning
    from sparsetoken.theory import align as align
    from sparsetoken.theory import approach_to_infinite_data as approach_to_infinite_data
    from sparsetoken.theory import bayes_error as bayes_error
    from sparsetoken.theory import best_beta as best_beta
    from sparsetoken.theory import best_error as best_error
    from sparsetoken.theory import best_split as best_split
    from sparsetoken.theory import capacity as capacity
    from sparsetoken.theory import check_query as check_query
    from sparsetoken.theory import critical_cosine as critical_cosine
    from sparsetoken.theory import critical_strength as critical_strength
    from sparsetoken.theory import fit_growth as fit_growth
    from sparsetoken.theory import predict as predict
    from sparsetoken.theory import sign_boundary as sign_boundary
    from sparsetoken.theory import sign_margin as sign_margin
    from sparsetoken.training import FourStageTraining as FourStageTraining
    from sparsetoken.training import Query as Query
    from sparsetoken.validation import InvalidInput as InvalidInput

_HOME = {
    "Alignment": "results",
    "AttentionClassifier": "estimators",
    "AttentionDisplay": "displays",
    "BagLearningCurveDisplay": "displays",
    "BagPooling": "estimators",
    "Bags": "bags",
    "Capacity": "results",
    "CustomLoss": "losses",
    "Diagnosis": "advice",
    "ElementwiseAttentionClassifier": "estimators",
    "FourStageTraining": "training",
    "InvalidInput": "validation",
    "LeaveOneOut": "numerics.leave_one_out",
    "Loss": "losses",
    "Outcome": "results",
    "Overlaps": "results",
    "PooledLinearClassifier": "estimators",
    "Prediction": "results",
    "Query": "training",
    "QueryVerdict": "theory",
    "QueryWarning": "theory",
    "ScoreDisplay": "displays",
    "Simulation": "results",
    "SparseTokenProblem": "problem",
    "Status": "results",
    "TokenPCA": "estimators",
    "TokenScaler": "estimators",
    "VectorizedLinearClassifier": "estimators",
    "align": "theory",
    "approach_to_infinite_data": "theory",
    "as_bags": "bags",
    "bayes_error": "theory",
    "best_beta": "theory",
    "best_error": "theory",
    "best_split": "theory",
    "capacity": "theory",
    "check_query": "theory",
    "critical_cosine": "theory",
    "critical_strength": "theory",
    "diagnose": "advice",
    "draw_training_set": "simulation",
    "fit_growth": "theory",
    "from_long": "bags",
    "get_loss": "losses",
    "is_separable": "simulation",
    "leave_one_out": "numerics.leave_one_out",
    "predict": "theory",
    "sign_boundary": "theory",
    "sign_margin": "theory",
    "simulate": "simulation",
    "simulate_alignment": "simulation",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("sparsetoken")
    if name not in _HOME:
        raise AttributeError(f"module 'sparsetoken' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sparsetoken.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
