"""The commands descend and bayes: keys, exit codes, bad input."""

import json

import pytest

from attention_descent import attention_descent
from command_line import invoke as run
from sparsetoken import SparseTokenProblem, theory
from sparsetoken.theory.oracle import learning

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
    assert (last["cosine"], last["bias"]) == (columns["cosine_q"][3], columns["weight_b"][3])
    assert last["product_wq"] == expected.weights.gram[3, 0, 1]


def test_descend_with_trials_and_several_values():
    arguments = ["--steps", 2, "--eta-w", "1,0.5", "--tolerance", 0.05]
    sampled = ["--dimension", 30, "--trials", 2, "--seed", 1]
    found = run("descend", *TASK, *arguments, *sampled, "--json")
    assert found.exit_code == 0
    points = json.loads(found.stdout)["points"]
    assert [point["eta_w"] for point in points] == [1, 0.5]
    for point in points:
        rows = point["simulation"]["steps"]
        assert [list(row) for row in rows] == [KEYS] * 3
        assert set(rows[2]["test_error"]) == {"mean", "standard_error"}
    shown = run("descend", *TASK, *arguments, *sampled)
    assert shown.exit_code == 0
    assert "Means of the trials" in shown.stdout


def test_one_pass_has_times():
    arguments = ["--one-pass", "--times", "0:2:3", "--eta-q", "2,1", "--tolerance", 0.05]
    sampled = ["--dimension", 20, "--trials", 2, "--eta-w", 0.5]
    found = run("descend", *TASK, *arguments, *sampled, "--json")
    assert found.exit_code == 0
    points = json.loads(found.stdout)["points"]
    assert [point["eta_q"] for point in points] == [2, 1]
    for point in points:
        assert [list(row) for row in point["steps"]] == [["time", *KEYS[1:]]] * 3
        assert [row["time"] for row in point["steps"]] == [0, 1, 2]
        assert [row["time"] for row in point["simulation"]["steps"]] == [0, 1, 2]
    shown = run("descend", *TASK, "--one-pass", "--times", "0,1", "--tolerance", 0.05)
    assert shown.exit_code == 0
    assert "One pass over fresh bags" in shown.stdout
    assert "time" in shown.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--one-pass", "--steps", 3], "steps must be left out with --one-pass"),
        (["--one-pass", "--alpha", 3], "alpha must be left out with --one-pass"),
        (["--times", "0:2:3"], "times must be left out without --one-pass"),
        (["--one-pass", "--times", 2], "times must be a list"),
    ],
)
def test_options_of_the_other_way_are_refused(options, words):
    found = run("descend", *TASK, *options)
    assert found.exit_code == 2
    assert words in found.stderr


def test_a_descent_that_diverges_says_so():
    found = run("descend", *TASK, "--eta-w", 900, "--eta-q", 900, "--loss", "square", "--json")
    assert found.exit_code == 1
    values = json.loads(found.stdout)
    assert values["status"] == "no_limit"
    assert "diverges at step" in found.stderr


def test_bayes_keys():
    found = run("bayes", "--strength", 3, "--alpha", 1, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    assert values["test_error"] == pytest.approx(0.2049, abs=1e-4)
    assert values["cosine"] == pytest.approx(0.88103, abs=1e-4)
    assert values["oracle_error"] == pytest.approx(0.15744, abs=1e-4)
    assert values["status"] == "converged"
    assert "oracle error" in run("bayes").stdout


def test_bayes_keeps_its_results(tmp_path, monkeypatch):
    command = ["bayes", "--alpha", "1,2", "--workers", 2, "--keep", tmp_path, "--json"]
    found = run(*command)
    assert [point["alpha"] for point in json.loads(found.stdout)["points"]] == [1, 2]
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(learning, "_of_signal", None)
    assert run(*command).stdout == found.stdout
