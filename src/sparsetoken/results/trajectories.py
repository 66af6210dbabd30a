"""Courses of several trainings at once."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Int

from sparsetoken.results.outcomes import Result, Status, StatusCode
from sparsetoken.results.plot import draw_floors, drawing, label_of, legend
from sparsetoken.results.table import Table
from sparsetoken.results.trajectory import QUANTITIES, SimulatedTrajectory, Trajectory
from sparsetoken.validation import InvalidInput, choice, integer

Course = TypeVar("Course", Trajectory, SimulatedTrajectory)

_DIVERGED = Status(StatusCode.NO_LIMIT, "The descent diverges before this step.")


@dataclasses.dataclass(frozen=True)
class DescentState(Result):
    """What the weights are worth after one step.

    Attributes
    ----------
    test_error, training_loss, cosine, sharpness, overlap_w, overlap_q : float
        As in the course; nan where it diverged before.
    norm_w, norm_q, product_wq, bias : float
    step : int
    numerical_error : float
        Standard error of the test error.
    status : Status
    """

    test_error: float
    training_loss: float
    cosine: float
    sharpness: float
    overlap_w: float
    overlap_q: float
    norm_w: float
    norm_q: float
    product_wq: float
    bias: float
    step: int
    numerical_error: float
    status: Status


class Trajectories(Table[Course]):
    """One course for each point of the arrays that were given.

    A column, such as ``courses.test_error``, has the common shape of those arrays and a last
    axis with the start and each step; what a course that diverged has not is nan. Tables have
    a row for each point and step.
    """

    def __getattr__(self, name: str) -> np.ndarray:
        """Return a column over points and steps."""
        if name.startswith("_") or name in ("axes", "shape", "rows", "floor"):
            raise AttributeError(name)
        columns = [row.to_dict() for row in self.rows]
        if name not in columns[0]:
            known = ", ".join(columns[0])
            raise AttributeError(f"The results have no column {name!r}, but {known}.")
        states = max(len(one[name]) for one in columns)
        values = np.full((len(columns), states), np.nan)
        for row, one in zip(values, columns, strict=True):
            row[: len(one[name])] = one[name]
        return values.reshape(*self.shape, states)

    @property
    def best_step(self) -> np.ndarray:
        """The step of each course with the least test error."""
        return np.asarray(np.nanargmin(self.test_error, axis=-1))

    def records(self) -> list[dict[str, Any]]:
        """Return axes and quantities of each point and step as a dict."""
        return [{**place, **record} for place, row in self._places() for record in row.records()]

    def after(self, step: int = -1) -> Table[DescentState]:
        """Return the table of what the weights are worth after a step, by default the last.

        Raises
        ------
        InvalidInput
            If there is no such step.
        """
        last = self.test_error.shape[-1] - 1
        step = integer("step", step, -1, last)
        return self._states(np.full(len(self.rows), last if step == -1 else step))

    def at_best_step(self) -> Table[DescentState]:
        """Return the table of what the weights are worth at the best step of each course."""
        return self._states(self.best_step.ravel())

    def _states(self, steps: Int[np.ndarray, " points"]) -> Table[DescentState]:
        rows = [_state(row, int(step)) for row, step in zip(self.rows, steps, strict=True)]
        return Table(self.axes, self.shape, tuple(rows), self.floor)

    def plot(self, quantity: str = "", ax: Any = None, **options: Any) -> Any:
        """Draw a quantity over the steps, a line for each point, and return the matplotlib Axes.

        Under the test error that theory predicts it draws the floor, that of the best learner.
        ``after(step).plot()`` and ``at_best_step().plot()`` draw it over the arrays.

        Parameters
        ----------
        quantity : str
            Such as training_loss or cosine; by default test_error.
        ax : matplotlib Axes, optional
        **options
            Of the lines of matplotlib, such as linestyle.

        Raises
        ------
        InvalidInput
            If the quantity is unknown, there are more than 20 points, or matplotlib is not
            installed.
        """
        name = choice("quantity", quantity or QUANTITIES[0], QUANTITIES)
        if len(self.rows) > _MOST_LINES:
            remedy = "Use after(step).plot() or at_best_step().plot(), or to_frame()."
            raise InvalidInput("points of a plot over steps", "at most 20", len(self.rows), remedy)
        lines = getattr(self, name).reshape(len(self.rows), -1)
        with drawing(ax) as ax:
            for point, line in enumerate(lines):
                ax.plot(np.arange(len(line)), line, label=label_of(self, point), **options)
            if name == "test_error" and self.floor is not None:
                draw_floors(ax, np.arange(lines.shape[1]), self.floor())
            ax.set(xlabel="step", ylabel=name.replace("_", " "))
            legend(ax)
        return ax


_MOST_LINES = 20


def _state(course: Trajectory | SimulatedTrajectory, step: int) -> DescentState:
    """Return the state after a step."""
    records = course.records()
    if step >= len(records):
        nan = dict.fromkeys(QUANTITIES, np.nan)
        return DescentState(**nan, step=step, numerical_error=np.nan, status=_DIVERGED)
    row = records[step]
    values = {name: row[name] for name in QUANTITIES}
    return DescentState(
        **values,
        step=step,
        numerical_error=row["test_error_error"],
        status=course.status,
    )
