"""The view of descent: the trajectories of a network and of mean pooling, and a bag in training."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Generator
from concurrent.futures import CancelledError, Future, wait
from typing import Any

import numpy as np

from sparsetoken.base.progress import showing
from sparsetoken.explorer.code import code_of, of_bayes
from sparsetoken.explorer.events import BAYES_POINTS, Events, named
from sparsetoken.explorer.film import bags_in_training
from sparsetoken.explorer.settings import SPARSE_TOKEN, Settings
from sparsetoken.explorer.words import worded
from sparsetoken.model.base import Problem
from sparsetoken.model.descent import Descent
from sparsetoken.results import Trajectory
from sparsetoken.theory import descend
from sparsetoken.theory.oracle import learning_error

TOLERANCE = 5e-3
REPLICAS = (2, 8)
"""First a quick trajectory, then the one that stays; a number, since where symmetries break slowly
the error falls too slowly to wait for."""
PAUSE = 1.0  # seconds between signs that a descent goes on
_DESCENTS = threading.Lock()  # one at a time: each takes hundreds of MB


def descent(settings: Settings, replicas: tuple[int, ...] = REPLICAS) -> Events:
    """Yield the Bayes-optimal error where it is known, then the trajectories of both networks."""
    problem, descents, alpha = settings.task(), settings.descents(), settings["alpha1"]
    known = settings["task"] == SPARSE_TOKEN and settings.isotropic
    figure = f"""
trajectories = [
    st.descend(problem, descent, tolerance={TOLERANCE}, replicas={replicas[-1]})
    for descent in descents
]
ax = None
for trajectory in trajectories:
    ax = trajectory.plot(ax=ax)
trajectories[0].plot("training_loss", ax, label="its training loss", ls=":")
ax.set_ylabel("test error and training loss")
"""
    if known:
        bayes = f"st.oracle.learning_error(problem, {alpha}, points={BAYES_POINTS}).test_error"
        figure += f"bayes = {bayes}\n{of_bayes('axhline(bayes')}"
    values = {"problem": problem, "descents": tuple(descents.values())}
    yield code_of(settings, values, figure)
    if known:
        least = learning_error(settings.problem(), alpha, points=BAYES_POINTS)
        yield {"kind": "bayes", **named(least, "test_error", "status")}
    yield from _trajectories(problem, descents, replicas)


def _trajectories(
    problem: Problem, descents: dict[str, Descent], replicas: tuple[int, ...]
) -> Events:
    """Yield each trajectory until it diverges, from so many replicas; the last ones are shown."""
    plan = list(itertools.product(replicas, descents))
    costs = np.cumsum([count for count, _ in plan]).tolist()
    for i, (count, name) in enumerate(plan):
        trained = descents[name]
        place = {"done": costs[i - 1] if i else 0, "of": costs[-1]}
        trajectory = yield from _followed(problem, trained, count, place)
        known = np.isfinite(trajectory.training_loss)
        weights, readouts = trajectory.weights, trained.network.readouts(outputs=1)
        queries = np.delete(weights.cosines[..., 0], readouts, axis=-1)
        one = queries.shape[-1] == 1  # of several the largest, in size
        shown = {
            **named(trajectory, "test_error", "training_loss", "attended"),
            "cosine": queries[:, 0] if one else np.abs(queries).max(axis=-1, initial=0),
            **{n: x for n, x in weights.columns().items() if n.startswith("overlap")},
        }
        yield {
            "kind": "trajectory",
            "network": name,
            "coarse": i + len(descents) < len(plan),
            "notes": [
                worded(note) for note in (trajectory.status.remedy, *trajectory.notes) if note
            ],
            **{quantity: values[known] for quantity, values in shown.items()},
            **named(trajectory, "numerical_error", "best_step", "status"),
            "bags": bags_in_training(problem, trained.network, weights, known.sum()),
            "done": costs[i],
            "of": costs[-1],
        }


class _Watch:
    """Counts the finished share of a trajectory, and ends the work when nobody reads on."""

    def __init__(self) -> None:
        self.total: float | None = 1.0
        self.done, self.left = 0.0, False

    def update(self, n: float = 1) -> None:
        """Count, or raise an error that ends the work."""
        if self.left:
            raise CancelledError
        self.done += n

    def close(self) -> None:
        """End."""


def _followed(
    problem: Problem, trained: Descent, count: int, place: dict[str, int]
) -> Generator[dict[str, Any], None, Trajectory]:
    """Follow a descent in a thread, and yield how far it is; when the reader stops, it ends."""
    watch, future = _Watch(), Future[Trajectory]()

    def run() -> None:
        follow = functools.partial(descend, problem, trained, tolerance=TOLERANCE)
        try:
            with _DESCENTS, showing(lambda what, total: watch):
                watch.update(0)
                future.set_result(follow(replicas=count))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        while not wait([future], PAUSE).done:
            done = min(int(watch.done * count), count - 1)
            yield {"kind": "working", **place, "done": place["done"] + done}
        return future.result()
    finally:
        watch.left = True
