"""The capacity experiment solves each capacity once and names how it decides."""

import pytest

from sparsetoken import simulation, theory
from sparsetoken.experiments.capacities import solved_capacity
from sparsetoken.experiments.capacity import EXPERIMENT, work
from sparsetoken.experiments.capacity.rows import Separable
from sparsetoken.experiments.rows import select

SMALL = work.Profile((12, 24), (0.5, 1.0, 2.0), 3)


@pytest.fixture(scope="module")
def run():
    """Rows, the models whose capacity was solved, and the draws."""
    solved, drawn = [], []
    solve, draw = theory.capacity, simulation.draw_training_set
    solved_capacity.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            theory,
            "capacity",
            lambda p, m, **k: (solved.append(m.name), solve(p, m, **k))[1],
        )
        patch.setattr(
            simulation,
            "draw_training_set",
            lambda *a, **k: (drawn.append(k), draw(*a, **k))[1],
        )
        rows = [row for job in EXPERIMENT.jobs(SMALL, 7) for row in job.run()]
    return rows, solved, drawn


def test_the_capacity_is_solved_once_for_each_model(run):
    rows, solved, _ = run
    assert sorted(solved) == sorted(work.MODELS)
    for model in work.MODELS:
        of_model = select(rows, Separable, model=model)
        assert len({row.capacity.value for row in of_model}) == 1
        assert {row.ratio for row in of_model} == set(SMALL.ratios)
        for row in of_model:
            assert row.alpha1 == row.ratio * row.capacity.value


def test_every_place_draws_sets_of_its_own(run):
    _, _, drawn = run
    assert {k["trial"] for k in drawn} == {0, 1, 2}
    seeds = [k["seed"] for k in drawn if k["trial"] == 0]
    assert len(set(seeds)) == len(seeds) == 2 * 3 * len(work.MODELS) + 1


def test_the_words_say_how_separability_is_decided(run, said_of):
    full = work.Profile((12, 24), (0.5, 1.0, 2.0), 3)
    words = said_of(EXPERIMENT, full, run[0])
    assert "Gordan" in words["setting"]
    assert "linear programming where neither is found" in words["setting"]
