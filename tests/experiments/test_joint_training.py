"""The joint-training experiment from end to end, at a small size."""

import pytest

import sparsetoken as st
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.joint_training import descent_of, rises, stops
from sparsetoken.simulation.seeds import seed_of

FAST = {"ratio": 4.0, "start": 0.0}


def test_rows_are_means_over_trials(rows, sizes):
    given = {name: getattr(sizes, name) for name in ("dimension", "trials")}
    given["seed"] = seed_of("joint-training", 4, 4)
    path = st.simulation.descend(PROBLEM, descent_of(4.0, 0.0, 10), **given)
    row = {r.quantity: r for r in rows.where("simulated", step=4, **FAST)}
    assert row["training_loss"].value == pytest.approx(path.mean.training_loss[4])
    assert row["test_error"].error == pytest.approx(path.standard_error.test_error[4])
    rise = path.mean.test_error[10] - path.mean.test_error[4]
    assert row["rise"].value == pytest.approx(rise)
    fall = path.mean.training_loss[4] - path.mean.training_loss[10]
    assert row["fall"].value == pytest.approx(fall)


def test_the_stop_is_where_the_predicted_error_is_least(rows, changed):
    place = {"series": "theory", "quantity": "test_error", "step": 5, **FAST}
    low = changed(rows, lambda row: row.but(value=0.01), **place)
    ((best, last, near),) = (s for s in stops(low) if (s[0]["ratio"], s[0]["start"]) == (4.0, 0.0))
    assert (best["step"], near.distinct("step")) == (5, [4])
    assert rises(best, last)
