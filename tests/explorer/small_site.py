"""A page without a server that holds what the steps of the stories need."""

import functools

import pytest

from sparsetoken.base.progress import showing
from sparsetoken.explorer import Settings, export
from sparsetoken.explorer.settings import PRESETS
from sparsetoken.theory import descend

LOADS = (1.0, 2.0, 4.0)


@functools.cache
def _trajectory(problem, trained):
    return descend(problem, trained, replicas=2, tolerance=0.05)


def rough(problem, trained, **_):
    """Return a trajectory that knows what the steps of stories say."""
    return _trajectory(problem, trained)


def walk(story):
    """Yield each step with the settings after it, which add up."""
    settings = {**PRESETS[0]["settings"], **story["settings"]}
    for step in story["steps"]:
        settings = {**settings, **step["set"]}
        yield step, settings


def _grid(story):
    """Return the grid of a story with no more than the values that its steps need."""
    used = [Settings(settings) for _, settings in walk(story)]
    names = {name for step in story["steps"] for name in step["set"]}
    if story["view"] != "descent":
        names -= {"alpha1"}  # the grid of every point
    elif not names:
        names = {"alpha1"}
    values = {name: tuple(sorted({s[name] for s in used})) for name in sorted(names)}
    return {**values, "informative": (1, 21)} if story["name"] == "default" else values


class _Bar:
    """A bar that keeps how much is done of how much."""

    def __init__(self, counts, total):
        self.counts, self.total, self.done = counts, total, 0

    def update(self, n):
        self.done += n
        self.counts.append((self.done, self.total))

    def close(self):
        pass


def small_site(folder):
    """Return the path of the page, and the counts of its progress bar."""
    counts, solve = [], export.capacity

    def once(settings):  # one setting is compared
        return solve(settings) if settings.values == Settings(PRESETS[0]["settings"]).values else []

    with showing(lambda what, total: _Bar(counts, total)), pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "capacity", once)
        patch.setattr(export, "LOADS", LOADS)
        patch.setattr(export, "TOLERANCE", 1e-2)
        patch.setattr("sparsetoken.explorer.training.descend", rough)
        path = export.export(folder, {story["name"]: _grid(story) for story in PRESETS})
    return path, counts
