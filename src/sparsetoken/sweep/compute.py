"""The computation of rows of a sweep: pure functions of their configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sparsetoken import simulation, theory
from sparsetoken.base.validation import InvalidInput, choice, one_line, real
from sparsetoken.losses import Loss, get_loss
from sparsetoken.model.models import MODELS, Model, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.results import Record, StatusCode
from sparsetoken.simulation.alignment import require_query_memory
from sparsetoken.simulation.setting import Engine, Setting
from sparsetoken.simulation.trial import Trial, TrialPlan
from sparsetoken.sweep.definitions import NOTHING, Definitions
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.layout import Row
from sparsetoken.sweep.parameters import (
    CONVERGED,
    FAILED,
    PROBLEM,
    READOUT,
    STEPS,
    defaults,
    series_of,
)

LONGEST_MESSAGE = 2000


class Result(NamedTuple):
    """The numbers of one row, with the status and what to try, or the error of a failed one."""

    values: Mapping[str, float]
    status: str = CONVERGED
    message: str = ""


class Work(NamedTuple):
    """Some rows for one worker, with their number and settings; see `compute`."""

    number: int
    rows: Sequence[Row]
    definitions: Definitions = NOTHING
    memory_budget: int | None = None


def computed(work: Work) -> list[Result]:
    """Compute rows in a worker."""
    return compute(*work[1:])


def compute(
    rows: Sequence[Row],
    definitions: Definitions = NOTHING,
    memory_budget: int | None = None,
) -> list[Result]:
    """Return the results of rows; one whose computation raises an error has status failed.

    One trial may take so many bytes, as counted beforehand; 4 GiB by default.
    """
    series: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        series.setdefault(series_of(row.setting) or str(place), []).append(place)
    found: dict[int, Result] = {}
    for places in series.values():
        some = [rows[place] for place in places]
        found |= zip(places, _tried(some, definitions, memory_budget), strict=True)
    return [found[place] for place in range(len(rows))]


def _tried(rows: Sequence[Row], definitions: Definitions, budget: int | None) -> list[Result]:
    """Return the results of one row, or of rows of one series; each by itself if they fail."""
    try:
        losses = definitions.known().losses
        points = [_Point(row.setting, losses, budget, row.trial) for row in rows]
        experiment = points[0]["experiment"], points[0]["quantity"]
        if experiment == ("learning", "theory"):
            return _predicted_learning(points)
        return [_COMPUTE[experiment](point) for point in points]
    except Exception as error:
        if len(rows) > 1:
            return [result for row in rows for result in _tried([row], definitions, budget)]
        text = one_line(error)[:LONGEST_MESSAGE]
        return [Result({}, FAILED, text)]


def check_points(grid: Grid, memory_budget: int | None = None, *, corners: bool = False) -> None:
    """Raise `InvalidInput` if a point has a value that would be refused.

    The message names the place in the file and the point. With `corners`, only the points are
    looked at where each axis is at its first or last step.
    """
    for point in grid.corners() if corners else grid.points():
        for quantity in grid.quantities:
            try:
                _check(_Point(grid.setting(point, quantity), grid.losses, memory_budget))
            except InvalidInput as error:
                name, legal, got, remedy = error.args
                at = ", ".join(f"{key} = {value}" for key, value in point.items())
                remedy = f"{remedy} So it is at {at}.".lstrip()
                raise InvalidInput(grid.where(str(name).split()[0]), legal, got, remedy) from None


def _check(point: _Point) -> None:
    """Raise `InvalidInput` if `compute` would refuse a point before it begins."""
    if point["quantity"] == "theory":
        real("tolerance", point["tolerance"], 0.0, 1.0, open_low=True, open_high=True)
        _ = point.problem, point.model, point.readout
    elif point["experiment"] == "alignment":
        budget = point.memory_budget
        require_query_memory(point.problem, point.steps, point.setting, budget)
    else:
        _ = point.plan


class _Point:
    """A setting with the default of each parameter that it does not depend on, and a trial."""

    def __init__(
        self,
        setting: Mapping[str, Any],
        losses: Mapping[str, Loss],
        memory_budget: int | None,
        trial: int = 0,
    ) -> None:
        self._values = {**defaults(setting.get("model", "attention")), **setting}
        self._losses, self.memory_budget, self.trial = losses, memory_budget, trial

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def _fields(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: self[name] for name in names} | {"loss": self.loss}

    @property
    def problem(self) -> SparseTokenProblem:
        return SparseTokenProblem(**{name: self[name] for name in PROBLEM})

    @property
    def loss(self) -> Loss:
        """The loss with the label of this setting: one of those given, or a built-in one."""
        label = self["loss"]
        if label in self._losses:
            return self._losses[label]
        if "#" in label:
            legal = "given as an object, for this is the label of a loss that is not built in"
            remedy = "Make the same loss with the same version of JAX, and give it to the grid."
            raise InvalidInput("loss", legal, label, remedy)
        return get_loss(label)

    @property
    def steps(self) -> TwoSteps:
        return TwoSteps(**self._fields(STEPS))

    @property
    def query(self) -> Query | TwoSteps:
        cosine, sharpness = self["cosine"], self["sharpness"]
        if cosine is None and sharpness is None:
            return self.steps
        if cosine is None or sharpness is None:
            name, missing = (
                ("cosine", "sharpness") if sharpness is None else ("sharpness", "cosine")
            )
            remedy = "Give both, or neither to find the query by two gradient steps."
            raise InvalidInput(name, f"given together with {missing}", f"no {missing}", remedy)
        return Query(cosine, sharpness)

    @property
    def model(self) -> Model:
        known = MODELS[choice("model", self["model"], MODELS)].options
        options = {name: self[name] for name in known if name in self._values}
        return make_model(self["model"], self.query, **options)

    @property
    def readout(self) -> Readout:
        return Readout(**self._fields(READOUT))

    @property
    def setting(self) -> Setting:
        return Setting(self["dimension"], self["seed"], self["engine"], self["dtype"])

    @property
    def engine(self) -> Engine:
        return self.setting.start(self.problem, self.trial)

    @property
    def plan(self) -> TrialPlan:
        return TrialPlan(self.problem, self.model, self.readout, self.setting, self.memory_budget)


def _predicted_learning(points: Sequence[_Point]) -> list[Result]:
    """Predict points that differ in ridge and alpha1 alone by one call."""
    first, readouts = points[0], [point.readout for point in points]
    along = Readout(
        readouts[0].loss,
        tuple(readout.ridge for readout in readouts),
        tuple(readout.alpha1 for readout in readouts),
    )
    found = theory.predict(first.problem, first.model, along, tolerance=first["tolerance"])
    return _results(found)


def _predicted(point: _Point) -> Result:
    if point["experiment"] == "alignment":
        return _results(theory.align(point.problem, point.steps))[0]
    tolerance = point["tolerance"]
    return _results(theory.capacity(point.problem, point.model, tolerance=tolerance))[0]


def _results(found: Record) -> list[Result]:
    """Return the result at each point; the parameters that vary are columns of the rows anyway."""
    rows = []
    for record in found.records():
        values = {name: value for name, value in record.items() if name not in found.coords}
        status, message = values.pop("status"), values.pop("message")
        rows.append(Result(values, str(status), message))
    return rows


def _simulated_alignment(point: _Point) -> Result:
    found = point.engine.train_query(point.steps)
    names = ("overlap", "norm", "readout_cosine")
    values = {"cosine": found.query.cosine, "sharpness": found.query.sharpness}
    values |= {name: getattr(found, name) for name in names}
    return Result(values)


def _simulated_learning(point: _Point) -> Result:
    trial = point.plan.run(point.trial)
    values = trial.outcome.to_dict()
    if point.model.query is None:
        for name in ("cosine", "sharpness", "readout_cosine"):
            del values[name]
    return Result(values, *_status(trial))


def _status(trial: Trial) -> tuple[str, str]:
    if trial.one_class:
        remedy = "D1 holds one class only; raise alpha1 or the dimension."
        return str(StatusCode.NO_LIMIT), remedy
    if trial.reason:
        remedy = f"The readout did not converge ({trial.reason}); raise the ridge."
        return str(StatusCode.TOLERANCE_NOT_REACHED), remedy
    return CONVERGED, ""


def _simulated_capacity(point: _Point) -> Result:
    drawn = point.plan.draw(point.trial)
    separable = simulation.is_separable(drawn.design.features, drawn.design.labels)
    return Result({"separable": float(separable)})


_COMPUTE = {
    ("alignment", "theory"): _predicted,
    ("capacity", "theory"): _predicted,
    ("alignment", "simulation"): _simulated_alignment,
    ("learning", "simulation"): _simulated_learning,
    ("capacity", "simulation"): _simulated_capacity,
}
