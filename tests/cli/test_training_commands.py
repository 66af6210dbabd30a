"""The commands descend and floor: keys, exit codes, bad input."""

import json

import pytest

from command_line import invoke
from sparsetoken import Attention, JointDescent, SparseTokenProblem, theory

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


def run(*arguments):
    return invoke(*arguments)


def test_descend_keys_and_values():
    found = run("descend", *TASK, "--steps", 3, "--start-w", 0.3, "--start-q", 0.5, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    assert [list(row) for row in values["steps"]] == [KEYS] * 4
    assert {"numerical_error", "status"} <= set(values)
    assert values["status"] == "converged"
    descent = JointDescent(steps=3, start_w=0.3, start_q=0.5)
    expected = theory.descend(SparseTokenProblem(4, 1, 2.0), Attention(descent))
    assert values["steps"][3]["test_error"] == expected.test_error[3]


def test_descend_with_schedules_threads_and_trials():
    arguments = ["--steps", 2, "--eta-w", "1,0.5", "--workers", 2, "--tolerance", 0.01]
    sampled = ["--dimension", 30, "--trials", 2, "--seed", 1]
    found = run("descend", *TASK, *arguments, *sampled, "--json")
    assert found.exit_code == 0
    rows = json.loads(found.stdout)["simulation"]["steps"]
    assert set(rows[2]["test_error"]) == {"mean", "standard_error"}
    shown = run("descend", *TASK, *arguments, *sampled, "--engine", "reduced")
    assert shown.exit_code == 0
    assert "Means of the trials" in shown.stdout


def test_a_descent_that_diverges_says_so():
    found = run("descend", *TASK, "--eta-w", 900, "--eta-q", 900, "--loss", "square", "--json")
    assert found.exit_code == 1
    values = json.loads(found.stdout)
    assert values["status"] == "no_limit"
    assert "diverges at step" in found.stderr


def test_floor_keys():
    found = run("floor", "--strength", 3, "--alpha", 1, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    assert values["test_error"] == pytest.approx(0.2049, abs=1e-4)
    assert values["cosine"] == pytest.approx(0.88103, abs=1e-4)
    assert values["oracle_error"] == pytest.approx(0.15744, abs=1e-4)
    assert values["status"] == "converged"
    assert "oracle error" in run("floor").stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["descend", "--steps", 0], "steps"),
        (["descend", "--alpha", 0], "alpha"),
        (["descend", "--eta-w", "1,2,3"], "--eta-w"),
        (["descend", "--eta-q", "fast"], "--eta-q"),
        (["descend", "--eta-b", "-1"], "--eta-b"),
        (["descend", "--loss", "hinge"], "loss"),
        (["descend", "--start-product", 1], "--start-product"),
        (["descend", "--momentum", 1], "momentum"),
        (["descend", "--steps", 90000], "steps of a descent"),
        (["descend", "--model", "pooled"], "JointDescent"),
        (["descend", "--workers", 0], "workers"),
        (["descend", "--steps", 1, "--trials", 0], "trials"),
        (["descend", "--engine", "real"], "engine"),
        (["descend", "--steps", 800, "--length", 5, "--dimension", 2], "dimension"),
        (["floor", "--alpha", 0], "alpha"),
        (["floor", "--informative", 11], "informative"),
    ],
)
def test_bad_input_is_one_message(arguments, word):
    found = run(*arguments, "--json")
    assert found.exit_code == 2
    assert found.stdout == ""
    assert word in found.stderr
    assert found.stderr.count("Error:") == 1
