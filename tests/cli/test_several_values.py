"""Options with several values: a point for each combination, and what is said of it."""

import json

import pytest

from command_line import invoke as run
from sparsetoken.cli.output import Answer, together

TASK = ["--length", "4", "--strength", "2"]


def values(*arguments):
    found = run(*arguments, "--json")
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)


def flat(values):
    """Return the numbers and words of an object, those of its inner ones by longer names."""
    found = {}
    for name, value in values.items():
        inner = flat(value) if isinstance(value, dict) else {"": value}
        found |= {f"{name} {more}": one for more, one in inner.items()}
    return found


def test_points_are_the_answers_one_by_one_with_the_options_that_vary():
    several = values("predict", "pooled,vectorized", *TASK, "--alpha1", "1, 3", "--loss", "square")
    expected = [
        {"model": model, "alpha1": alpha}
        | values("predict", model, *TASK, "--alpha1", alpha, "--loss", "square")
        for model in ("pooled", "vectorized")
        for alpha in (1, 3)
    ]
    assert several["status"] == "converged"
    for point, one in zip(several["points"], expected, strict=True):
        assert list(point) == list(one)
        # Points that are solved together agree with those alone to rounding, which the condition
        # of the equations enlarges.
        found, expected_ones = flat(point), flat(one)
        assert found.keys() == expected_ones.keys()
        for name, value in expected_ones.items():
            near = value if isinstance(value, str) else pytest.approx(value, rel=1e-9, abs=1e-12)
            assert found[name] == near, name


@pytest.mark.parametrize(
    ("command", "option", "several"),
    [
        (["align"], "--length", ["4", "8"]),
        (["align"], "--loss", ["square", "logistic"]),
        (["predict", "pooled", *TASK], "--alpha1", ["1", "inf"]),
        (["bayes"], "--alpha", ["1", "2.5"]),
        (["simulate", "pooled", "--trials", "2", *TASK], "--dimension", ["20", "30"]),
        pytest.param(
            *(["descend", "--steps", "1", "--tolerance", "0.1"], "--strength", ["1", "2"]),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_numbers_and_words_may_be_several(command, option, several):
    points = values(*command, option, ",".join(several))["points"]
    name = option.strip("-")
    assert [str(point.pop(name)).removesuffix(".0") for point in points] == several
    assert points == [values(*command, option, one) for one in several]
    shown = run(*command, option, ",".join(several)).stdout
    assert name in shown
    assert all(one in shown for one in several)


def test_the_first_of_several_numbers_may_be_negative():
    given = ["--sharpness", "1", "--tolerance", "0.1"]
    points = values("predict", "attention", *TASK, *given, "--cosine", "-0.5,0.5")["points"]
    assert [point["cosine"] for point in points] == [-0.5, 0.5]


def test_capacity_of_all_models_is_the_default():
    from sparsetoken.model.models import MODELS

    query = ["--cosine", "1", "--sharpness", "0", "--tolerance", "0.1"]
    points = values("capacity", *TASK, *query)["points"]
    assert [point["model"] for point in points] == list(MODELS)
    assert set(points[0]) == {"model", "capacity", "numerical_error", "status"}
    assert points == values("capacity", "all", *TASK, *query)["points"]


def test_a_table_has_standard_errors_beside_the_means():
    found = run("simulate", "pooled", "--trials", "2", "--dimension", "20,30", *TASK)
    assert "±" in found.stdout
    assert " se " not in found.stdout


def test_a_table_has_the_settings_as_lines_or_columns_as_is_narrower():
    few = run("align", "--strength", "1,2").stdout.splitlines()
    many = run("align", "--strength", ",".join(map(str, range(1, 21)))).stdout.splitlines()
    assert few[0].split() == ["strength", "1.000", "2.000"]
    assert few[-1].split() == ["status", "converged", "converged"]
    assert many[0].split()[:2] == ["strength", "cosine"]
    assert len(many) == 21


def test_advice_says_at_which_settings_and_the_exit_code_is_the_worst():
    found = run("align", "--positive-rate", "0.05,0.5", "--strength", "1", "--eta-b", "0")
    assert [line.partition(":")[0] for line in found.stderr.splitlines()] == [
        "At positive_rate = 0.05",
        "At positive_rate = 0.5",
    ]
    everywhere = run("predict", "attention", "--cosine", "1", "--sharpness", "1,2", "--eta-q", "3")
    assert everywhere.stderr == "No effect: --eta-q. --cosine and --sharpness give the query.\n"
    fallen = run("descend", "--eta-w", "900", "--loss", "square", "--strength", "1,2", "--json")
    assert fallen.exit_code == 1
    assert json.loads(fallen.stdout)["status"] == "no_limit"
    assert "\nNot converged (no_limit)." in fallen.stderr  # at both


def test_the_status_is_that_of_a_setting_that_fell_short():
    fallen = Answer("", {"status": "no_limit"}, ["b"], shortfall="Raise it.")
    answers = [Answer("", {"status": "converged"}, ["a"]), fallen]
    found = together([{"ridge": 1.0}, {"ridge": 2.0}], answers)
    assert found.values["status"] == "no_limit"
    assert found.lines == ["ridge = 1.0", "a", "ridge = 2.0", "b"]
    assert (found.advice, found.code) == (["At ridge = 2.0: Raise it."], 1)
