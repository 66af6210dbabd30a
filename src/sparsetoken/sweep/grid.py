"""A grid: an experiment, axes, fixed values; its points and the rows they need."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from sparsetoken.losses import Loss, get_loss
from sparsetoken.models import MODELS
from sparsetoken.sweep.axes import Axis
from sparsetoken.sweep.definitions import outside_models
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
    typed,
    uses,
)
from sparsetoken.validation import InvalidInput, choice, integer


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
        Values of other parameters; what is left out has its default.
    quantities : sequence
        theory, simulation or both.
    trials : int >= 1
        Simulations at each point: a total, so that raising it adds the missing ones.
    seed : int >= 0
        The seed of the simulations. All points share their random numbers.
    plot : Drawing
        How `plot` shows the sweep; it changes no value.
    losses : mapping
        The losses that are not built in, by their labels. Those that stand in `axes` and `fixed`
        as objects are added, and their labels stand in their places.
    versions : mapping
        The versions of the experiment and of models that are not part of the package, which
        belong to the keys of rows; by default the present ones.

    Raises
    ------
    InvalidInput
        Its name is the place in a file, such as ``axes.alpha1``.

    Examples
    --------
    >>> from sparsetoken.sweep import Grid, linear
    >>> Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4}).quantities
    ('theory',)
    """

    experiment: str
    axes: tuple[Axis, ...]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    quantities: tuple[str, ...] = ("theory",)
    trials: int = 1
    seed: int = 0
    plot: Drawing = dataclasses.field(default_factory=Drawing)
    losses: Mapping[str, Loss] = dataclasses.field(default_factory=dict, compare=False)
    versions: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("experiment", self.experiment, EXPERIMENTS)
        self._put("quantities", self._checked_quantities())
        self._put("trials", integer("trials", self.trials, 1))
        self._put("seed", integer("seed", self.seed, 0))
        if not isinstance(self.axes, (list, tuple)) or any(type(a) is not Axis for a in self.axes):
            remedy = 'Write [linear("strength", 1, 3, 3)], for example.'
            raise InvalidInput("axes", "a list of axes", self.axes, remedy)
        if not isinstance(self.fixed, Mapping):
            raise InvalidInput("fixed", "a dict of parameters and their values", self.fixed)
        self._put("axes", tuple(self._checked_axis(axis) for axis in self.axes))
        if not self.axes:
            raise InvalidInput("axes", "one axis or more", "none")
        fixed = {name: self._typed("fixed", name, value) for name, value in self.fixed.items()}
        self._put("fixed", fixed)
        self._check_clashes()
        self.plot.check(self.names, self.experiment)
        self._put("versions", self._present_versions() | dict(self.versions))

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _checked_quantities(self) -> tuple[str, ...]:
        given = self.quantities
        listed = isinstance(given, (list, tuple)) and given
        known = listed and all(name in QUANTITIES for name in given)
        if not known or len(set(given)) < len(given):
            raise InvalidInput("quantities", 'a list of "theory", "simulation" or both', given)
        return tuple(name for name in QUANTITIES if name in given)

    def _checked_axis(self, axis: Axis) -> Axis:
        steps = tuple(
            tuple(
                self._typed(axis.table, name, value)
                for name, value in zip(axis.names, step, strict=True)
            )
            for step in axis.steps
        )
        for name in set(axis.names) - uses(self.experiment, self.quantities):
            got = f"used by neither of: {', '.join(self.quantities)}"
            legal = "a parameter that a wanted quantity depends on"
            raise InvalidInput(f"{axis.table}.{name}", legal, got)
        where = f"{axis.table}.{axis.names[0]}"
        if not steps:
            raise InvalidInput(where, "a list of one value or more", [])
        if len(set(steps)) < len(steps):
            twice = next(step for i, step in enumerate(steps) if step in steps[:i])
            raise InvalidInput(where, "without a value twice", list(twice))
        return Axis(axis.names, steps)

    def _typed(self, table: str, name: str, value: Any) -> Any:
        """Return the value in the type of its parameter, so that 5 and 5.0 are one value."""
        where, known = f"{table}.{name}", uses(self.experiment)
        if name not in known:
            legal = f"a parameter of the experiment {self.experiment}: {', '.join(sorted(known))}"
            raise InvalidInput(where, legal, name)
        if name == "model":
            remedy = "A model of your own is made known by sparsetoken.models.register."
            return choice(where, value, MODELS, remedy)
        if isinstance(value, Loss) and name == "loss":
            if get_loss(value).digest:
                self._put("losses", {**self.losses, value.label: value})
            return value.label
        return typed(parameters()[name], where, value)

    def _check_clashes(self) -> None:
        seen: set[str] = set()
        for axis in self.axes:
            for name in axis.names:
                if name in seen:
                    raise InvalidInput(f"{axis.table}.{name}", "on one axis only", "a second axis")
                seen.add(name)
        for name in seen & set(self.fixed):
            raise InvalidInput(f"fixed.{name}", "either an axis or a fixed value", "both")

    def _present_versions(self) -> dict[str, int]:
        entries = outside_models(self.models)
        return {entry.name: entry.version for entry in entries} | {
            self.experiment: VERSIONS[self.experiment]
        }

    @property
    def models(self) -> set[str]:
        """The names of the models; empty if the experiment has none."""
        if "model" not in uses(self.experiment):
            return set()
        swept = {
            step[axis.names.index("model")]
            for axis in self.axes
            if "model" in axis.names
            for step in axis.steps
        }
        return swept or {self.fixed.get("model", parameters()["model"].default)}

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
                return f"{axis.table}.{name}"
        return f"fixed.{name}" if name in self.fixed else name

    def text(self) -> str:
        """Return the grid as canonical JSON: the same for the same sweep, however written."""
        names = ("experiment", "fixed", "quantities", "trials", "seed", "versions")
        plain = {name: getattr(self, name) for name in names}
        plain["axes"] = [dataclasses.asdict(axis) for axis in self.axes]
        plain["plot"] = dataclasses.asdict(self.plot)
        return canonical_text(plain)

    @classmethod
    def from_text(cls, text: str) -> Grid:
        """Read what `text` wrote; losses of one's own are there by their labels alone."""
        plain = json.loads(text)
        plain["axes"] = [
            Axis(tuple(axis["names"]), tuple(map(tuple, axis["steps"]))) for axis in plain["axes"]
        ]
        plain["quantities"] = tuple(plain["quantities"])
        plain["plot"] = Drawing(**plain["plot"])
        return cls(**plain)

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the values of the axes at each point; the last axis moves fastest."""
        return _product(self.axes)

    def point(self, place: int) -> dict[str, Any]:
        """Return the point at a place from 0 to ``size - 1`` in the order of `points`."""
        return _point(self.axes, place)

    def series_points(self, point: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
        """Return points that differ from this one in the parameters of a series alone.

        Not more than `most` of them, spread evenly.
        """
        free = tuple(axis for axis in self.axes if set(axis.names) <= set(SERIES))
        size = math.prod(len(axis) for axis in free)
        return [{**point, **_point(free, i)} for i in range(0, size, -(-size // most))]

    def edge_points(self) -> Iterator[dict[str, Any]]:
        """Yield the points where all axes but one are at their first or last step.

        A point may come more than once.
        """
        ends = [Axis(axis.names, (axis.steps[0], axis.steps[-1])) for axis in self.axes]
        for i, axis in enumerate(self.axes):
            yield from _product((*ends[:i], axis, *ends[i + 1 :]))

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
            "version": self.versions[self.experiment],
            "quantity": quantity,
            **{name: values[name] for name in names},
        }
        if row.get("model") in self.versions:
            row["model_version"] = self.versions[row["model"]]
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

    def check_points(self, memory_budget: int | None = None, *, edges: bool = False) -> None:
        """Raise `InvalidInput` if a point has a value that would be refused.

        The message names the place in the file and the point. With `edges`, only the points
        of `edge_points` are looked at.
        """
        from sparsetoken.sweep.compute import check

        for quantity in self.quantities:
            for point in self.edge_points() if edges else self.points():
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


def _point(axes: tuple[Axis, ...], place: int) -> dict[str, Any]:
    point: dict[str, Any] = {}
    for axis in reversed(axes):
        place, step = divmod(place, len(axis))
        point = dict(zip(axis.names, axis.steps[step], strict=True)) | point
    return point


def _product(axes: tuple[Axis, ...]) -> Iterator[dict[str, Any]]:
    names = [name for axis in axes for name in axis.names]
    for steps in itertools.product(*(axis.steps for axis in axes)):
        yield dict(zip(names, itertools.chain.from_iterable(steps), strict=True))
