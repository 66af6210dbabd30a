"""The query-steps experiment from end to end, at a small size."""

import pytest

from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.query_steps import ALPHA0, EXPERIMENT, READOUT, draw
from sparsetoken.figures.style import styled
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import TwoSteps
from sparsetoken.variants.attention import steps_trial

SMALL = dict(dimension=16, trials=2, last_step=4)
SEED = 4


def test_rows_are_means_over_trials_at_each_step(rows):
    sizes = {"last_step": 4, "dimension": 16, "seed": seed_of("query-steps", 4)}
    steps = TwoSteps(ALPHA0, eta_q=5.0)
    found = [steps_trial(PROBLEM, steps, READOUT, trial=i, **sizes) for i in range(2)]
    path = rows.where("free", "test_error", eta_q=5.0)
    assert path.distinct("step") == [2, 3, 4]
    for row, *refits in zip(path, *found, strict=True):
        mean = sum(refit.free.test_error for refit in refits) / 2
        assert row.value == pytest.approx(mean)
    held = rows.one("held", eta_q=5.0, step=2).value
    assert held == pytest.approx(sum(trial[0].held.test_error for trial in found) / 2)
    change = rows.one("free", "test_error − step 2", eta_q=5.0, step=4).value
    assert change == pytest.approx(path[-1].value - path[0].value)


def test_comparisons_are_by_experiment_only(rows, sizes):
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert {c.verdict for c in comparisons} == {"by experiment"}
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    assert sum(c.key for c in comparisons) == 4
    broken = [row.but(value=float("inf")) for row in rows]
    assert {c.verdict for c in EXPERIMENT.compared(sizes, broken)} == {"not converged"}


def test_the_words_name_the_best_step(rows, sizes, said_of, changed):
    place = {"series": "free", "quantity": "test_error", "eta_q": 25.0, "step": 3}
    moved = changed(rows, lambda row: row.but(value=0.00123), **place)
    words = said_of(EXPERIMENT, sizes, moved)
    assert "The lowest mean, with ηq = 25 at step 3, is 0.0012" in words["Found"]
    assert "d = 16, 2 trials" in words["Setting"]


def test_the_figure_shows_four_curves_and_four_references(rows):
    with styled():
        figure = draw(rows)
    assert len(figure.legends[0].get_texts()) == 8
