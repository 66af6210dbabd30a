"""Learning curves at once: a few loads, a few nodes, and starts from the curve before."""

from __future__ import annotations

import numpy as np

from sparsetoken.explorer.quick_newton import QuickCurve
from sparsetoken.explorer.settings import Settings
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.learned_error import SaddlePoint, solve_readout
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.theory.query import working_query

MODELS = ("attention", "pooled", "vectorized")
LOADS = tuple(float(alpha) for alpha in np.geomspace(0.25, 10, 7))
NODES = 32  # for each class and scramble
STEP = 1e-2  # relative length of the last Newton step, which is taken
FEW_LOADS = LOADS[::3]  # of tokens with a covariance, whose points take longer
_NEW = SaddlePoint(np.array([0.0, 0.0, 0.0, 1.0, 1.0]), 0.0, np.inf, 0, False)


class CoarseCurves:
    """Curves of low accuracy, one after another.

    A slider moves by little from one request to the next, so the solution before is a good
    start: a few Newton steps lead to the next. Where they do not, the long way is gone.
    """

    def __init__(self) -> None:
        self._starts: dict[tuple[str, str], list[SaddlePoint]] = {}

    @with_x64
    def curves(self, settings: Settings) -> dict[str, dict[str, list[float]]]:
        """Return ``{model: {"alpha": [...], "test_error": [...]}}`` of `MODELS`."""
        if not settings.isotropic:
            return {name: _few_points(settings, name) for name in MODELS}
        laws = {name: _law(settings, name) for name in MODELS}
        return {name: self._curve(settings, name, law) for name, law in laws.items()}

    def _curve(self, settings: Settings, name: str, law: FeatureLaw) -> dict[str, list[float]]:
        if law.featureless:
            return _points({})
        key = (name, settings["loss"])
        starts = self._starts.get(key, [_NEW] * len(LOADS))
        found, errors = _near(settings, law, starts)
        if not all(saddle.converged for saddle in found):
            found = _from_afar(settings, law, found)
            found, errors = _near(settings, law, found)
        self._starts[key] = found
        return _points(
            {
                alpha: error
                for alpha, saddle, error in zip(LOADS, found, errors, strict=True)
                if saddle.converged
            }
        )


def _law(settings: Settings, name: str) -> FeatureLaw:
    model, problem = settings.model(name), settings.problem()
    return feature_law(model, problem, working_query(problem, model), NODES)


def _near(
    settings: Settings, law: FeatureLaw, starts: list[SaddlePoint]
) -> tuple[list[SaddlePoint], list[float]]:
    """Return the solutions near the starts, and their test errors."""
    smoothing = np.array([start.smoothing for start in starts])
    loss = settings.readout(1.0).loss
    curve = QuickCurve(law, loss, np.array(LOADS), settings["ridge"], smoothing)
    near = curve.near(np.array([start.x for start in starts]))
    found = [
        SaddlePoint(x, mu, STEP, 0, bool(ok))
        for x, mu, ok in zip(near.x, smoothing, near.converged, strict=True)
    ]
    return found, near.test_error.tolist()


def _from_afar(settings: Settings, law: FeatureLaw, found: list[SaddlePoint]) -> list[SaddlePoint]:
    """Solve where no start was near, from load to load."""
    potential = Potential(law, settings.readout(1.0).loss, 1.0)
    complete: list[SaddlePoint] = []
    for alpha, saddle in zip(LOADS, found, strict=True):
        if not saddle.converged:
            start = complete[-1] if complete else None
            saddle = solve_readout(potential.at(alpha), settings["ridge"], start, STEP)
        complete.append(saddle)
    return complete


def _few_points(settings: Settings, name: str) -> dict[str, list[float]]:
    readouts = [settings.readout(alpha) for alpha in FEW_LOADS]
    found = predict_readouts(settings.problem(), settings.model(name), readouts, nodes=NODES)
    return _points(dict(zip(FEW_LOADS, (p.test_error for p in found), strict=True)))


def _points(errors: dict[float, float]) -> dict[str, list[float]]:
    return {"alpha": list(errors), "test_error": list(errors.values())}
