"""A grid: an experiment, axes, fixed values; its points and the rows they need."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from sparsetoken.losses import Loss, get_loss
from sparsetoken.sweep.axes import Axis
from sparsetoken.sweep.drawing import Drawing
from sparsetoken.sweep.keys import canonical_text
from sparsetoken.sweep.parameters import (
    EXPERIMENTS,
    QUANTITIES,
    SERIES,
    VERSIONS,
    defaults,
    parameters,
    relevant,
    shape_names,
    uses,
)
from sparsetoken.validation import InvalidInput, choice, integer

__all__ = ["Grid"]


@dataclasses.dataclass(frozen=True)
class Grid:
    """What a sweep computes, checked as a whole except for the values at each point.

    Parameters
    ----------
    experiment : {"alignment", "learning", "capacity"}
        `align`; `predict` and `simulate`; `capacity` and the share of separable sets.
    axes : sequence of Axis
        The points are all combinations of their steps.
    fixed : mapping
        Values of other parameters; what is left out has the default of the command line.
    quantities : sequence
        theory, simulation or both.
    trials : int >= 1
        Simulations at each point: a total, so that raising it adds the missing ones.
    seed : int >= 0
        Of all trials.
    plot : Drawing
        How `plot` shows the sweep; it changes no value.
    losses : mapping
        The losses that are not built in, by their labels. Those that stand in `axes` and `fixed`
        as objects are added, and their labels stand in their places.

    Raises
    ------
    InvalidInput
        Its name is the place in a file, such as ``axes.alpha1``.
    """

    experiment: str
    axes: tuple[Axis, ...]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    quantities: tuple[str, ...] = ("theory",)
    trials: int = 1
    seed: int = 0
    plot: Drawing = dataclasses.field(default_factory=Drawing)
    losses: Mapping[str, Loss] = dataclasses.field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        choice("experiment", self.experiment, EXPERIMENTS)
        self._put("quantities", self._checked_quantities())
        self._put("trials", integer("trials", self.trials, 1))
        self._put("seed", integer("seed", self.seed, 0))
        self._put("axes", tuple(self._checked_axis(axis) for axis in self.axes))
        if not self.axes:
            raise InvalidInput("axes", "one axis or more", "none")
        self._check_clashes()
        known = uses(self.experiment)
        fixed = {}
        for name, value in self.fixed.items():
            where = _known(f"fixed.{name}", name, known, self.experiment)
            fixed[name] = self._typed(where, name, value)
        self._put("fixed", fixed)
        self.plot.check(self.names, self.experiment)

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _checked_quantities(self) -> tuple[str, ...]:
        given = self.quantities
        listed = isinstance(given, (list, tuple)) and given
        if not listed or not set(given) <= set(QUANTITIES) or len(set(given)) < len(given):
            raise InvalidInput("quantities", 'a list of "theory", "simulation" or both', given)
        return tuple(name for name in QUANTITIES if name in given)

    def _checked_axis(self, axis: Axis) -> Axis:
        table = "axes" if len(axis.names) == 1 else "tied"
        needed = uses(self.experiment, self.quantities)
        for name in axis.names:
            where = _known(f"{table}.{name}", name, uses(self.experiment), self.experiment)
            if name not in needed:
                got = f"used by neither of: {', '.join(self.quantities)}"
                raise InvalidInput(where, "a parameter that a wanted quantity depends on", got)
        if not len(axis):
            raise InvalidInput(f"{table}.{axis.names[0]}", "a list of one value or more", [])
        steps = tuple(
            tuple(
                self._typed(f"{table}.{name}", name, value)
                for name, value in zip(axis.names, step, strict=True)
            )
            for step in axis.steps
        )
        if len(set(steps)) < len(steps):
            twice = next(step for i, step in enumerate(steps) if step in steps[:i])
            raise InvalidInput(f"{table}.{axis.names[0]}", "without a value twice", list(twice))
        return Axis(axis.names, steps)

    def _typed(self, where: str, name: str, value: Any) -> Any:
        """Return the value in the type of its parameter, so that 5 and 5.0 are one value."""
        if name == "loss" and isinstance(value, Loss):
            loss = get_loss(value)
            if loss.digest:
                self._put("losses", {**self.losses, loss.label: loss})
            return loss.label
        return _typed(where, name, value)

    def _check_clashes(self) -> None:
        seen: set[str] = set()
        for axis in self.axes:
            table = "axes" if len(axis.names) == 1 else "tied"
            for name in axis.names:
                if name in seen:
                    raise InvalidInput(f"{table}.{name}", "on one axis only", "a second axis")
                seen.add(name)
        for name in self.fixed:
            if name in seen:
                raise InvalidInput(f"fixed.{name}", "either an axis or a fixed value", "both")

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters on axes."""
        return tuple(name for axis in self.axes for name in axis.names)

    @property
    def size(self) -> int:
        """The number of points."""
        return math.prod(len(axis) for axis in self.axes)

    @property
    def most_rows(self) -> int:
        """The number of rows if no two points share one."""
        each = {"theory": 1, "simulation": self.trials}
        return self.size * sum(each[name] for name in self.quantities)

    def where(self, name: str) -> str:
        """Return the place of a parameter in a file, such as ``axes.alpha1``."""
        for axis in self.axes:
            if name in axis.names:
                return f"{'axes' if len(axis.names) == 1 else 'tied'}.{name}"
        return f"fixed.{name}" if name in self.fixed else name

    def text(self) -> str:
        """Return the grid as canonical JSON: the same for the same sweep, however written."""
        axes = [dataclasses.asdict(axis) for axis in self.axes]
        names = ("experiment", "fixed", "quantities", "trials", "seed")
        plain = {name: getattr(self, name) for name in names}
        plain |= {"axes": axes, "plot": dataclasses.asdict(self.plot)}
        return canonical_text(plain | {"version": VERSIONS[self.experiment]})

    @classmethod
    def from_text(cls, text: str) -> Grid:
        """Read what `text` wrote."""
        plain = json.loads(text)
        plain.pop("version")
        axes = [
            Axis(tuple(axis["names"]), tuple(map(tuple, axis["steps"]))) for axis in plain["axes"]
        ]
        drawing = Drawing(**plain["plot"])
        return cls(
            **{**plain, "axes": axes, "quantities": tuple(plain["quantities"]), "plot": drawing}
        )

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the values of the axes at each point; the last axis moves fastest."""
        return _product(self.axes)

    def values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters at a point."""
        given = {**self.fixed, **point}
        return {**defaults(given.get("model", parameters()["model"].default)), **given}

    def rows_of(
        self, point: Mapping[str, Any], quantity: str, trials: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the configurations of the rows that a point needs for one quantity."""
        values = self.values(point)
        names = relevant(self.experiment, quantity, values)
        row = {
            "experiment": self.experiment,
            "version": VERSIONS[self.experiment],
            "quantity": quantity,
            **{name: values[name] for name in names},
        }
        if quantity == "theory":
            return [row]
        count = self.trials if trials is None else trials
        return [{**row, "seed": self.seed, "trial": trial} for trial in range(count)]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the configurations of all rows, those of one shape and of one series together.

        Points that share a row yield it more than once.
        """
        shaping = set(shape_names())
        axes = sorted(
            self.axes,
            key=lambda axis: (not shaping & set(axis.names), set(axis.names) <= set(SERIES)),
        )
        for quantity in self.quantities:
            for point in _product(tuple(axes)):
                yield from self.rows_of(point, quantity)

    def check_points(self, memory_budget: int | None = None) -> None:
        """Raise `InvalidInput` if a point has a value that would be refused.

        The message names the place in the file and the point.
        """
        from sparsetoken.sweep.compute import check

        for quantity in self.quantities:
            for point in self.points():
                try:
                    (row,) = self.rows_of(point, quantity, 1)
                    check(row, self.losses, memory_budget)
                except InvalidInput as error:
                    raise self._placed(error, point) from None

    def _placed(self, error: InvalidInput, point: Mapping[str, Any]) -> InvalidInput:
        name, legal, got, remedy = error.args
        at = ", ".join(f"{key} = {value}" for key, value in point.items())
        where = self.where(str(name).split()[0])
        return InvalidInput(where, legal, got, f"{remedy} So it is at {at}.".lstrip())


def _product(axes: tuple[Axis, ...]) -> Iterator[dict[str, Any]]:
    names = [name for axis in axes for name in axis.names]
    for steps in itertools.product(*(axis.steps for axis in axes)):
        yield dict(zip(names, itertools.chain.from_iterable(steps), strict=True))


def _known(where: str, name: str, known: set[str], experiment: str) -> str:
    if name not in known:
        legal = f"a parameter of the experiment {experiment}: {', '.join(sorted(known))}"
        raise InvalidInput(where, legal, name)
    return where


def _typed(where: str, name: str, value: Any) -> Any:
    """Return the value in the type of its parameter, so that 5 and 5.0 are one value."""
    kind, default = parameters()[name]
    if value is None and default is None:
        return None
    if kind is str and isinstance(value, str):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and number and not math.isnan(value):
        return float(value) + 0.0
    if kind is int and number and value == math.floor(value) < math.inf:
        return int(value)
    legal = {str: "a text", float: "a number", int: "an integer"}[kind]
    raise InvalidInput(where, legal, value)
