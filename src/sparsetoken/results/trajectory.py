"""The course of a training, step by step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.results.display import frame, html
from sparsetoken.results.outcomes import Result, Status
from sparsetoken.results.plot import draw_floors, drawing, legend
from sparsetoken.stages import Query
from sparsetoken.validation import choice, integer

Steps = Float[np.ndarray, " states"]


@dataclasses.dataclass(frozen=True, eq=False)
class DescentPath:
    """Weights (w, q, b) and what they are worth, at the start and after each step.

    Attributes
    ----------
    test_error : array of shape (steps + 1,), as all others
        P(y sign(score) < 0) on new data; a score of 0 counts one half.
    training_loss : array
        Mean loss over all samples, without weight decay.
    cosine : array
        <q, xi> / |q|; 0 where q = 0.
    sharpness : array
        k = beta |q|.
    overlap_w, overlap_q : array
        <w, xi> and <q, xi>.
    norm_w, norm_q : array
        |w| and |q|.
    product_wq : array
        <w, q>.
    bias : array
        b.
    """

    test_error: Steps
    training_loss: Steps
    cosine: Steps
    sharpness: Steps
    overlap_w: Steps
    overlap_q: Steps
    norm_w: Steps
    norm_q: Steps
    product_wq: Steps
    bias: Steps

    def __len__(self) -> int:
        return len(self.test_error)

    def query(self, step: int = -1) -> Query:
        """Return the query after a step, the last by default, to train a readout on it.

        Raises
        ------
        InvalidInput
            If there is no such step.
        """
        step = integer("step", step, -1, len(self) - 1)
        return Query(float(np.clip(self.cosine[step], -1, 1)), float(self.sharpness[step]))

    @property
    def best_step(self) -> int:
        """The step with the least test error."""
        return int(np.nanargmin(self.test_error))


QUANTITIES = tuple(field.name for field in dataclasses.fields(DescentPath))


def _records(path: DescentPath) -> list[dict[str, Any]]:
    """Return the quantities of each step as a dict."""
    columns = [getattr(path, name).tolist() for name in QUANTITIES]
    return [
        {"step": step, **dict(zip(QUANTITIES, row, strict=True))}
        for step, row in enumerate(zip(*columns, strict=True))
    ]


def _with_errors(path: DescentPath, errors: DescentPath) -> list[dict[str, Any]]:
    """Return the quantities of each step, and their errors as NAME_error."""
    return [
        {**row, **{f"{name}_error": error[name] for name in QUANTITIES}}
        for row, error in zip(_records(path), _records(errors), strict=True)
    ]


_Course = tuple[np.ndarray, np.ndarray, np.ndarray]  # steps, a quantity, its errors


class _ByStep(Result):
    """Tables, displays and plots of a result with a row for each step."""

    def records(self) -> list[dict[str, Any]]:
        """Return the quantities of each step, their errors as NAME_error."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as lists, with a number for each step."""
        rows = self.records()
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each step."""
        return frame(self.records())

    def _repr_html_(self) -> str:
        rows = [{name: row[name] for name in ("step", *QUANTITIES)} for row in self.records()]
        return html(rows, getattr(self, "advice", ()))

    def plot(self, quantity: str = "test_error", ax: Any = None, **options: Any) -> Any:
        """Draw a quantity over the steps with its error, and return the matplotlib Axes.

        Under the test error that theory predicts it draws the floor, that of the best learner.

        Parameters
        ----------
        quantity : str
            Such as test_error, training_loss or cosine.
        ax : matplotlib Axes, optional
        **options
            Of the lines of matplotlib, such as label and color.

        Raises
        ------
        InvalidInput
            If the quantity is unknown, or matplotlib is not installed.
        """
        choice("quantity", quantity, QUANTITIES)
        columns = self.to_dict()
        values, errors = np.array(columns[quantity]), np.array(columns[f"{quantity}_error"])
        step, floor = np.arange(len(values)), getattr(self, "floor", None)
        with drawing(ax) as ax:
            self._draw(ax, (step, values, errors), options)
            if quantity == "test_error" and floor is not None:
                draw_floors(ax, step, floor()[:1])
            ax.set(xlabel="step", ylabel=quantity.replace("_", " "))
            legend(ax)
        return ax

    def _draw(self, ax: Any, course: _Course, options: dict[str, Any]) -> None:
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, eq=False)
class Trajectory(DescentPath, _ByStep):
    """The course of a training predicted by theory.

    Attributes
    ----------
    errors : DescentPath
        Standard error of each quantity at each step, from independent replicas.
    numerical_error : float
        The largest standard error of the test error over the steps.
    replicas : int
        How many replicas were followed.
    status : Status
        NO_LIMIT if the descent diverges: the steps before that are kept.
    advice : tuple of str
        What to know of the course, with a remedy.
    floor : callable or None
        Computes the test error of the best learner from the same samples, where it is known, as
        an array of one number.
    """

    errors: DescentPath
    numerical_error: float
    replicas: int
    status: Status
    advice: tuple[str, ...] = ()
    floor: Callable[[], np.ndarray] | None = None

    def records(self) -> list[dict[str, Any]]:
        """Return the quantities of each step, their numerical errors as NAME_error."""
        return _with_errors(self, self.errors)

    def _draw(self, ax: Any, course: _Course, options: dict[str, Any]) -> None:
        step, values, errors = course
        (line,) = ax.plot(step, values, **options)
        low, high = values - 2 * errors, values + 2 * errors
        ax.fill_between(step, low, high, color=line.get_color(), alpha=0.2, linewidth=0)


@dataclasses.dataclass(frozen=True, eq=False)
class SimulatedTrajectory(_ByStep):
    """Trials of one training at finite dimension.

    Attributes
    ----------
    trials : tuple of DescentPath
        One for each trial, in order.
    mean, standard_error : DescentPath
        Over trials; standard errors are nan for a single trial.
    status : Status
    """

    trials: tuple[DescentPath, ...]
    mean: DescentPath
    standard_error: DescentPath
    status: Status

    def records(self) -> list[dict[str, Any]]:
        """Return the means of each step, their standard errors as NAME_error."""
        return _with_errors(self.mean, self.standard_error)

    def _draw(self, ax: Any, course: _Course, options: dict[str, Any]) -> None:
        step, values, errors = course
        ax.errorbar(step, values, errors, **{"fmt": "o", "capsize": 2, **options})
