"""The capacity experiment solves each capacity once and names how it decides."""

import pytest

from sparsetoken import simulation, theory
from sparsetoken.experiments.capacity import EXPERIMENT, MODELS
from sparsetoken.experiments.core.capacities import solved_capacity

SMALL = dict(features=(12, 24), ratios=(0.5, 1.0, 2.0), sets=3)
SEED = 7


@pytest.fixture(scope="module")
def run(rows_of, sizes):
    """Rows, the models whose capacity was solved, and the draws."""
    solved, drawn = [], []
    solve, draw = theory.capacity, simulation.draw_training_set
    solved_capacity.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            theory, "capacity", lambda p, m, **k: (solved.append(m.name), solve(p, m, **k))[1]
        )
        patch.setattr(
            simulation,
            "draw_training_set",
            lambda *a, **k: (drawn.append(k), draw(*a, **k))[1],
        )
        return rows_of(EXPERIMENT, sizes, seed=7), solved, drawn


def test_the_capacity_is_solved_once_for_each_model(run, sizes):
    rows, solved, _ = run
    assert sorted(solved) == sorted(MODELS)
    for model in MODELS:
        capacity = rows.one("theory", "capacity", model=model)
        shares = rows.where("simulated", model=model)
        assert set(shares.distinct("ratio")) == set(sizes.ratios)
        for row in shares:
            assert row["alpha1"] == row["ratio"] * capacity.value


def test_the_words_say_how_separability_is_decided(run, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, run[0])
    assert "Gordan" in words["Setting"]
    assert "linear programming decides where neither is found" in words["Setting"]
