"""Options with several values: a point for each combination, and what is said of it."""

import json

import pytest

from command_line import invoke as run

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


def test_a_table_has_a_line_for_each_setting():
    lines = run("align", "--strength", "1,2").stdout.splitlines()
    assert lines[1].split() == ["strength", "cosine", "sharpness", "status"]
    assert [line.split()[0] for line in lines[2:]] == ["1.000", "2.000"]


def test_advice_says_at_which_settings_and_the_exit_code_is_the_worst():
    rare = ["--positive-rate", "0.05", "--strength", "1", "--eta-b", "0", "--tolerance", "0.1"]
    found = run("predict", "attention,elementwise", *rare)
    assert [line.partition(": ")[0] for line in found.stderr.splitlines()] == [
        "At model = attention",
        "At model = elementwise",
    ]
    diverging = ["descend", "--eta-w", "900", "--loss", "square", "--strength", "1,2"]
    fallen = run(*diverging, "--json")
    assert fallen.exit_code == 1
    assert json.loads(fallen.stdout)["status"] == "no_limit"
    assert "Not converged (no_limit)" in fallen.stderr


def test_a_word_among_numbers_is_named():
    found = run("predict", "pooled", "--alpha1", "1,two")
    assert found.exit_code == 2
    assert "--alpha1: 'two' is not a number." in found.stderr


def test_advice_at_some_points_is_one_sentence():
    options = ["--eta-q", "0.01", "--alpha1", "1,2", "--tolerance", "0.1"]
    found = run("predict", "attention,pooled", *options)
    assert found.stderr.startswith("At model = attention, at 2 of 2 points, first: ")
