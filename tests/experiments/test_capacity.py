"""The capacity experiment solves each capacity once and names how it decides."""

from sparsetoken import simulation, theory
from sparsetoken.experiments import capacity
from sparsetoken.experiments.points import select

SMALL = capacity.CapacityProfile((12, 24), (0.5, 1.0, 2.0), 3)


def test_the_capacity_is_solved_once_for_each_model(monkeypatch):
    solved, drawn = [], []
    solve, draw = theory.capacity, simulation.draw_training_set
    capacity._predicted.cache_clear()
    monkeypatch.setattr(
        theory, "capacity", lambda model, *a, **k: (solved.append(model), solve(model, *a, **k))[1]
    )
    monkeypatch.setattr(
        simulation, "draw_training_set", lambda *a, **k: (drawn.append(k), draw(*a, **k))[1]
    )
    points = [p for job in capacity._jobs(SMALL, 7) for p in job.run()]
    assert sorted(solved) == sorted(capacity.MODELS)
    assert {(k["seed"], k["trial"]) for k in drawn} == {(7, 0), (7, 1), (7, 2)}
    for model in capacity.MODELS:
        (threshold,) = select(points, curve=model, quantity="threshold")
        loads = {p.x / threshold.value for p in select(points, curve=model, quantity="separable")}
        assert loads == set(SMALL.ratios)


def test_the_setting_says_how_separability_is_decided():
    text = capacity.CAPACITY.setting(SMALL)
    assert "Gordan" in text
    assert "linear programming where neither is found" in text
