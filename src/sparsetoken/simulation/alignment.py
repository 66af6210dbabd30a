"""Stages 1-3 at finite dimension: the query found by two gradient steps."""

from __future__ import annotations

import dataclasses
import os

from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import TwoSteps, require_steps
from sparsetoken.model.tokens import check_dimension
from sparsetoken.model.values import broadcast
from sparsetoken.results import FoundQuery, Simulation
from sparsetoken.simulation.parallel import Trial, simulated
from sparsetoken.simulation.setting import Setting, dimension_of
from sparsetoken.simulation.sizes import require_size


@dataclasses.dataclass(frozen=True)
class AlignmentPlan:
    """All that determines the distribution of a trial."""

    problem: SparseTokenProblem
    steps: TwoSteps
    setting: Setting

    def __post_init__(self) -> None:
        check_dimension(self.problem.tokens, self.setting.dimension)
        numbers = self.setting.query_numbers(self.problem, self.steps)
        require_size(numbers, self.setting.dimension, self.problem.length, "alpha0")

    def run(self, trial: int) -> Trial[FoundQuery]:
        """Run one trial; its seed is a function of the seed and its number."""
        found = self.setting.start(self.problem, trial).train_query(self.steps)
        return Trial(
            FoundQuery(found.query.cosine, found.overlap, found.norm, found.readout_cosine)
        )


def align(
    problem: SparseTokenProblem,
    steps: TwoSteps = TwoSteps(),
    *,
    dimension: int | None = None,
    trials: int = 8,
    seed: int = 0,
    engine: str = "reduced",
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Simulation[FoundQuery]:
    """Run stages 1-3 at finite dimension.

    Parameters
    ----------
    problem, steps, dimension, trials, seed, engine, workers, keep
        As for `simulate`, arrays included. The reduced engine needs memory for n0 scalars only.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Simulation
        With `mean`, `standard_error` and `trials`.

    Raises
    ------
    InvalidInput
        If a value is illegal, or an array of a trial would exceed 2 GiB.

    See Also
    --------
    sparsetoken.align : The same in the limit of high dimension.
    sparsetoken.simulate : The same experiment at finite dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = st.simulation.align(problem, st.TwoSteps(alpha0=1.0), dimension=200, trials=2)
    >>> bool(0 < found.standard_error.cosine < found.mean.cosine)
    True
    """
    require_steps(steps)
    require_problem(problem)
    setting = Setting(dimension_of(problem, dimension), seed, engine)
    grid = broadcast(problem, steps)
    plans = [AlignmentPlan(at, of, setting) for at, of in grid.points]
    return simulated(
        plans,
        grid,
        trials,
        call=["align at finite dimension"],
        workers=workers,
        keep=keep,
        progress=progress,
    )
