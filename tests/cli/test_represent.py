"""The command `represent`: keys, values, refusals."""

import json

import pytest

from command_line import invoke, refused
from sparsetoken.theory.oracle import strength as critical


def run(*arguments):
    return invoke("represent", *arguments)


@pytest.fixture
def few(monkeypatch):
    """Keep the curves that cost little."""
    names = ("pooled", "attention_fixed", "bayes")
    monkeypatch.setattr(critical, "CURVES", {name: critical.CURVES[name] for name in names})


def test_json_has_a_strength_for_each_model_and_length(few):
    found = run("--lengths", "4,16,64", "--error-level", 0.05, "--informative", 2, "--json")
    assert found.exit_code == 0
    values = json.loads(found.stdout)
    assert list(values) == [
        "lengths",
        "error_level",
        "informative",
        "positive_rate",
        "fixed_sharpness",
        "critical_strength",
        "status",
    ]
    assert values["lengths"] == [4, 16, 64]
    assert values["status"] == "converged"
    strengths = values["critical_strength"]
    # 2 z sqrt(L) / R with z the 5% point of a normal; the root is good to 1e-4
    assert strengths["pooled"] == pytest.approx([3.28971, 6.57941, 13.15883], rel=2e-4)
    assert all(b <= a for b, a in zip(strengths["bayes"], strengths["pooled"], strict=True))


def test_the_table_names_the_models(few):
    found = run("--lengths", "8")
    assert found.exit_code == 0
    for word in ("pooled", "attention_fixed", "bayes", "L = 8"):
        assert word in found.stdout


def test_a_level_out_of_reach_is_null_and_not_converged(few, monkeypatch):
    monkeypatch.setattr(critical, "_LARGEST", 3.0)
    found = run("--lengths", "64", "--json")
    assert found.exit_code == 1
    values = json.loads(found.stdout)
    assert values["critical_strength"]["pooled"] == [None]
    assert "pooled at L = 64" in values["status"]
    assert "pooled at L = 64" in found.stderr


@pytest.mark.parametrize(
    ("lengths", "told"),
    [
        ("8,8", "Invalid value for --lengths: 8 is there twice"),
        ("16,8", "lengths must be different lengths in rising order"),
        ("1", "length (L) must be an integer >= 2"),
    ],
)
def test_lengths_rise(lengths, told):
    assert told in refused("represent", "--lengths", lengths)
