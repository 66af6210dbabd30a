"""A grid of settings: the axes, the fixed values, and the call at each point."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.base.validation import InvalidInput, choice, integer, refuse_disguised
from sparsetoken.losses import Loss
from sparsetoken.model.models import MODELS, Attention, Model, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.simulation.setting import Setting
from sparsetoken.sweep.parameters import (
    QUANTITIES,
    RESULTS,
    VERSIONS,
    check_names,
    own,
    parameters,
    typed,
)
from sparsetoken.work import canonical_text, digest

ROLES = ("x", "y", "curves", "value")
Point = dict[str, Any]


class Call(NamedTuple):
    """All that the results at a point depend on, but for the number of a trial."""

    experiment: str
    quantity: str
    versions: tuple[int, int]  # of the experiment and of the model
    problem: SparseTokenProblem
    trained: Any  # TwoSteps, or a Model
    readout: Any  # a Readout, or None
    options: Any  # the tolerance, or the Setting of simulations

    @property
    def key(self) -> str:
        """A hash of the call; points that differ in nothing that matters have the same."""
        return digest(canonical_text(described(tuple(self))))

    @property
    def series(self) -> str:
        """A text that agrees for predictions that one computation gives."""
        if self.readout is None or self.quantity == "simulation":
            return canonical_text(described(tuple(self)))
        return canonical_text(described((*self[:5], self.readout.loss, self.options)))


def described(value: Any) -> Any:
    """Return a value as JSON has it; a loss is its name and a digest of what it computes."""
    if isinstance(value, Loss):
        return value.label
    if isinstance(value, tuple):
        return [described(entry) for entry in value]
    kind: Any = type(value)
    return _described(value) if dataclasses.is_dataclass(kind) else value


def _described(value: Any) -> dict[str, Any]:
    """Return the fields that a sweep can vary: numbers, words, losses and the query of a model."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    kinds = str, int, float, Loss
    kind: Any = type(value)
    for name in own(kind):
        if not isinstance(fields[name], kinds):  # what a word stands for
            fields[name] = vars(value)[name]
    used = {n: described(v) for n, v in fields.items() if n == "query" or isinstance(v, kinds)}
    return {"model": value.name, **used} if isinstance(value, Model) else used


@dataclasses.dataclass(frozen=True)
class Grid:
    """What a sweep computes; `run` checks the values at each point.

    Parameters
    ----------
    experiment : {"alignment", "learning", "capacity"}
        `align`; `predict` and `simulate`; `capacity` and the share of separable sets.
    axes : mapping
        Values of each parameter that varies; the points are all their combinations. Parameters
        that vary together have names joined by +, and a tuple of values at each step.
    fixed : mapping
        Values of other parameters; omitted ones have their default.
    quantities : sequence
        theory, simulation or both.
    trials : int >= 1
        Simulations at each point.
    seed : int >= 0
        The seed of the simulations. All points share their random numbers.
    plot : mapping
        The roles x, y, curves and value of a figure; they change no result.

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
    >>> import numpy as np
    >>> from sparsetoken.sweep import Grid
    >>> axes = {"strength": np.linspace(1, 3, 3), "length+informative": [(4, 1), (10, 3)]}
    >>> Grid("alignment", axes, {"eta_q": 1.0}).size
    6
    """

    experiment: str
    axes: Mapping[str, Any]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    quantities: Sequence[str] = ("theory",)
    trials: int = 1
    seed: int = 0
    plot: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("experiment", self.experiment, RESULTS)
        put = functools.partial(object.__setattr__, self)
        put("quantities", self._checked_quantities())
        put("trials", integer("trials", self.trials, 1))
        put("seed", integer("seed", self.seed, 0))
        named = isinstance(self.axes, Mapping) and all(isinstance(name, str) for name in self.axes)
        if not named or not self.axes:
            remedy = 'Write {"strength": [1.0, 2.0]}, for example.'
            raise InvalidInput("axes", "a dict of parameters and their values", self.axes, remedy)
        if not isinstance(self.fixed, Mapping):
            raise InvalidInput("fixed", "a dict of parameters and their values", self.fixed)
        put("axes", {label: self._values(label, given) for label, given in self.axes.items()})
        put("fixed", {n: self._typed(f"fixed.{n}", n, value) for n, value in self.fixed.items()})
        for number, name in enumerate(self.names):
            if name in self.names[:number]:
                raise InvalidInput(self.where(name), "on one axis only", "a second axis")
            if name in self.fixed:
                raise InvalidInput(f"fixed.{name}", "either an axis or a fixed value", "both")
        for point in self.points(["model"]):
            if "model" in (values := self.values(point)):
                check_names(MODELS[values["model"]])
        check_plot(self.plot, self.steps, self.experiment)

    def _checked_quantities(self) -> tuple[str, ...]:
        given = self.quantities
        listed = isinstance(given, (list, tuple)) and given
        known = listed and all(name in QUANTITIES for name in given)
        if not known or len(set(given)) < len(given):
            raise InvalidInput("quantities", 'a list of "theory", "simulation" or both', given)
        return tuple(name for name in QUANTITIES if name in given)

    def _values(self, label: str, given: Any) -> tuple[Any, ...]:
        """Return the values along an axis, or a tuple of values at each of its steps."""
        names, where = label.split("+"), self.where(label.partition("+")[0])
        refuse_disguised(where, given)
        steps = given.tolist() if isinstance(given, np.ndarray) else given
        if isinstance(steps, str) or not isinstance(steps, Sequence) or not steps:
            raise InvalidInput(where, "a list of one value or more", given)
        rows = [step if len(names) > 1 else (step,) for step in steps]
        if any(not isinstance(row, (list, tuple)) or len(row) != len(names) for row in rows):
            raise InvalidInput(where, f"a list of tuples of {len(names)} values", given)
        for name in names:
            if name not in parameters(self.experiment, self.quantities):
                self._known(self.where(name), name)
                got = f"used by neither of: {', '.join(self.quantities)}"
                legal = "a parameter that a wanted quantity depends on"
                raise InvalidInput(self.where(name), legal, got)
        places = [self.where(name) for name in names]
        checked = tuple(tuple(map(self._typed, places, names, row)) for row in rows)
        if len(set(checked)) < len(checked):
            twice = next(step for i, step in enumerate(checked) if step in checked[:i])
            raise InvalidInput(where, "without repeated values", list(twice))
        return checked if len(names) > 1 else tuple(value for (value,) in checked)

    def _known(self, where: str, name: str) -> Any:
        """Return the declaration of a parameter."""
        known = parameters(self.experiment)
        if name not in known:
            legal = f"a parameter of the experiment {self.experiment}: {', '.join(sorted(known))}"
            raise InvalidInput(where, legal, name)
        return known[name]

    def _typed(self, where: str, name: str, value: Any) -> Any:
        return typed(self._known(where, name), where, value)

    @property
    def steps(self) -> dict[str, tuple[tuple[Any, ...], ...]]:
        """The steps of each axis: a tuple of values, one for each of its parameters."""
        return {
            label: values if "+" in label else tuple((value,) for value in values)
            for label, values in self.axes.items()
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters on axes."""
        return tuple(name for label in self.axes for name in label.split("+"))

    @property
    def size(self) -> int:
        """The number of points."""
        return math.prod(map(len, self.axes.values()))

    @property
    def rows(self) -> dict[str, int]:
        """The number of predictions, and of trials."""
        return {quantity: self.size * self.trials_of(quantity) for quantity in self.quantities}

    def trials_of(self, quantity: str) -> int:
        """Return the number of results at each point."""
        return self.trials if quantity == "simulation" else 1

    def where(self, name: str) -> str:
        """Return the place of a parameter in a file, such as ``axes.alpha1``."""
        for label in self.axes:
            if name in label.split("+"):
                return f"{'tied' if '+' in label else 'axes'}.{name}"
        return f"fixed.{name}" if name in self.fixed else name

    def points(
        self, names: Sequence[str] | None = None, *, corners: bool = False
    ) -> Iterator[Point]:
        """Yield the values of the axes at each point; the last axis moves fastest.

        With names, only the axes of these move; with `corners`, each is at its first or last step.
        """
        moving = [
            steps if names is None or {*names} & {*label.split("+")} else steps[:1]
            for label, steps in self.steps.items()
        ]
        ends = [tuple(dict.fromkeys((some[0], some[-1]))) if corners else some for some in moving]
        for chosen in itertools.product(*ends):
            yield dict(zip(self.names, itertools.chain(*chosen), strict=True))

    def values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters at a point, with the defaults of its model."""
        known, given = parameters(self.experiment), {**self.fixed, **point}
        if "model" in known:
            kind: Any = MODELS[given.get("model", Attention.name)].kind
            known = known | own(kind)
        return {name: declared.default for name, declared in known.items()} | given

    def calls(
        self,
        quantity: str,
        points: Iterable[Point],
        check: Callable[[Call], object] = lambda _: None,
    ) -> Iterator[Call]:
        """Yield the call at each point.

        Raises
        ------
        InvalidInput
            If values are not legal together, or the check refuses a call. It has the point.
        """
        for point in points:
            try:
                call = self._call(self.values(point), quantity)
                check(call)
            except InvalidInput as error:
                name, legal, got, remedy = error.args
                at = ", ".join(f"{n} = {described(value)}" for n, value in point.items())
                remedy = f"{remedy} So it is at {at}.".lstrip()
                raise InvalidInput(self.where(str(name).split()[0]), legal, got, remedy) from None
            yield call

    def _call(self, at: Mapping[str, Any], quantity: str) -> Call:
        trained, readout, options = _made(TwoSteps, at), None, None
        versions = VERSIONS[self.experiment], 1
        if self.experiment != "alignment":
            entry, options = MODELS[at["model"]], at["tolerance"]
            fields = {name: at[name] for name in entry.options if name in at}
            trained = make_model(entry.name, _query(at, trained), **fields)
            versions = versions[0], entry.version
        if self.experiment == "learning":
            readout = _made(Readout, at)
        if quantity == "simulation":
            if self.experiment == "capacity":
                readout = Readout(alpha1=at["alpha1"])
            # The reduced engine has no tokens, and so no type of their numbers.
            dtype = at["dtype"] if at["engine"] == "tensors" else "float64"
            options = Setting(at["dimension"], self.seed, at["engine"], dtype)
        problem = _made(SparseTokenProblem, at)
        return Call(self.experiment, quantity, versions, problem, trained, readout, options)


def _made(kind: Any, at: Mapping[str, Any]) -> Any:
    """Return a value of the parameters at a point; the same one again for the same parameters."""
    return _cached(kind, *(at[name] for name in own(kind)))


@functools.lru_cache(maxsize=4096)
def _cached(kind: type, *values: Any) -> Any:
    return kind(**dict(zip(own(kind), values, strict=True)))


def _query(at: Mapping[str, Any], steps: TwoSteps) -> Query | TwoSteps:
    missing = [name for name in ("cosine", "sharpness") if at[name] is None]
    if len(missing) == 1:
        given = "sharpness" if missing == ["cosine"] else "cosine"
        remedy = "Give both, or neither to find the query by two gradient steps."
        legal = f"given together with {missing[0]}"
        raise InvalidInput(given, legal, f"no {missing[0]}", remedy)
    return steps if missing else Query(at["cosine"], at["sharpness"])


def check_plot(plot: Any, axes: Mapping[str, Any], experiment: str) -> None:
    """Raise `InvalidInput` unless the roles of a figure are of distinct axes, and its value exists.

    The axes have their steps by label.
    """
    if not isinstance(plot, Mapping):
        raise InvalidInput("plot", "a dict of roles and names", plot)
    taken: dict[str, str] = {}
    for role, name in plot.items():
        choice(f"plot.{role}", role, ROLES)
        if not isinstance(name, str):
            raise InvalidInput(f"plot.{role}", "a text", name)
        if role == "value" or not name:
            continue
        label = next((label for label in axes if name in label.split("+")), None)
        if label is None:
            raise InvalidInput(f"plot.{role}", "the name of an axis", name)
        if label in taken:
            raise InvalidInput(f"plot.{role}", f"on another axis than {taken[label]}", name)
        place = label.split("+").index(name)
        if role != "curves" and any(isinstance(s[place], (str, Loss)) for s in axes[label]):
            raise InvalidInput(f"plot.{role}", "a numeric axis", name)
        taken[label] = f"plot.{role}"
    if plot.get("y") and plot.get("curves"):
        raise InvalidInput("plot.curves", "omitted from a heat map (plot.y)", plot["curves"])
    if plot.get("value"):
        choice("plot.value", plot["value"], RESULTS[experiment])
