"""Solutions of the equations of a joint minimum: which there are, how well each is known."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.model.minimum import Minimization, start_of
from sparsetoken.numerics.errors import stated_error
from sparsetoken.numerics.threads import one_thread
from sparsetoken.results import MinimumOutcome, MinimumPrediction, Status, StatusCode, Weights
from sparsetoken.results.record import over_rows
from sparsetoken.theory.accuracy import Accuracy
from sparsetoken.theory.dynamics.outcomes import network_outcome
from sparsetoken.theory.minimum.equations import Equations, State
from sparsetoken.theory.minimum.solve import Solution, jumps_of, lowest, packed, solve

_COARSE, _FINE = 128, (512, 2048, 8192)  # bags of a kind, as the tolerance asks
_SCRAMBLES = (4, 8)  # at first, and where more bags may decide
_DECIDING = 2048  # bags of a kind, with which what is undecided stays so
_ROUGH, _SOLVED = 1e-3, 1e-4  # residual of a solution
_ALIKE = 0.01  # relative, of solutions on the same few bags
_NEAR = 0.3  # relative, of overlaps of a solution on other bags
_GUARDS, _MOST = 2, 60  # restarts of the proximal operator, and iterations of each
_TESTS = 4  # scrambles of new bags, for the fewest bags of a solution
_STABLE = 1.0  # replicons below it
_JUMPS = 0.05  # of the response: jumps below it move the numbers by less than that
_NORM = 1.0  # of a column at the start, along the signals or beside them


class _Found(NamedTuple):
    """A solution on the bags of one scramble, with its outcome."""

    solution: Solution
    outcome: MinimumOutcome
    replicon: float
    jumps: Float[np.ndarray, "m m"]


class _Bounded(NamedTuple):
    """A number on which the theory hangs, its error, and where it must be below."""

    text: str
    value: float
    error: float
    most: float

    @property
    def exceeds(self) -> bool:
        """Whether it is shown to be above."""
        return self.value - 2 * self.error > self.most

    @property
    def shown(self) -> bool:
        """Whether it is shown to be below."""
        return self.value + 2 * self.error < self.most

    def __str__(self) -> str:
        return f"{self.text} is {self.value:.2f} ± {self.error:.2f}, and must be below {self.most}"


class _Refined(NamedTuple):
    """A solution on scrambles of many bags, and the result of them."""

    found: list[_Found]
    prediction: MinimumPrediction
    open: bool  # whether more bags may give another status

    @property
    def unsolved(self) -> bool:
        """Whether it comes last."""
        return self.prediction.status.code is StatusCode.MAX_ITERATIONS

    @property
    def objective(self) -> float:
        """The mean objective."""
        return float(self.prediction.objective)


_UNKNOWN_OBJECTIVE = (StatusCode.APPROXIMATE, StatusCode.MAX_ITERATIONS)
_UNSETTLED = Status(
    StatusCode.MAX_ITERATIONS,
    "This is a solution on some bags and none on others: whether it exists is not known.",
)


def minima(
    problems: Sequence[Minimization],
    wanted: Sequence[int],
    starts: Sequence[Any],
    tolerance: float,
) -> Iterator[MinimumPrediction]:
    """Yield the lowest solution at each load that is wanted by its place, with all branches.

    Few bags find the solutions: from each start at the largest and the smallest load, and from
    the solutions at the next larger load, then at the next smaller one. Many bags refine them.
    """
    branches = _branches(problems, starts)
    for place in wanted:
        yield _lowest(problems[place], branches[place], tolerance)


@one_thread()
def _branches(problems: Sequence[Minimization], starts: Sequence[Any]) -> list[list[Solution]]:
    """Return the solutions at each load on few bags."""
    places = sorted(range(len(problems)), key=lambda place: -problems[place].alpha)
    branches: list[list[Solution]] = [[] for _ in places]
    for place in {places[0], places[-1]}:
        branches[place] = _rough(problems[place], starts)
    for way in (places, places[::-1]):
        for before, after in itertools.pairwise(way):
            for solution in branches[before]:
                _add(branches[after], _continued(problems[after], solution.state))
    return branches


def _rough(problem: Minimization, starts: Sequence[Any]) -> list[Solution]:
    """Return the solutions that starts lead to on few bags."""
    equations, c = Equations(problem, _COARSE, 0), problem.network.start(problem.task.outputs)
    found: list[Solution] = []
    for start in starts:
        M = start_of(problem, start)
        first = equations.start(M, _NORM, np.array(c, float))
        _add(found, solve(equations, first, tolerance=_ROUGH, slow=not M.any()))
    return found


def _continued(problem: Minimization, state: State) -> Solution:
    return solve(Equations(problem, _COARSE, 0), state, tolerance=_ROUGH)


def _add(known: list[Solution], found: Solution) -> None:
    """Add a solution unless it is known, or is none while another is one."""

    def holds(one: Solution) -> bool:
        return not one.diverged and one.residual < _ROUGH

    if not holds(found) and known:
        return
    if holds(found):
        known[:] = [one for one in known if holds(one)]
    if not any(_same(one, found) for one in known):
        known.append(found)


def _same(first: Solution, second: Solution) -> bool:
    """Whether two solutions on the same bags are one."""
    numbers = np.array([_invariants(one) for one in (first, second)])
    return bool((np.abs(np.diff(numbers, axis=0)) <= _ALIKE * (0.1 + numbers[0])).all())


def _invariants(solution: Solution) -> tuple[float, ...]:
    """Return numbers that an exchange of columns does not change."""
    M, G = solution.order.M, solution.gram
    return float(solution.means.of["loss"]), float((M**2).sum()), float(np.trace(G))


@one_thread()
def _lowest(
    problem: Minimization, rough: Sequence[Solution], tolerance: float
) -> MinimumPrediction:
    """Return the lowest solution to the tolerance, with all that differ on fewer bags.

    Solutions at which replica symmetry is not stable come after others: their objectives are too
    low.
    """
    known: list[_Refined] = []
    for solution in sorted(rough, key=lambda one: _rank(problem, one)):
        one = _refined(problem, solution, _FINE[0], tolerance, slow=len(rough) > 1)
        if any(_alike(one.prediction, other.prediction) for other in known):
            continue
        if any(_coincide(one, other) for other in known):
            one = one._replace(prediction=dataclasses.replace(one.prediction, status=_UNSETTLED))
        known.append(one)
    known.sort(key=lambda one: (one.unsolved, one.prediction.replicon > 1, one.objective))
    best, *others = known
    for size in _FINE[1:]:
        code = best.prediction.status.code
        if not best.open or (code is StatusCode.APPROXIMATE and size > _DECIDING):
            break
        best = _refined(problem, best.found[-1].solution, size, tolerance)
    branches = (best.prediction, *(one.prediction for one in others))
    prediction = best.prediction
    if others and prediction.status.code in (StatusCode.CONVERGED, StatusCode.APPROXIMATE):
        prediction = dataclasses.replace(prediction, status=_of_branches(branches))
    return dataclasses.replace(prediction, branches=branches)


def _rank(problem: Minimization, rough: Solution) -> tuple[bool, float]:
    unstable = not rough.diverged and Equations(problem, _COARSE, 0).replicon(rough.means) > 1
    return unstable, float(rough.means.of["loss"]) + penalty_of(problem, rough)


def _of_branches(branches: Sequence[MinimumPrediction]) -> Status:
    """Return what several solutions mean for an optimiser."""
    remedy = f"The equations have {len(branches)} solutions; an optimiser may end in another."
    first, second = branches[:2]
    apart = second.objective - first.objective
    unknown = 2 * math.hypot(first.errors.objective, second.errors.objective)
    if apart > unknown and not any(one.status.code in _UNKNOWN_OBJECTIVE for one in branches):
        remedy += f" This one is the lowest, by {apart:.2g}."
    else:
        remedy += " Which of them is the lowest is not known."
    return Status(StatusCode.BRANCHES, f"{remedy} See `branches`, and simulate.")


def _alike(first: MinimumPrediction, second: MinimumPrediction) -> bool:
    """Whether two results are one within the errors of the second; heads may be exchanged."""
    for name in ("objective", "training_loss", "test_error"):
        value, error = getattr(second, name), getattr(second.errors, name)
        if abs(getattr(first, name) - value) > 4 * math.sqrt(2) * error + 2e-3 * abs(value):
            return False
    return True


def _coincide(first: _Refined, second: _Refined) -> bool:
    """Whether two solutions are the same one on the bags of some scramble."""
    pairs = zip(first.found, second.found, strict=False)
    return any(_same(one.solution, other.solution) for one, other in pairs)


def _refined(
    problem: Minimization, start: Solution, size: int, tolerance: float, slow: bool = False
) -> _Refined:
    """Return a solution on scrambles of many bags; slowly where there are others to leap to."""
    found: list[_Found] = []
    for count in _SCRAMBLES:
        for scramble in range(len(found), count):
            equations = Equations(problem, size, scramble)
            start = _guarded(equations, start, slow)
            found.append(_outcome(equations, start, scramble))
            if start.diverged:
                return _ended(problem, found, tolerance)
        result = _ended(problem, found, tolerance)
        if not result.open:
            break
    return result


def _guarded(equations: Equations, start: Solution, slow: bool) -> Solution:
    """Return a solution with the proximal operator at its lowest minima.

    Where there is none, it is where the proximal operator follows from the start.
    """
    solution = _near(equations, start, slow)
    for _ in range(0 if equations.problem.convex else _GUARDS):
        if solution.diverged or (x := lowest(equations, solution)) is None:
            break
        again = solve(equations, solution.state, x, tolerance=_SOLVED, most=_MOST, wait=1)
        if again.diverged or again.residual > _SOLVED:
            break
        solution = again
    return solution


def _near(equations: Equations, start: Solution, slow: bool) -> Solution:
    """Return the solution near that of other bags; slowly if steps leap to another one.

    Another one may have columns exchanged or turned: means over scrambles would make no sense.
    """
    if not slow:
        M, solution = start.order.M, solve(equations, start.state, tolerance=_SOLVED, wait=1)
        if np.abs(solution.order.M - M).max() <= _NEAR * (0.1 + np.abs(M).max()):
            return solution
    return solve(equations, start.state, tolerance=_SOLVED, slow=True)


def _outcome(equations: Equations, solution: Solution, scramble: int) -> _Found:
    """Return what weights at a solution do on new bags, and what decides if it is exact."""
    problem, order, c = equations.problem, solution.order, solution.state.c
    gram, loss = solution.gram, float(solution.means.of["loss"])
    names = problem.columns, problem.weights, problem.task.directions
    weights = Weights.of_columns(order.M, gram, c, *names)
    error, replicon, jumps = math.nan, math.nan, np.zeros_like(gram)
    if not solution.diverged:
        error = _test_error(equations, solution, scramble)
        replicon = equations.replicon(solution.means)
        jumps = jumps if problem.convex else jumps_of(equations, solution)
    outcome = MinimumOutcome(error, loss, loss + penalty_of(problem, solution), weights)
    return _Found(solution, outcome, replicon, jumps)


def _test_error(equations: Equations, solution: Solution, scramble: int) -> float:
    """Return the error on as many new bags as the solution has, or a few times more."""
    problem, M, gram = equations.problem, solution.order.M, solution.gram
    along = [[np.eye(len(M.T)), M.T], [M, gram]]  # with rows of xi
    within = np.block(along) if problem.task.sees_noise else gram
    at = M[None], (gram[None], within[None]), solution.state.c[None]
    count = _TESTS * max(equations.size // _FINE[0], 1)
    tests = [
        network_outcome(problem.network, problem.task, *at, count * scramble + i)
        for i in range(count)
    ]
    return float(np.mean([one.test_error[0] for one in tests]))


def penalty_of(problem: Minimization, solution: Solution) -> float:
    """Return what weight decay adds to the loss at a solution."""
    free, c = ~problem.frozen, solution.state.c
    own = float(problem.ridge[free] @ np.diagonal(solution.gram)[free])
    return 0.5 * (own + problem.ridge_c * float(c @ c))


def _means(found: Sequence[_Found]) -> tuple[MinimumOutcome, MinimumOutcome]:
    """Return means over scrambles, and their errors."""
    outcomes = [one.outcome for one in found]
    errors = over_rows(outcomes, stated_error)
    return over_rows(outcomes, functools.partial(np.mean, axis=0)), errors


def _ended(problem: Minimization, found: list[_Found], tolerance: float) -> _Refined:
    """Return the result of a start, with its status."""
    mean, errors = _means(found)
    replicon, jumps = _stability(found)
    status, more = _status(found, errors, (replicon, jumps), tolerance)
    prediction = MinimumPrediction.of(
        mean,
        errors=errors,
        numerical_error=float(errors.test_error),
        susceptibility=np.mean([one.solution.order.V for one in found], axis=0),
        replicon=replicon.value,
        replicon_error=replicon.error,
        jumps=jumps.value,
        jumps_error=jumps.error,
        residual=max(one.solution.residual for one in found),
        iterations=sum(one.solution.iterations for one in found),
        status=status,
    )
    return _Refined(found, prediction, more)


def _stability(found: Sequence[_Found]) -> tuple[_Bounded, _Bounded]:
    """Return what the theory hangs on: the replicon, and the largest share of jumps.

    Scrambles count alike: one that misses rare jumps has the least noise, too.
    """
    replicons, all_jumps = np.array([one.replicon for one in found]), [one.jumps for one in found]
    jumps, noise = np.mean(all_jumps, axis=0), stated_error(np.array(all_jumps))
    at = np.unravel_index(np.argmax(np.abs(jumps) + 2 * noise), jumps.shape)
    return (
        _Bounded("the replicon", replicons.mean(), float(stated_error(replicons)), _STABLE),
        _Bounded("the share of jumps in the response", abs(jumps[at]), float(noise[at]), _JUMPS),
    )


def _status(
    found: Sequence[_Found],
    errors: MinimumOutcome,
    stability: Sequence[_Bounded],
    tolerance: float,
) -> tuple[Status, bool]:
    """Return a status, and whether more bags may give another one."""
    if any(one.solution.diverged for one in found):
        remedy = (
            "The weights run away. Give the further weights a ridge (ridge_c), or larger ridges."
        )
        return Status(StatusCode.NO_LIMIT, remedy), False
    residual = max(one.solution.residual for one in found)
    # Few bags near the end of a minimum may leave no solution closer than by their weight.
    noise = stated_error(np.array([packed(one.solution.state) for one in found])).max()
    if not residual < max(_SOLVED, min(noise, _ROUGH)):
        remedy = f"The equations are not solved (residual {residual:.1e}). Try another start."
        return Status(StatusCode.MAX_ITERATIONS, remedy), False
    remedy = "Real tokens decide: sparsetoken.simulation.minimize."
    if any(one.exceeds for one in stability):
        reasons = " and ".join(str(one) for one in stability if one.exceeds)
        text = f"The theory is not exact here: {reasons}. {remedy}"
        return Status(StatusCode.APPROXIMATE, text), False
    if unknown := [one for one in stability if not one.shown]:
        reasons = " and ".join(map(str, unknown))
        text = f"Whether the theory is exact here is not known: {reasons}. {remedy}"
        return Status(StatusCode.APPROXIMATE, text), _would_decide(stability)
    accuracy = Accuracy("test error", float(errors.test_error), tolerance)
    bags = sum(len(one.solution.means.x) for one in found)
    status = accuracy.status(tolerance, f" with {bags} bags")
    return status, status.code is StatusCode.TOLERANCE_NOT_REACHED


def _would_decide(stability: Sequence[_Bounded]) -> bool:
    """Return whether half the errors would decide if the theory is exact, at these values."""
    halved = [one._replace(error=one.error / 2) for one in stability]
    return any(one.exceeds for one in halved) or all(one.shown for one in halved)
