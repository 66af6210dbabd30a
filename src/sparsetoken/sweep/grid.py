"""A grid: an experiment, axes and fixed values, with its points and results."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparsetoken.base.validation import InvalidInput, choice, integer
from sparsetoken.losses import Loss, get_loss
from sparsetoken.model.models import MODELS
from sparsetoken.sweep.axes import Axis
from sparsetoken.sweep.definitions import outside_models
from sparsetoken.sweep.parameters import (
    EXPERIMENTS,
    QUANTITIES,
    RESULTS,
    VERSIONS,
    canonical_text,
    defaults,
    parameters,
    relevant,
    typed,
    uses,
)

RESERVED = {
    *("experiment", "version", "model_version", "quantity", "seed", "trial", "result"),
    *("status", "key", "message", "seconds", "computed_with"),
}
"""The names that a store has for itself, which no field of a model can have."""

RENAME = "Sweeps have that name for something else: rename the field."


@dataclasses.dataclass(frozen=True)
class Drawing:
    """The roles of the axes in a figure; "" selects them automatically.

    Attributes
    ----------
    x, y : str
        Numeric parameters; with y the figure is a heat map.
    curves : str
        The parameter that has a curve for each value.
    value : str
        The result that is drawn, such as test_error.

    See Also
    --------
    Grid : Holds it.

    Examples
    --------
    >>> from sparsetoken.sweep import Drawing, Grid, linear
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], plot=Drawing(x="strength"))
    >>> grid.plot.x
    'strength'
    """

    x: str = ""
    y: str = ""
    curves: str = ""
    value: str = ""

    def check(self, grid: Grid) -> None:
        """Raise `InvalidInput` unless the places are distinct axes and the value exists."""
        taken: dict[str, str] = {}
        for place in ("x", "y", "curves"):
            name = getattr(self, place)
            if name == "":
                continue
            if name not in grid.names:
                raise InvalidInput(f"plot.{place}", "the name of an axis", name)
            label = grid.axis(name).label
            if label in taken:
                legal = f"on another axis than {taken[label]}"
                raise InvalidInput(f"plot.{place}", legal, name)
            if place != "curves" and parameters()[name].number is None:
                raise InvalidInput(f"plot.{place}", "a numeric axis", name)
            taken[label] = f"plot.{place}"
        if self.y and self.curves:
            raise InvalidInput("plot.curves", "omitted from a heat map (plot.y)", self.curves)
        if self.value and self.value not in RESULTS[grid.experiment]:
            legal = f"one of {', '.join(RESULTS[grid.experiment])}"
            raise InvalidInput("plot.value", legal, self.value)


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
        Values of other parameters; omitted ones have their default.
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
        The versions of the experiment and of models that are not part of the package, on which
        results depend; by default the present ones.

    Raises
    ------
    InvalidInput
        Its name is the place in a file, such as ``axes.alpha1``.

    See Also
    --------
    run : Computes what is missing.
    read_spec : A grid from a file.

    Examples
    --------
    >>> from sparsetoken.sweep import Grid, linear
    >>> Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4}).quantities
    ('theory',)
    """

    experiment: str
    axes: Sequence[Axis]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    quantities: Sequence[str] = ("theory",)
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
        self.plot.check(self)
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
        for name in set(axis.names) - uses(self.experiment, tuple(self.quantities)):
            got = f"used by neither of: {', '.join(self.quantities)}"
            legal = "a parameter that a wanted quantity depends on"
            raise InvalidInput(f"{axis.table}.{name}", legal, got)
        where = f"{axis.table}.{axis.names[0]}"
        if not steps:
            raise InvalidInput(where, "a list of one value or more", [])
        if len(set(steps)) < len(steps):
            twice = next(step for i, step in enumerate(steps) if step in steps[:i])
            raise InvalidInput(where, "without repeated values", list(twice))
        return Axis(axis.names, steps)

    def _typed(self, table: str, name: str, value: Any) -> Any:
        """Return the value in the type of its parameter, so that 5 and 5.0 are one value."""
        where, known = f"{table}.{name}", uses(self.experiment)
        if name not in known:
            legal = f"a parameter of the experiment {self.experiment}: {', '.join(sorted(known))}"
            raise InvalidInput(where, legal, name)
        if name == "model":
            remedy = "Register your own model with sparsetoken.model.register."
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
        for name in (name for entry in entries for name in entry.options):
            if name in RESERVED or name.startswith(QUANTITIES):
                raise InvalidInput("model", "one without this field", name, RENAME)
        return {entry.name: entry.version for entry in entries} | {
            self.experiment: VERSIONS[self.experiment]
        }

    @property
    def models(self) -> set[str]:
        """The names of the models; empty if the experiment has none."""
        if "model" not in uses(self.experiment):
            return set()
        if "model" not in self.names:
            return {self.fixed.get("model", parameters()["model"].default)}
        axis = self.axis("model")
        return {step[axis.names.index("model")] for step in axis.steps}

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters on axes."""
        return tuple(name for axis in self.axes for name in axis.names)

    def axis(self, name: str) -> Axis:
        """Return the axis that a parameter is on."""
        return next(axis for axis in self.axes if name in axis.names)

    @property
    def size(self) -> int:
        """The number of points."""
        return math.prod(len(axis) for axis in self.axes)

    @property
    def rows(self) -> dict[str, int]:
        """The number of predictions, and of trials."""
        each = {"theory": 1, "simulation": self.trials}
        return {quantity: self.size * each[quantity] for quantity in self.quantities}

    def where(self, name: str) -> str:
        """Return the place of a parameter in a file, such as ``axes.alpha1``."""
        if name in self.names:
            return f"{self.axis(name).table}.{name}"
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
        axes = [Axis(tuple(a["names"]), tuple(map(tuple, a["steps"]))) for a in plain["axes"]]
        return cls(**{**plain, "axes": axes, "plot": Drawing(**plain["plot"])})

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the values of the axes at each point; the last axis moves fastest."""
        return combinations(self.axes, [axis.steps for axis in self.axes])

    def values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters at a point."""
        given = {**self.fixed, **point}
        return {**defaults(given.get("model", parameters()["model"].default)), **given}

    def setting(self, point: Mapping[str, Any], quantity: str) -> dict[str, Any]:
        """Return what a result at a point depends on, but for the number of a trial.

        Points that differ in nothing that matters have the same setting.
        """
        values = self.values(point)
        found = {
            "experiment": self.experiment,
            "version": self.versions[self.experiment],
            "quantity": quantity,
            **{name: values[name] for name in relevant(self.experiment, quantity, values)},
        }
        if found.get("model") in self.versions:
            found["model_version"] = self.versions[found["model"]]
        return found | ({"seed": self.seed} if quantity == "simulation" else {})

    def corners(self) -> Iterator[dict[str, Any]]:
        """Yield the points where each axis is at its first or last step."""
        ends = [dict.fromkeys((axis.steps[0], axis.steps[-1])) for axis in self.axes]
        return combinations(self.axes, [list(steps) for steps in ends])


def combinations(
    axes: Sequence[Axis], steps: Sequence[Sequence[tuple[Any, ...]]]
) -> Iterator[dict[str, Any]]:
    """Yield the values at all combinations of steps of the axes; the last axis moves fastest."""
    names = [name for axis in axes for name in axis.names]
    for chosen in itertools.product(*steps):
        yield dict(zip(names, itertools.chain.from_iterable(chosen), strict=True))
