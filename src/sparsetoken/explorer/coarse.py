"""Learning curves of low accuracy, as quick as a slider moves."""

from __future__ import annotations

import numpy as np

from sparsetoken.explorer.settings import Settings
from sparsetoken.theory.outcome.measured import scores_on
from sparsetoken.theory.query.working import working_query
from sparsetoken.theory.readout.model_features import model_features
from sparsetoken.theory.saddle.equations import Load
from sparsetoken.theory.saddle.solve import ROUGH_STEP, SaddlePoint, solve_readout

COARSE = ("attention", "pooled", "vectorized")
COARSE_LOADS = tuple(np.geomspace(0.25, 10, 7).tolist())
NODES = 32  # of a coarse curve, for each class and scramble


class CoarseCurves:
    """Curves of low accuracy, one after another.

    A slider moves by little from one request to the next, so the solution before is a good
    start: a few Newton steps lead to the next.
    """

    def __init__(self) -> None:
        self._starts: dict[tuple[object, ...], SaddlePoint] = {}

    def curves(self, settings: Settings) -> dict[str, dict[str, list[float]]]:
        """Return ``{model: {"alpha": [...], "test_error": [...]}}`` of `COARSE`."""
        return {name: self._curve(settings, name) for name in COARSE}

    def _curve(self, settings: Settings, name: str) -> dict[str, list[float]]:
        problem, model = settings.problem(), settings.model(name)
        features = model_features(model, problem, working_query(problem, model))
        equations = features.equations(features.nodes(problem, NODES), settings.readout(1.0).loss)
        known: dict[str, list[float]] = {"alpha": [], "test_error": []}
        if equations.nodes.vanishes:
            return known
        last = None  # points of tokens with a covariance take longer: they are fewer
        for alpha in COARSE_LOADS if settings.isotropic else COARSE_LOADS[::3]:
            key = name, settings["loss"], equations.J, equations.K, settings.isotropic, alpha
            load = Load(features.samples(alpha), settings["ridge"])
            saddle = solve_readout(equations, load, self._starts.get(key, last), ROUGH_STEP)
            if saddle.converged:
                self._starts[key] = last = saddle
                known["alpha"].append(alpha)
                known["test_error"].append(scores_on(equations.nodes, saddle.state).test_error())
        return known
