"""The query-steps experiment from end to end, at a small size."""

import dataclasses

import pytest

from sparsetoken.beyond.query_steps import steps_trial
from sparsetoken.experiments.query_steps import EXPERIMENT, work
from sparsetoken.experiments.query_steps.figure import draw
from sparsetoken.experiments.query_steps.work import AfterStep
from sparsetoken.experiments.references import PROBLEM
from sparsetoken.experiments.rows import Measured, select
from sparsetoken.figures.style import styled
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

STEPS = 4
PROFILE = work.Profile(16, 2, last_step=STEPS)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, PROFILE, seed=4)


def test_rows_are_means_over_trials_at_each_step(rows):
    found = [
        steps_trial(
            PROBLEM,
            TwoSteps(work.ALPHA0, eta_q=5.0),
            Readout(alpha1=work.ALPHA1),
            last_step=STEPS,
            dimension=16,
            seed=seed_of("query-steps", 4),
            trial=i,
        )
        for i in range(2)
    ]
    path = select(rows, AfterStep, eta_q=5.0)
    assert [row.step for row in path] == [2, 3, 4]
    for row, *steps in zip(path, *found, strict=True):
        mean = sum(refit.free.test_error for refit in steps) / 2
        assert row.test_error.value == pytest.approx(mean)
    held = path[0].held_test_error.value
    assert held == pytest.approx(sum(trial[0].held.test_error for trial in found) / 2)
    change = path[-1].test_error.value - path[0].test_error.value
    assert path[-1].change.value == pytest.approx(change)


def test_comparisons_are_by_experiment_only(rows):
    comparisons = EXPERIMENT.compare(PROFILE, rows)
    assert {c.verdict for c in comparisons} == {"by experiment"}
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    assert sum(c.key for c in comparisons) == 4

    def broken(row):
        values = {f.name: getattr(row, f.name) for f in dataclasses.fields(row)}
        return dataclasses.replace(
            row,
            **{
                name: dataclasses.replace(value, value=float("inf"))
                for name, value in values.items()
                if isinstance(value, Measured)
            },
        )

    comparisons = EXPERIMENT.compare(PROFILE, [broken(row) for row in rows])
    assert {c.verdict for c in comparisons} == {"not converged"}


def test_the_words_name_the_best_step(rows, said_of):
    def moved(row):
        if not isinstance(row, AfterStep) or (row.eta_q, row.step) != (25.0, 3):
            return row
        return dataclasses.replace(
            row, test_error=dataclasses.replace(row.test_error, value=0.00123)
        )

    words = said_of(EXPERIMENT, PROFILE, [moved(row) for row in rows])
    assert "The lowest mean, with η<sub>q</sub> = 25 at step 3, is 0.0012" in words["result"]
    assert "d = 16, 2 trials" in words["setting"]


def test_the_figure_shows_four_curves_and_four_references(rows):
    with styled():
        figure = draw(rows)
    assert len(figure.legends[0].get_texts()) == 8
