"""What the tests of experiments share."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sparsetoken.experiments import Experiment
from sparsetoken.experiments.rows import from_json, to_json
from sparsetoken.report.page import words_of
from sparsetoken.report.pictures import picture, pictures_of


@pytest.fixture(scope="session")
def rows_of() -> Callable[[Experiment, Any], list[Any]]:
    """Run the jobs of an experiment with any sizes; rows go through the form of the store."""

    def run(experiment: Experiment, sizes: Any, seed: int = 0) -> list[Any]:
        rows = [row for job in experiment.jobs(sizes, seed) for row in job.run()]
        assert from_json(experiment.rows, to_json(rows)) == rows or _has_nan(rows)
        return rows

    return run


def _has_nan(rows: Sequence[Any]) -> bool:
    return "nan" in repr(rows)


@pytest.fixture(scope="session")
def said_of() -> Callable[[Experiment, Any, Sequence[Any]], dict[str, str]]:
    """Write the words of an experiment, and draw its pictures; return the words by block."""

    def say(experiment: Experiment, sizes: Any, rows: Sequence[Any]) -> dict[str, str]:
        words = words_of(experiment, sizes, rows, experiment.compare(sizes, rows))
        for name, draw in pictures_of(experiment).items():
            assert picture(name, draw, rows).png.startswith(b"\x89PNG")
            assert words[name].strip()
        return {name: " ".join(text.split()) for name, text in words.items()}

    return say
