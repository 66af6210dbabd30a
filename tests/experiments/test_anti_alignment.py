"""Maps of the sign of the query, with few cells."""

import dataclasses

import pytest

from sparsetoken.experiments import anti_alignment as this
from sparsetoken.experiments.claims import FAILS, verdict_of
from sparsetoken.figures import anti_alignment as figure

TINY = this.AntiAlignmentProfile(
    cells=5, trials=4, dimension=300, rates=(0.2,), loads=(2.0,), factors=(0.4, 2.0)
)


@pytest.fixture(scope="module")
def points():
    return [p for job in this.ANTI_ALIGNMENT.jobs(TINY, 0) for p in job.work(*job.arguments)]


def test_all_statements_hold_and_are_drawn(points):
    claims = this._claims(TINY, points)
    for statement in this.ANTI_ALIGNMENT.statements:
        assert verdict_of([c for c in claims if c.statement == statement.name]) == "holds"
    assert "turns away" in this.ANTI_ALIGNMENT.result(points, claims)
    assert this.ANTI_ALIGNMENT.setting(TINY)
    assert figure.draw(points).axes


@pytest.mark.parametrize(
    ("curve", "source", "wrong"),
    [
        ("query", "reduced", lambda v: -v),
        ("boundary", "theory", lambda v: 2 * v),
        ("tiny steps", "theory", lambda v: 1.01 * v),
    ],
)
def test_a_wrong_number_fails(points, curve, source, wrong):
    bad = [
        dataclasses.replace(p, value=wrong(p.value))
        if (p.curve, p.source) == (curve, source)
        else p
        for p in points
    ]
    assert FAILS in {c.verdict for c in this._claims(TINY, bad)}


def test_profiles_state_their_sizes():
    for profile in this.ANTI_ALIGNMENT.profiles.values():
        assert all(job.cost > 0 for job in this.ANTI_ALIGNMENT.jobs(profile, 0))
