"""What the tests of experiments share."""

import functools
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from experiment_cases import CASES
from sparsetoken.base.files import written_whole
from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.claims import verdict_of
from sparsetoken.experiments.core.experiment import Experiment
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.core.words import words_of
from sparsetoken.experiments.report.page import picture


@pytest.fixture
def registry() -> Iterator[None]:
    """Leave the experiments as they were."""
    before = dict(EXPERIMENTS)
    yield
    EXPERIMENTS.clear()
    EXPERIMENTS.update(before)


@pytest.fixture(scope="session")
def sizes_of() -> Callable[..., SimpleNamespace]:
    """Return the quick sizes of an experiment with changes."""

    def change(experiment: Experiment, **changes: object) -> SimpleNamespace:
        quick = vars(experiment.sizes["quick"])
        assert set(changes) <= set(quick)
        return SimpleNamespace(**{**quick, **changes})

    return change


@pytest.fixture(scope="session")
def done(
    sizes_of: Callable, rows_of: Callable, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[SimpleNamespace, Rows]]:
    """Return the small sizes and the rows of an experiment in the table, which are made once.

    Processes that share the tests share the rows: the parent of their folders is that of the run.
    """
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared

    @functools.cache
    def of(name: str) -> tuple[SimpleNamespace, Rows]:
        case, kept = CASES[name], shared / f"rows of {name}.pkl"
        sizes = sizes_of(EXPERIMENTS[name], **case.small)
        if not kept.exists():
            rows = rows_of(EXPERIMENTS[name], sizes, seed=case.seed)
            with written_whole(kept) as path:
                path.write_bytes(pickle.dumps(rows))
        return sizes, pickle.loads(kept.read_bytes())

    return of


@pytest.fixture(scope="module")
def experiment(request: pytest.FixtureRequest) -> Experiment:
    """Return the experiment that the file of a test is named after."""
    return EXPERIMENTS[request.module.__name__.rpartition("test_")[2].replace("_", "-")]


@pytest.fixture(scope="module")
def sizes(request: pytest.FixtureRequest, experiment: Experiment, sizes_of: Any) -> SimpleNamespace:
    """Return its quick sizes, with the small ones of the table or of the file."""
    case = CASES.get(experiment.name)
    return sizes_of(experiment, **(case.small if case else request.module.SMALL))


@pytest.fixture(scope="module")
def rows(experiment: Experiment, done: Callable, rows_of: Callable, sizes: Any) -> Rows:
    """Return its rows."""
    return done(experiment.name)[1] if experiment.name in CASES else rows_of(experiment, sizes)


@pytest.fixture(scope="module")
def verdict(experiment: Experiment, sizes: SimpleNamespace) -> Callable[..., str]:
    """Return the verdict on a claim, by rows."""

    def of(rows: Rows, claim: str) -> str:
        comparisons = experiment.compared(sizes, rows)
        return verdict_of(comparison for comparison in comparisons if comparison.claim == claim)

    return of


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., Rows]:
    """Do the work of an experiment with any sizes; rows go through the form in which they are kept.

    No two pieces have one name.
    """

    def run(experiment: Experiment, sizes: SimpleNamespace, seed: int = 0) -> Rows:
        pieces = list(experiment.work(sizes, seed))
        assert len({piece.name for piece in pieces}) == len(pieces)
        rows = Rows(row for piece in pieces for row in piece.run())
        assert pickle.loads(pickle.dumps(rows)) == rows or "nan" in repr(rows[:])
        return rows

    return run


@pytest.fixture(scope="session")
def said_of() -> Callable[..., dict[str, str]]:
    """Write the words of an experiment, and draw its figures; return the words by heading."""

    def say(experiment: Experiment, sizes: SimpleNamespace, rows: Rows) -> dict[str, str]:
        words = words_of(experiment, sizes, rows, experiment.compared(sizes, rows))
        for name, draw in experiment.figures.items():
            assert picture(draw, rows, name).image.startswith(b"RIFF")
            assert words[f"Figure: {name}"].strip()
        return {name: " ".join(text.striptags().split()) for name, text in words.items()}

    return say


@pytest.fixture(scope="session")
def changed() -> Callable[..., Rows]:
    """Return rows of which those that are chosen have other fields, to see claims fail."""

    def change(rows: Sequence[Row], new: Callable[[Row], Row], **wanted: object) -> Rows:
        chosen = [id(row) for row in Rows(rows).where(**wanted)]
        assert chosen
        return Rows(new(row) if id(row) in chosen else row for row in rows)

    return change
