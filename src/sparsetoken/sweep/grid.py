"""A grid of settings: the axes, the fixed values, and the call at each point."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.base.validation import InvalidInput, choice, integer, refuse_disguised
from sparsetoken.losses import Loss
from sparsetoken.model.models import MODELS, Attention, Model, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.simulation.alignment import AlignmentPlan
from sparsetoken.simulation.setting import Setting
from sparsetoken.simulation.trial import TrialPlan
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


class Call(NamedTuple):
    """All that a result depends on, and a hash of it but for the number of the trial."""

    experiment: str
    quantity: str
    versions: tuple[int, int]  # of the experiment and of the model
    problem: SparseTokenProblem
    trained: Any  # TwoSteps, or a Model
    readout: Any  # a Readout, or None
    options: Any  # the tolerance, or the Setting of simulations
    key: str = ""
    trial: int = 0

    @property
    def name(self) -> str:
        """The name of the result; points that differ in nothing that matters have the same."""
        return f"{self.key}.{self.trial}"

    @property
    def series(self) -> str:
        """A text that agrees for results that are computed together."""
        if self.readout is None or self.quantity == "simulation":
            return self.key
        return canonical_text(described((*self[:5], self.readout.loss, self.options)))

    def plan(self) -> TrialPlan | None:
        """Return how trials with a readout run; `InvalidInput` if trials are too large."""
        if self.quantity == "theory":
            return None
        if self.experiment == "alignment":
            AlignmentPlan(self.problem, self.trained, self.options)
            return None
        return TrialPlan(self.problem, self.trained, self.readout, self.options)


def described(value: Any) -> Any:
    """Return a value as JSON: of a class what a sweep can vary, of a loss its label."""
    if isinstance(value, Loss):
        return value.label
    if isinstance(value, tuple):
        return [described(entry) for entry in value]
    if not dataclasses.is_dataclass(value):
        return value
    fields = {field.name: vars(value)[field.name] for field in dataclasses.fields(value)}
    kinds = str, int, float, Loss
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
        given = self.quantities if isinstance(self.quantities, (list, tuple)) else ()
        quantities = tuple(name for name in QUANTITIES if name in given)
        if not quantities or len(quantities) < len(given):
            legal = 'a list of "theory", "simulation" or both'
            raise InvalidInput("quantities", legal, self.quantities)
        for name, table in (("axes", self.axes), ("fixed", self.fixed)):
            named = isinstance(table, Mapping) and all(isinstance(key, str) for key in table)
            if not named or (name == "axes" and not table):
                remedy = 'Write {"strength": [1.0, 2.0]}, for example.'
                raise InvalidInput(name, "a dict of parameters and their values", table, remedy)
        put = functools.partial(object.__setattr__, self)
        put("quantities", quantities)
        put("trials", integer("trials", self.trials, 1))
        put("seed", integer("seed", self.seed, 0))
        put("axes", {label: self._values(label, given) for label, given in self.axes.items()})
        every = {n: (self.experiment, QUANTITIES, f"fixed.{n}", n) for n in self.fixed}
        put("fixed", {n: typed(*every[n], value) for n, value in self.fixed.items()})
        names = [*self.names, *self.fixed]
        for number, name in enumerate(names):
            if name in names[:number]:
                place = f"fixed.{name}" if name in self.fixed else self.where(name)
                raise InvalidInput(place, "either on one axis or fixed", "a second time")
        check_plot(self.plot, self.steps, self.experiment)

    def _values(self, label: str, given: Any) -> tuple[Any, ...]:
        """Return the values along an axis, or a tuple of values at each of its steps."""
        names = label.split("+")
        places = [self.where(name) for name in names]
        refuse_disguised(places[0], given)
        steps = given.tolist() if isinstance(given, np.ndarray) else given
        if isinstance(steps, str) or not isinstance(steps, Sequence) or not steps:
            raise InvalidInput(places[0], "a list of one value or more", given)
        rows = [step if len(names) > 1 else (step,) for step in steps]
        if any(not isinstance(row, (list, tuple)) or len(row) != len(names) for row in rows):
            raise InvalidInput(places[0], f"a list of tuples of {len(names)} values", given)
        check = functools.partial(typed, self.experiment, self.quantities)
        checked = [tuple(map(check, places, names, row)) for row in rows]
        if len(set(checked)) < len(checked):
            twice = next(row for number, row in enumerate(checked) if row in checked[:number])
            raise InvalidInput(places[0], "without repeated values", list(twice))
        return tuple(row if len(names) > 1 else row[0] for row in checked)

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

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the values of the axes at each point; the last axis moves fastest."""
        for chosen in itertools.product(*self.steps.values()):
            yield dict(zip(self.names, itertools.chain(*chosen), strict=True))

    def values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters at a point, with the defaults of its model."""
        known, given = parameters(self.experiment), {**self.fixed, **point}
        if "model" in known:
            kind: Any = MODELS[given.get("model", Attention.name)].kind
            known = known | own(kind)
        return {name: declared.default for name, declared in known.items()} | given

    def calls(self, quantity: str) -> Iterator[Call]:
        """Yield the call at each point.

        Raises
        ------
        InvalidInput
            If values are not legal together, or trials are too large. It has the point.
        """
        for point in self.points():
            try:
                call = self._call(self.values(point), quantity)
                call.plan()
            except InvalidInput as error:
                name, legal, got, remedy, *keywords = error.args
                remedy = remedy.format(*keywords) if keywords else remedy
                at = ", ".join(f"{n} = {described(value)}" for n, value in point.items())
                remedy = f"{remedy} So it is at {at}.".lstrip()
                raise InvalidInput(self.where(str(name).split()[0]), legal, got, remedy) from None
            yield call._replace(key=digest(canonical_text(described(call[:7]))))

    def _call(self, at: Mapping[str, Any], quantity: str) -> Call:
        trained, readout, options = _made(TwoSteps, at), None, None
        versions = VERSIONS[self.experiment], 1
        if self.experiment != "alignment":
            entry, options = MODELS[at["model"]], at["tolerance"]
            check_names(entry)
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
    given = [name for name in ("cosine", "sharpness") if at[name] is not None]
    if len(given) == 1:
        remedy = "Without both the query is found by two gradient steps."
        raise InvalidInput(given[0], "given with both of cosine and sharpness", "one", remedy)
    return Query(at["cosine"], at["sharpness"]) if given else steps


def check_plot(plot: Any, axes: Mapping[str, Any], experiment: str) -> None:
    """Raise `InvalidInput` unless the roles of a figure are of distinct axes, and its value exists.

    The axes have their steps by label.
    """
    if not isinstance(plot, Mapping):
        raise InvalidInput("plot", "a dict of roles and names", plot)
    taken: list[str] = []
    for role, name in plot.items():
        choice(f"plot.{role}", role, ROLES)
        if role == "value":
            choice("plot.value", name, RESULTS[experiment])
            continue
        label = next((label for label in axes if name in label.split("+")), None)
        if label is None or label in taken:
            raise InvalidInput(f"plot.{role}", "the name of an axis, each of another", name)
        place = label.split("+").index(name)
        if role != "curves" and any(isinstance(s[place], (str, Loss)) for s in axes[label]):
            raise InvalidInput(f"plot.{role}", "a numeric axis", name)
        taken.append(label)
    if "y" in plot and "curves" in plot:
        raise InvalidInput("plot.curves", "omitted from a heat map (plot.y)", plot["curves"])
