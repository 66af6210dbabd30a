"""The data-reuse experiment from end to end, at a small size."""

import dataclasses

import pytest

from sparsetoken.beyond.reuse import reuse_trial
from sparsetoken.experiments.data_reuse import EXPERIMENT, work
from sparsetoken.experiments.data_reuse.figure import draw
from sparsetoken.experiments.data_reuse.work import Trained
from sparsetoken.experiments.references import PROBLEM
from sparsetoken.experiments.rows import one
from sparsetoken.figures.style import styled
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout

PROFILE = work.Profile((1.0, 2.0), 20, 2)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, PROFILE, seed=4)


def _changed(rows, change, **wanted):
    """Change one column of the rows of what was trained."""
    ((column, values),) = change.items()
    return [
        dataclasses.replace(row, **{column: dataclasses.replace(getattr(row, column), **values)})
        if isinstance(row, Trained) and all(getattr(row, k) == v for k, v in wanted.items())
        else row
        for row in rows
    ]


def test_rows_are_means_of_paired_trials(rows):
    seed = seed_of("data-reuse", 1, 4)
    first, second = (
        reuse_trial(
            PROBLEM, work.steps_of(2.0), Readout(alpha=2.0), dimension=20, seed=seed, trial=i
        )
        for i in range(2)
    )
    paid = one(rows, Trained, arm="reused", load=2.0).excess
    differences = [one["reused"].test_error - one["fresh"].test_error for one in (first, second)]
    assert paid.value == pytest.approx(sum(differences) / 2)
    assert paid.error == pytest.approx(abs(differences[0] - differences[1]) / 2)


def test_comparisons_are_by_experiment_only(rows):
    comparisons = EXPERIMENT.compare(PROFILE, rows)
    assert {c.verdict for c in comparisons} == {"by experiment"}
    assert sum(c.key for c in comparisons) == 2
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    assert EXPERIMENT.open


def test_a_number_that_is_none_is_not_reported_as_found(rows):
    for column in ("test_error", "cosine", "excess"):
        rows = _changed(rows, {column: {"value": float("nan")}})
    assert {c.verdict for c in EXPERIMENT.compare(PROFILE, rows)} == {"not converged"}


def test_the_words_have_the_numbers_of_the_rows(rows, said_of):
    words = said_of(EXPERIMENT, PROFILE, rows)
    end = one(rows, Trained, arm="reused", load=2.0).test_error
    assert f"{end.value:.4f} ± {end.error:.4f}" in words["result"]
    assert "d = 20, 2 trials" in words["setting"]


def test_the_words_count_the_loads_where_reuse_is_worse(rows, said_of):
    rows = _changed(rows, {"excess": {"value": 1.0, "error": 0.1}}, arm="reused")
    text = said_of(EXPERIMENT, PROFILE, rows)["result"]
    assert "worse beyond three standard errors at 2 of 2 loads" in text


def test_the_figure_shows_three_ways_and_three_references(rows):
    with styled():
        figure = draw(rows)
    assert len(figure.legends[0].get_texts()) == 6
