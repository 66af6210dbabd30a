"""The command minimize: keys, several values, bad input."""

import json

import pytest

from command_line import invoke as run
from sparsetoken import Minimum, SparseTokenProblem, minimize

TASK = ["--length", "3", "--strength", "4"]
KEYS = (
    *("test_error", "training_loss", "objective", "overlap_w", "overlap_q", "norm_w", "norm_q"),
    *("bias", "replicon", "numerical_error", "status"),
)


@pytest.mark.slow
def test_keys_and_values():
    found = run("minimize", *TASK, "--alpha", 2, "--ridge-q", 0.2, "--ridge-w", 0.1, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    assert set(KEYS) <= set(values)
    problem = SparseTokenProblem(3, 1, 4.0)
    minimum = Minimum(alpha=2.0, ridge={"q": 0.2, "w": 0.1})
    expected = minimize(problem, minimum)
    assert values["test_error"] == expected.test_error
    assert values["overlap_w"] == expected.weights.overlaps[1, 0]
    assert values["bias"] == expected.weights.c[0]


def test_bad_input():
    for option, value in (("--ridge-w", 0), ("--alpha", -1), ("--loss", "hinge")):
        found = run("minimize", *TASK, option, value)
        assert found.exit_code == 2
        assert option.lstrip("-").replace("-", "_") in found.stderr
