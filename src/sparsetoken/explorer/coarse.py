"""Learning curves at once: a few loads, a few nodes, and starts from the curve before."""

from __future__ import annotations

import numpy as np

from sparsetoken.explorer.settings import Settings
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.learned_error import SaddlePoint, solve_readout
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.theory.query import working_query
from sparsetoken.theory.score_law import ScoreLaw

__all__ = ["MODELS", "CoarseCurves"]

MODELS = ("attention", "pooled", "vectorized")
LOADS = tuple(float(alpha) for alpha in np.geomspace(0.25, 10, 5))
NODES = 128  # for each class and scramble
STEP = 3e-2  # relative length of the last Newton step, which is taken
FEW_LOADS = LOADS[::2]  # of tokens with a covariance, whose points take longer


class CoarseCurves:
    """Curves of low accuracy, one after another.

    A slider moves by little from one request to the next, so the solution before is a good
    start: two Newton steps lead to the next.
    """

    def __init__(self) -> None:
        self._starts: dict[tuple[str, str, float], SaddlePoint] = {}

    @with_x64
    def curves(self, settings: Settings) -> dict[str, dict[str, list[float]]]:
        """Return ``{model: {"alpha": [...], "test_error": [...]}}`` of `MODELS`."""
        return {name: self._curve(settings, name) for name in MODELS}

    def _curve(self, settings: Settings, name: str) -> dict[str, list[float]]:
        model, problem = settings.model(name), settings.problem()
        if not settings.isotropic:
            readouts = [settings.readout(alpha) for alpha in FEW_LOADS]
            found = predict_readouts(problem, model, readouts, nodes=NODES)
            return _points(dict(zip(FEW_LOADS, (p.test_error for p in found), strict=True)))
        law = feature_law(model, problem, working_query(problem, model), NODES)
        if law.featureless:
            return _points({})
        potential = Potential(law, settings.readout(1.0).loss, 1.0)
        errors, last = {}, None
        for alpha in LOADS:
            key = (name, settings["loss"], alpha)
            start = self._starts.get(key, last)
            found_here = solve_readout(potential.at(alpha), settings["ridge"], start, STEP)
            if found_here.converged:
                self._starts[key] = last = found_here
                errors[alpha] = ScoreLaw.of(law, found_here.overlaps).test_error()
        return _points(errors)


def _points(errors: dict[float, float]) -> dict[str, list[float]]:
    return {"alpha": list(errors), "test_error": list(errors.values())}
