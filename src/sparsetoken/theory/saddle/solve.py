"""The readout that stage 4 learns: the solution of its equations."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow
from sparsetoken.theory.saddle.equations import Load, SaddleEquations
from sparsetoken.theory.saddle.loss_means import OrderParameters

# Relative norms of the last Newton step, of a solution and of a place on the way to one.
# The step is taken, so that the error is of the order of its square.
SOLUTION_STEP, ROUGH_STEP = 1e-6, 1e-2
_FIRST_SMOOTHING, _LAST_SMOOTHING = 4.0, 1e-7
_LAST_RIDGE = 1e-9  # below this share of the first, the next is 0
_MANY_NODES = 2**17
_LARGE_RIDGES = (1.0, 10.0)  # relative to the features; the second is safer and farther away


@dataclasses.dataclass(frozen=True, eq=False)
class SaddlePoint:
    """A solution x of `SaddleEquations` and how it was reached.

    The scores depend on the state. The smoothing is the mu of the envelope that stands for the
    loss: 0, or at most 1e-6 where a loss with kinks has its solution on a kink (the hinge loss that
    gives up and always answers with the larger class); the training loss then moves by less than
    mu. The residual is the relative norm of the last Newton step.
    """

    x: np.ndarray
    state: OrderParameters
    load: Load
    smoothing: float
    residual: float
    iterations: int
    converged: bool


def solve_readout(
    equations: SaddleEquations,
    load: Load,
    start: SaddlePoint | None = None,
    tolerance: float = SOLUTION_STEP,
) -> SaddlePoint:
    """Solve for a readout in the limit of many samples and dimensions.

    Equation: learned-readout. It starts at a solution nearby, for the same smoothing. Without one
    the solution is followed from a ridge so large that it is explicit, and then, for a loss with
    kinks, along its smoothing. The tolerance is the relative norm of the last Newton step; the
    error is of the order of its square.
    """
    spent = 0 if start is None else start.iterations
    solver = _Solver(equations, load, tolerance, spent)
    if start is not None and start.converged:
        near = solver.newton(start.x, load.ridge, start.smoothing)
        # With so many nodes the full continuation would be too slow where a warm start fails.
        if near.converged or equations.nodes.y.size > _MANY_NODES:
            return solver.solved(near, start.smoothing)
    saddle = _from_large_ridge(solver)
    if saddle.converged or math.isfinite(load.samples):
        return saddle
    solver.relative = False
    return _from_large_ridge(solver)


def _from_large_ridge(solver: _Solver) -> SaddlePoint:
    equations, load = solver.equations, solver.load
    mu = 0.0 if equations.loss.smooth else _FIRST_SMOOTHING
    for relative in _LARGE_RIDGES:
        x, large = equations.explicit(load, mu, relative)
        if (
            not x[: equations.bias_at].any() and not x[equations.norms].any()
        ):  # nothing pulls: only the bias learns
            alone, _ = equations.explicit(load, 0.0, relative)
            x[equations.bias_at] = alone[equations.bias_at]
            return solver.solved(NewtonResult(x, 0.0, 0, True), 0.0)
        first = solver.newton(x, large, mu)
        if first.converged:
            break
    if not first.converged:
        return solver.solved(first, mu)
    enough = _LAST_RIDGE * large if load.ridge == 0 else None
    path = _Continuation(large, first.x, list(equations.positive(first.x)))
    down, _ = follow(
        lambda at, t: path.extended(solver.newton(path.guess(t), t, mu), t),
        first,
        large,
        load.ridge,
        enough=enough,
    )
    if mu == 0 or not down.converged:
        return solver.solved(down, mu)
    sharp, mu = follow(
        lambda at, t: solver.newton(at, load.ridge, t),
        down,
        mu,
        0.0,
        enough=_LAST_SMOOTHING,
    )
    # A solution on a kink is reached only as mu -> 0: the last mu > 0 serves.
    near_enough = sharp.converged or mu <= 10 * _LAST_SMOOTHING
    return solver.solved(sharp._replace(converged=near_enough), mu)


class _Solver:
    """Newton's method at one load, with the count of its iterations.

    At infinite data nu tends to 0 where the hinge loss gives up; its steps are then not `relative`
    to itself, as those of unknowns > 0 are.
    """

    def __init__(
        self, equations: SaddleEquations, load: Load, tolerance: float, spent: int
    ) -> None:
        self.equations, self.load, self.relative = equations, load, True
        self._tolerance, self._spent = tolerance, spent

    def newton(self, x: np.ndarray, ridge: float, mu: float) -> NewtonResult:
        """Solve at a ridge and a smoothing: roughly on the way, else to the tolerance."""
        equations, load = self.equations, self.load._replace(ridge=ridge)
        result = damped_newton(
            lambda at: equations.system(at, load, mu),
            x,
            positive=equations.positive(x) if self.relative else (),
            cautious=(equations.bias_at,),
            tolerance=self._tolerance if load == self.load else ROUGH_STEP,
        )
        self._spent += result.iterations
        first = equations.bias_at + 1
        result.x[first:] = np.abs(result.x[first:])
        return result

    def solved(self, result: NewtonResult, mu: float) -> SaddlePoint:
        """Return a result as a saddle point."""
        x, load = result.x, self.load
        state = self.equations.state(x, load.samples)
        return SaddlePoint(x, state, load, mu, result.residual, self._spent, result.converged)


class _Continuation:
    """Solutions at falling ridges, and where the next one is.

    Where the data can be fitted 1/chi falls like the ridge; elsewhere it tends to a limit. The
    guess is in the middle, in powers of the ridge.
    """

    def __init__(self, ridge: float, x: np.ndarray, positive: list[int]) -> None:
        self._known, self._positive = [(ridge, x)], positive

    def extended(self, result: NewtonResult, ridge: float) -> NewtonResult:
        """Return a solution, and remember it if it is one."""
        if result.converged:
            self._known = [*self._known[-1:], (ridge, result.x)]
        return result

    def guess(self, ridge: float) -> np.ndarray:
        """Return the place of the solution at a lower ridge."""
        last, x = self._known[-1]
        before, y = self._known[0]
        if last == before or ridge == 0:
            return x
        step = min(math.log(ridge / last) / math.log(last / before), 0.5)
        guess = x + step * (x - y)
        some = self._positive
        guess[some] = x[some] * (x[some] / y[some]) ** step
        return guess
