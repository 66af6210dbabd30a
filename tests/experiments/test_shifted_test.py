"""Test data of another law, with two places of each kind."""

import dataclasses

import pytest

from sparsetoken.experiments import shifted_test as this
from sparsetoken.experiments.claims import FAILS, verdict_of
from sparsetoken.figures import shifted_test as figure

TINY = this.ShiftedTestProfile(
    trials=4, dimension=60, lengths=(5, 20), rates=(0.2, 0.8), strengths=(3.0, 6.0)
)


@pytest.fixture(scope="module")
def points():
    return [p for job in this.SHIFTED_TEST.jobs(TINY, 0) for p in job.work(*job.arguments)]


def test_the_statement_holds_and_is_drawn(points):
    claims = this._claims(TINY, points)
    assert verdict_of(claims) == "holds"
    assert len(claims) == 12
    assert sum(c.key for c in claims) == 3
    assert "Trained at L = 10" in this.SHIFTED_TEST.result(points, claims)
    assert this.SHIFTED_TEST.setting(TINY)
    assert figure.draw(points).axes


def test_the_training_law_at_test_fails(points):
    """The error without the shift is not that of the shifted data."""
    unshifted = {p.curve: p.value for p in points if p.x == 20 and p.source == "theory"}
    bad = [
        dataclasses.replace(p, value=unshifted[p.curve])
        if p.group == "strength" and p.source == "theory"
        else p
        for p in points
    ]
    assert FAILS in {c.verdict for c in this._claims(TINY, bad)}


def test_profiles_state_their_sizes():
    for profile in this.SHIFTED_TEST.profiles.values():
        assert all(job.cost > 0 for job in this.SHIFTED_TEST.jobs(profile, 0))
