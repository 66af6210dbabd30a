"""Learning curves at once: a few loads, a few nodes, and starts from the curve before."""

from __future__ import annotations

import numpy as np

from sparsetoken.explorer.settings import Settings
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.theory.features import model_features
from sparsetoken.theory.query import working_query
from sparsetoken.theory.readout.equations import Load
from sparsetoken.theory.readout.outcome import scores_on
from sparsetoken.theory.readout.solve import ROUGH_STEP, SaddlePoint, solve_readout

MODELS = ("attention", "pooled", "vectorized")
LOADS = tuple(float(alpha) for alpha in np.geomspace(0.25, 10, 7))
NODES = 32  # for each class and scramble
FEW_LOADS = LOADS[::3]  # of tokens with a covariance, whose points take longer


class CoarseCurves:
    """Curves of low accuracy, one after another.

    A slider moves by little from one request to the next, so the solution before is a good
    start: a few Newton steps lead to the next.
    """

    def __init__(self) -> None:
        self._starts: dict[tuple[object, ...], SaddlePoint] = {}

    @with_x64
    def curves(self, settings: Settings) -> dict[str, dict[str, list[float]]]:
        """Return ``{model: {"alpha": [...], "test_error": [...]}}`` of `MODELS`."""
        return {name: self._curve(settings, name) for name in MODELS}

    def _curve(self, settings: Settings, name: str) -> dict[str, list[float]]:
        problem, model = settings.problem(), settings.model(name)
        features = model_features(model, problem, working_query(problem, model))
        readout = features.readout(features.nodes(problem, NODES), settings.readout(1.0).loss)
        known: dict[str, list[float]] = {"alpha": [], "test_error": []}
        if readout.nodes.featureless:
            return known
        last = None
        for alpha in LOADS if settings.isotropic else FEW_LOADS:
            key = name, settings["loss"], readout.J, readout.K, settings.isotropic, alpha
            load = Load(features.samples(alpha), settings["ridge"])
            found = solve_readout(readout, load, self._starts.get(key, last), ROUGH_STEP)
            if found.converged:
                self._starts[key] = last = found
                known["alpha"].append(alpha)
                known["test_error"].append(scores_on(readout.nodes, found.state).test_error())
        return known
