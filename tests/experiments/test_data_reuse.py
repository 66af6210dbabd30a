"""The data-reuse experiment from end to end, at a small size."""

import pytest

import sparsetoken as st
from experiments.changed_rows import changed
from sparsetoken.beyond.reuse import reuse_trial
from sparsetoken.experiments.data_reuse import EXPERIMENT, work
from sparsetoken.experiments.data_reuse.figure import draw
from sparsetoken.experiments.data_reuse.work import Descended, Reused, Trained
from sparsetoken.experiments.references import PROBLEM, References
from sparsetoken.experiments.rows import one, select
from sparsetoken.figures.style import styled
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout

PROFILE = work.Profile((2.0,), 40, 5, 2, 160, 3)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, PROFILE, seed=4)


def _verdicts(rows, claim):
    return [c.verdict for c in EXPERIMENT.compare(PROFILE, rows) if c.claim == claim]


def test_rows_are_means_of_paired_trials(rows):
    seed = seed_of("data-reuse", 0, 4)
    trials = [
        reuse_trial(
            PROBLEM, work.steps_of(2.0), Readout(alpha1=2.0), dimension=40, seed=seed, trial=i
        )
        for i in range(5)
    ]
    paid = one(rows, Trained, arm="reused", load=2.0).excess
    differences = [one["reused"].test_error - one["fresh"].test_error for one in trials]
    assert paid.value == pytest.approx(sum(differences) / 5)


def test_at_small_loads_as_many_samples_find_the_query_as_at_load_1():
    assert [PROFILE.dimension_of(load) for load in (0.25, 0.5, 1.0, 4.0)] == [160, 80, 40, 40]


def test_the_descent_without_tokens_has_the_samples_of_the_profile(rows):
    found = select(rows, Descended)
    assert [(row.alpha, row.test_error.dimension) for row in found] == [(2.0, 80), (4.0, 40)]
    assert all(row.cosine.engine == "reduced" and row.cosine.trials == 3 for row in found)


def test_the_descent_finds_the_query_of_two_steps(rows):
    # The same two steps, so the cosine is that of the alignment, to the error of the replicas.
    for row in select(rows, Reused):
        expected = st.align(PROBLEM, work.steps_of(row.alpha)).cosine
        assert row.cosine.value == pytest.approx(expected, abs=4 * row.cosine.error + 1e-4)


def test_theory_has_converged_and_both_claims_hold(rows):
    assert all(row.test_error.converged for row in select(rows, Reused))
    for claim in EXPERIMENT.claims:
        assert set(_verdicts(rows, claim.name)) == {"holds"}


def test_the_claims_can_fail(rows):
    wrong = changed(rows, Reused, "test_error", {"value": 0.4})
    assert "fails" in _verdicts(wrong, "reuse-of-data")
    assert "fails" in _verdicts(wrong, "reuse-or-splitting")
    better = changed(rows, References, "attention", {"value": 0.01})
    assert "fails" in _verdicts(better, "reuse-or-splitting")


def test_what_did_not_converge_never_holds(rows):
    stuck = changed(rows, Reused, "test_error", {"status": "no_limit"})
    assert "not converged" in _verdicts(stuck, "reuse-of-data")
    assert set(_verdicts(stuck, "reuse-or-splitting")) == {"not converged"}


def test_the_words_have_the_numbers_of_the_rows(rows, said_of):
    words = said_of(EXPERIMENT, PROFILE, rows)
    end = one(rows, Trained, arm="reused", load=2.0).test_error
    assert f"{end.value:.4f} ± {end.error:.4f}" in words["result"]
    assert f"reused {one(rows, Reused, alpha=2.0).test_error.value:.4f}" in words["result"]
    assert "d = 40 and" in words["setting"]
    assert "as at load 1, 5 trials" in words["setting"]


def test_the_figure_shows_three_ways_and_three_references(rows):
    with styled():
        figure = draw(rows)
    assert len(figure.legends[0].get_texts()) == 6
