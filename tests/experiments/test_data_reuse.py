"""The data-reuse experiment from end to end, at a small size."""

import dataclasses

import pytest

from sparsetoken.beyond.reuse import reuse_trial
from sparsetoken.experiments import data_reuse
from sparsetoken.experiments.points import select
from sparsetoken.figures.data_reuse import PICTURES
from sparsetoken.figures.style import styled

PROFILE = data_reuse.DataReuseProfile((1.0, 2.0), 20, 2)
EXPERIMENT = dataclasses.replace(data_reuse.DATA_REUSE, profiles={"quick": PROFILE})


@pytest.fixture(scope="module")
def run():
    return EXPERIMENT.run("quick", seed=4)


def test_points_are_means_of_paired_trials(run):
    points, _ = run
    first, second = (
        reuse_trial(data_reuse.PROBLEM, data_reuse._training(2.0), dimension=20, seed=4, trial=i)
        for i in range(2)
    )
    (paid,) = select(points, curve="reused", quantity=data_reuse.DIFFERENCE, x=2.0)
    differences = [one["reused"].test_error - one["fresh"].test_error for one in (first, second)]
    assert paid.value == pytest.approx(sum(differences) / 2)
    assert paid.error == pytest.approx(abs(differences[0] - differences[1]) / 2)


def test_claims_are_by_experiment_only(run):
    _, claims = run
    assert {c.verdict for c in claims} == {"by experiment"}
    assert sum(c.key for c in claims) == 2
    assert {c.statement for c in claims} == {s.name for s in data_reuse.STATEMENTS}
    assert all(s.open for s in data_reuse.STATEMENTS)


def test_a_number_that_is_none_is_not_reported_as_found(run):
    points = [dataclasses.replace(p, value=float("nan")) for p in run[0]]
    assert {c.verdict for c in EXPERIMENT.judged("quick", points)} == {"not converged"}


def test_the_text_has_the_numbers_of_the_points(run):
    points, claims = run
    (end,) = select(points, curve="reused", quantity="test_error", x=2.0)
    assert f"{end.value:.4f} ± {end.error:.4f}" in EXPERIMENT.result(points, claims)
    assert "d = 20, 2 trials" in EXPERIMENT.setting(PROFILE)


def test_the_text_counts_the_loads_where_reuse_is_worse(run):
    def moved(p):
        mine = p.curve == "reused" and p.quantity == data_reuse.DIFFERENCE
        return dataclasses.replace(p, value=1.0, error=0.1) if mine else p

    text = EXPERIMENT.result([moved(p) for p in run[0]], run[1])
    assert "worse beyond three standard errors at 2 of 2 loads" in text


def test_the_figure_shows_three_ways_and_three_references(run):
    with styled():
        figure = PICTURES[0].draw(run[0])
    assert len(figure.legends[0].get_texts()) == 6
