"""Attention against pooling, with few cosines and one load."""

import dataclasses

import pytest

from sparsetoken.experiments import misalignment as this
from sparsetoken.experiments.claims import FAILS, verdict_of
from sparsetoken.figures import misalignment as figure

TINY = this.MisalignmentProfile(
    trials=6, dimension=100, loads=(4.0,), measured=(0.0, 0.8), lengths=(4,), curve_points=5
)


@pytest.fixture(scope="module")
def points():
    return [p for job in this.MISALIGNMENT.jobs(TINY, 0) for p in job.work(*job.arguments)]


def test_all_statements_hold_and_are_drawn(points):
    claims = this._claims(TINY, points)
    for statement in this.MISALIGNMENT.statements:
        assert verdict_of([c for c in claims if c.statement == statement.name]) == "holds"
    assert "cross at the cosine 0.194" in this.MISALIGNMENT.result(points, claims)
    assert this.MISALIGNMENT.setting(TINY)
    assert figure.draw(points).axes


@pytest.mark.parametrize(
    ("curve", "source", "statement"),
    [
        ("crossing", "theory", "misaligned-attention-loses"),
        ("attention", "reduced", "crossing-at-finite-load"),
        ("L = 4", "theory", "residual-error-falls-with-alignment"),
    ],
)
def test_a_wrong_number_fails(points, curve, source, statement):
    """Values mirrored at 0.3, and the crossing with them."""
    bad = [
        dataclasses.replace(p, value=0.6 - p.value, x=1 - p.x if curve == "crossing" else p.x)
        if (p.curve, p.source) == (curve, source)
        else p
        for p in points
    ]
    claims = this._claims(TINY, bad)
    assert FAILS in {c.verdict for c in claims if c.statement == statement}


def test_profiles_state_their_sizes():
    for profile in this.MISALIGNMENT.profiles.values():
        assert all(job.cost > 0 for job in this.MISALIGNMENT.jobs(profile, 0))
