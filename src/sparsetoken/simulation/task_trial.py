"""One trial of a readout on a task: real tokens, a given query, a fit, new bags."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import integer, real
from sparsetoken.model.base import Problem
from sparsetoken.model.frozen import frozen
from sparsetoken.model.models import Model, require_model
from sparsetoken.model.stages import Readout, require_readout
from sparsetoken.model.values import require_numbers
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.results import CONVERGED, Status, StatusCode, TaskOutcome, Weights
from sparsetoken.simulation.descent_data import Chunk
from sparsetoken.simulation.frames import training_size
from sparsetoken.simulation.network_scores import metric_sum
from sparsetoken.simulation.parallel import Trial
from sparsetoken.simulation.performance import DRAWS
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.setting import LARGEST, Setting
from sparsetoken.simulation.sizes import chunk_rows, chunk_sizes, require_size
from sparsetoken.simulation.tensors import TensorEngine


@dataclasses.dataclass(frozen=True)
class TaskPlan:
    """All that determines the distribution of a trial on a task."""

    problem: Problem
    model: Model
    readout: Readout
    setting: Setting

    def __post_init__(self) -> None:
        require_model(self.model)
        require_readout(self.readout)
        require_numbers(self.problem, self.model, self.readout)
        alpha1 = real(
            "alpha1 (n1/d)", self.readout.alpha1, 0.0, remedy="A simulation needs finite data."
        )
        task, _ = self._frozen
        remedy = "The directions and the rest of the query take one each."
        least = len(task.directions) + 1
        d = integer("dimension (d)", self.setting.dimension, least, LARGEST, remedy)
        require_size(max(training_size(alpha1, d), task.length) * d, d, task.length, "alpha1")

    @functools.cached_property
    def _frozen(self) -> tuple[Problem, np.ndarray | None]:
        return frozen(self.problem, self.model, self.readout.loss)

    def run(self, trial: int) -> Trial[TaskOutcome]:
        """Run one trial; its seed is a function of the seed and its number."""
        (task, q), readout = self._frozen, self.readout
        engine = self.setting.start(task, trial, "task")
        assert isinstance(engine, TensorEngine)
        axes = _axes(engine.signals, stream(engine.seed, Stream.QUERY))
        n = training_size(readout.alpha1, self.setting.dimension)
        F, y = self._features(engine.chunks(Stream.D1, n), None if q is None else q @ axes)
        fit = fit_readout(F, y, readout.loss, readout.ridge)
        # New tokens are needed along the axes and the rest of w alone.
        w = axes @ fit.w
        w = np.append(w, np.linalg.norm(fit.w - w @ axes))
        bags = _new_bags(task, len(w), stream(engine.seed, Stream.TEST))
        new, targets = self._features(bags, None if q is None else np.append(q, 0.0))
        error = metric_sum(task.metric, (new @ w + fit.b)[:, None], targets, 1) / len(targets)
        loss = float(np.mean(readout.loss.value(y, fit.scores)))
        columns = w[None] if q is None else np.stack([np.append(q, 0.0), w])
        names = ("q", "w")[-len(columns) :], ("b",), task.directions
        overlaps = columns[:, : len(task.directions)]
        weights = Weights.of_columns(overlaps, columns @ columns.T, np.array([fit.b]), *names)
        status = CONVERGED
        if fit.reason:
            what = f"the readout did not converge ({fit.reason}); raise the ridge."
            status = Status(StatusCode.TOLERANCE_NOT_REACHED, what)
        return Trial(TaskOutcome(error, loss, weights), status)

    def _features(
        self, chunks: Iterable[Chunk], q: Float[np.ndarray, " d"] | None
    ) -> tuple[Float[np.ndarray, "n d"], np.ndarray]:
        """Return the features of tokens under a query, and the targets."""
        features, targets = [], []
        for X, y in chunks:
            if q is None:
                features.append(X.mean(axis=1))
            else:
                features.append(np.einsum("nl,nld->nd", self.model.network.weights(X @ q), X))
            targets.append(y)
        return np.concatenate(features), np.concatenate(targets)


def _axes(signals: Float[np.ndarray, "P d"], rng: np.random.Generator) -> np.ndarray:
    """Return the signals and a unit vector in a random direction orthogonal to them."""
    beside = rng.standard_normal(signals.shape[1])
    for _ in range(2):  # twice: the first difference may be small
        beside -= (signals @ beside) @ signals
        beside /= np.linalg.norm(beside)
    return np.vstack([signals, beside])


def _new_bags(task: Problem, dimension: int, rng: np.random.Generator) -> Iterator[Chunk]:
    """Yield bags whose directions are the first axes."""
    signals = np.eye(len(task.directions), dimension)
    for size in chunk_sizes(DRAWS, chunk_rows(8 * task.length * dimension)):
        yield task.sample(size, signals, rng)
