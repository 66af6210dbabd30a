"""The commands descend and floor: keys, exit codes, bad input."""

import json

import pytest

from attention_descent import attention_descent
from command_line import invoke as run
from sparsetoken import Descent, SparseTokenProblem, theory
from sparsetoken.model import networks, tasks

TASK = ["--length", "4", "--strength", "2"]
KEYS = [
    "step",
    "test_error",
    "training_loss",
    "cosine",
    "overlap_w",
    "overlap_q",
    "norm_w",
    "norm_q",
    "product_wq",
    "bias",
]


OWN = ["step", "test_error", "training_loss", "attended"]
COLUMNS = {
    "softmax": ([], ["q", "w"], ["b"]),
    "heads": ([], ["q1", "q2", "w1", "w2"], ["b"]),
    "gated": (["--hidden", 2], ["v1", "v2", "g1", "g2", "w"], ["b", "u1", "u2"]),
    "self_attention": (["--rank", 1], ["Q", "K", "V"], ["b"]),
}


def test_descend_keys_and_values():
    found = run("descend", *TASK, "--steps", 3, "--start-w", 0.3, "--start-q", 0.5, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    assert [list(row) for row in values["steps"]] == [KEYS] * 4
    assert {"numerical_error", "status"} <= set(values)
    assert values["status"] == "converged"
    descent = attention_descent(steps=3, start_w=0.3, start_q=0.5)
    expected = theory.descend(SparseTokenProblem(4, 1, 2.0), descent)
    last, columns = values["steps"][3], expected.columns()
    for name in ("test_error", "training_loss", "overlap_w", "overlap_q", "norm_w", "norm_q"):
        assert last[name] == columns[name][3]
    assert (last["cosine"], last["bias"]) == (columns["cosine_q"][3], columns["b"][3])
    assert last["product_wq"] == expected.weights.gram[3, 0, 1]


def test_descend_with_schedules_and_trials():
    arguments = ["--steps", 2, "--eta-w", "1,0.5", "--tolerance", 0.01]
    sampled = ["--dimension", 30, "--trials", 2, "--seed", 1]
    found = run("descend", *TASK, *arguments, *sampled, "--json")
    assert found.exit_code == 0
    rows = json.loads(found.stdout)["simulation"]["steps"]
    assert set(rows[2]["test_error"]) == {"mean", "standard_error"}
    shown = run("descend", *TASK, *arguments, *sampled)
    assert shown.exit_code == 0
    assert "Means of the trials" in shown.stdout


def test_a_descent_that_diverges_says_so():
    found = run("descend", *TASK, "--eta-w", 900, "--eta-q", 900, "--loss", "square", "--json")
    assert found.exit_code == 1
    values = json.loads(found.stdout)
    assert values["status"] == "no_limit"
    assert "diverges at step" in found.stderr


@pytest.mark.parametrize("network", COLUMNS)
def test_the_keys_of_each_network(network):
    sizes, columns, weights = COLUMNS[network]
    arguments = ["--network", network, *sizes, "--steps", 1, "--tolerance", 0.05]
    sampled = ["--dimension", 20, "--trials", 2]
    found = run("descend", *TASK, *arguments, *sampled, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    expected = [f"{kind}_{name}" for kind in ("overlap", "cosine", "norm") for name in columns]
    expected = [*OWN, *expected, *weights, "bias"]
    old = set(KEYS) if network == "softmax" else set()
    for row in (*values["steps"], *values["simulation"]["steps"]):
        assert set(row) == {*expected, *old}
    assert set(values["simulation"]["steps"][1]["attended"]) == {"mean", "standard_error"}
    assert {"numerical_error", "best_step", "replicas", "status", "advice"} <= set(values)


def test_a_network_descends_as_in_python():
    arguments = ["--network", "gated", "--hidden", 1, "--rate", "3,3,2", "--rate-c", "1,0.5"]
    more = ["--start", "0.4,0.4,0.3", "--steps", 2, "--alpha", 3, "--momentum", 0.2]
    found = run("descend", *TASK, *arguments, *more, "--tolerance", 0.01, "--json")
    descent = Descent(
        networks.Gated(hidden=1),
        alpha=3.0,
        steps=2,
        rates=[3.0, 3.0, 2.0],
        rate_c=[1.0, 0.5],
        start=[0.4, 0.4, 0.3],
        momentum=0.2,
    )
    expected = theory.descend(SparseTokenProblem(4, 1, 2.0), descent, tolerance=0.01)
    row = json.loads(found.stdout)["steps"][2]
    assert row["test_error"] == expected.test_error[2]
    assert row["overlap_v"] == expected.weights.overlaps[2, 0, 0]
    assert row["u"] == expected.weights.c[2, 1]


def test_a_network_that_diverges_says_at_which_step():
    arguments = ["--network", "heads", "--rate", 900, "--loss", "square"]
    found = run("descend", *TASK, *arguments, "--tolerance", 0.05, "--json")
    assert found.exit_code == 1
    values = json.loads(found.stdout)
    assert values["status"] == "no_limit"
    assert f"diverges at step {len(values['steps'])}" in found.stderr


def test_a_task_descends_as_in_python():
    network = ["--rate", "1,0.2", "--rate-c", 0.2, "--start-overlap", 0.3]
    sizes = ["--length", 4, "--strength", 2.5, "--steps", 2, "--alpha", 3, "--tolerance", 0.05]
    sampled = ["--dimension", 30, "--trials", 2]
    task = ["--task", "single_location_regression"]
    found = run("descend", *task, *sizes, *network, *sampled, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    descent = Descent(
        alpha=3.0,
        steps=2,
        rates={"q": 1.0, "w": 0.2},
        rate_c=0.2,
        start_overlaps={"q": {"place": 0.3}, "w": 0.0},
        loss="square",
    )
    made = tasks.single_location_regression(length=4, strength=2.5)
    course = theory.descend(made, descent, tolerance=0.05)
    last, columns = values["steps"][2], course.columns()
    for name in ("test_error", "overlap_q_place", "overlap_w_value", "cosine_w_value", "norm_q"):
        assert last[name] == columns[name][2]
    simulated = values["simulation"]["steps"][2]["overlap_w_value"]
    assert abs(simulated["mean"] - last["overlap_w_value"]) < 5 * simulated["standard_error"]


def test_floor_keys():
    found = run("floor", "--strength", 3, "--alpha", 1, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    assert values["test_error"] == pytest.approx(0.2049, abs=1e-4)
    assert values["cosine"] == pytest.approx(0.88103, abs=1e-4)
    assert values["oracle_error"] == pytest.approx(0.15744, abs=1e-4)
    assert values["status"] == "converged"
    assert "oracle error" in run("floor").stdout
