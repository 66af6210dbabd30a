"""The experiments of `sparsetoken reproduce`, which compare theory and simulation."""

from __future__ import annotations

import importlib
import re

from sparsetoken.base.validation import InvalidInput
from sparsetoken.experiments.core.claims import Claim, Comparison
from sparsetoken.experiments.core.experiment import Experiment, Size, piece, profiles
from sparsetoken.experiments.core.rows import Row, Rows, averaged, measured, predicted
from sparsetoken.experiments.core.rules import (
    against_simulation,
    against_value,
    fraction_true,
    report_only,
)

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Comparison",
    "Experiment",
    "Row",
    "Rows",
    "Size",
    "against_simulation",
    "against_value",
    "averaged",
    "fraction_true",
    "measured",
    "piece",
    "predicted",
    "profiles",
    "register_experiment",
    "report_only",
]

_MODULES = (
    "representation",
    "alignment",
    "anti_alignment",
    "learning_curves",
    "rates",
    "misalignment",
    "token_covariance",
    "ridgeless",
    "capacity_curves",
    "sensitivity",
    "data_reuse",
    "joint_training",
    "networks",
    "tasks",
    "growing_length",
)

RESERVED = {"claims", "data", "differences", "filter", "found", "rule", "run", "tables", "trials"}
RESERVED |= {"z_values"}
"""Names that the files and the parts of the report have."""

EXPERIMENTS: dict[str, Experiment] = {}
"""By name, in the order of the report."""


def register_experiment(experiment: Experiment) -> Experiment:
    """Register an experiment for `sparsetoken.experiments.report.reproduce`.

    Parameters
    ----------
    experiment : Experiment
        It replaces one of the same name that was registered before.

    Returns
    -------
    Experiment
        The same.

    Raises
    ------
    InvalidInput
        If its name is no name of a file or one that the report uses itself, another experiment
        has a claim or a figure of its name, or its page lacks a part.
    """
    for name in (experiment.name, *experiment.figures):
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or name in RESERVED:
            legal = f"small letters, digits, - and _, and none of {sorted(RESERVED)}"
            raise InvalidInput("name of an experiment or figure", legal, name)
    experiment.check()
    if experiment.name in _OWN:
        raise InvalidInput("name of an experiment", f"none of {sorted(_OWN)}", experiment.name)
    others = [known for name, known in EXPERIMENTS.items() if name != experiment.name]
    for kind in ("claims", "figures"):
        taken = {name for known in others for name in _names(known, kind)}
        for name in _names(experiment, kind):
            if name in taken:
                legal = "one that no other experiment has"
                raise InvalidInput(f"name of one of its {kind}", legal, name)
    EXPERIMENTS[experiment.name] = experiment
    return experiment


def _names(experiment: Experiment, kind: str) -> list[str]:
    return [getattr(one, "name", one) for one in getattr(experiment, kind)]


_OWN: frozenset[str] = frozenset()
for _name in _MODULES:
    register_experiment(importlib.import_module(f"{__name__}.{_name}").EXPERIMENT)
_OWN = frozenset(EXPERIMENTS)
