"""The representation experiment, end to end on a tiny profile."""

import dataclasses
import math

import numpy as np
import pytest

from sparsetoken.experiments import representation
from sparsetoken.experiments.claims import FAILS, HOLDS
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.representation import REPRESENTATION, RepresentationProfile
from sparsetoken.experiments.representation_claims import judge_points
from sparsetoken.figures.representation import PICTURES

TINY = RepresentationProfile((8, 64, 512), (1,), 64, (2.0, 5.0), ((32, 1, 3.5), (32, 2, 3.0)), 3200)


BUILT = {
    "elementwise_sigmoid": lambda L: 4 + L**0.5,
    "elementwise_tanh": lambda L: 4 + 2 * L**0.25,
    "elementwise_linear": lambda L: 4 + 2 * L**0.25,
    "elementwise_exp": lambda L: 4 + math.sqrt(2 * math.log(L)),
}
"""Curves that cost most, built from their laws here."""


@pytest.fixture(scope="module")
def points():
    found = []
    for job in representation._jobs(TINY, 0):
        name = job.arguments[0]
        if name not in BUILT:
            found += job.work(*job.arguments)
        elif job.work is representation._critical:
            L = job.arguments[1]
            found.append(Point(name, "critical_strength", L, BUILT[name](L), group="R = 1"))
    return found


def test_claims_figures_and_words(points):
    claims = judge_points(TINY, points)
    assert {c.statement for c in claims} == {s.name for s in REPRESENTATION.statements}
    for name in ("linear-needs-sqrt-length", "bayes-boundary", "bayes-is-the-floor"):
        assert {c.verdict for c in claims if c.statement == name} == {HOLDS}
    text = REPRESENTATION.result(points, claims)
    assert "L = 512" in text
    pooled = select(points, curve="pooled", quantity="critical_strength")[-1]
    assert f"{pooled.value:.0f} by pooling" in text
    assert "k = 1" in REPRESENTATION.setting(TINY)
    for picture in PICTURES:
        assert picture.draw(points).axes


def test_fresh_samples_meet_the_prediction(points):
    claims = [c for c in judge_points(TINY, points) if c.statement == "oracle-error"]
    assert {c.verdict for c in claims} == {HOLDS}
    assert {c.curve for c in claims} >= {"attention", "pooled", "bayes"}


@pytest.mark.parametrize(
    ("statement", "curve", "factor"),
    [
        ("bayes-is-the-floor", "bayes", 1.1),
        ("linear-needs-sqrt-length", "pooled", None),
        ("bayes-boundary", "attention", 1.1),
        ("attention-fixed-sharpness", "attention_fixed", None),
    ],
)
def test_wrong_numbers_fail(points, statement, curve, factor):
    wrong = [
        dataclasses.replace(p, value=p.value * (factor or np.log(p.x) / 3))
        if p.curve == curve and p.quantity == "critical_strength"
        else p
        for p in points
    ]
    claims = [c for c in judge_points(TINY, wrong) if c.statement == statement]
    assert FAILS in {c.verdict for c in claims}


def test_a_wrong_error_fails(points):
    wrong = [
        dataclasses.replace(p, value=1.2 * p.value)
        if p.curve == "attention" and p.source == "tensors"
        else p
        for p in points
    ]
    claims = [c for c in judge_points(TINY, wrong) if c.statement == "oracle-error"]
    assert {c.verdict for c in claims if c.curve == "attention"} == {FAILS}


def test_a_job_is_repeatable():
    again = [representation._fresh(16, 1, 3.0, 320, 4) for _ in range(2)]
    assert again[0] == again[1]
