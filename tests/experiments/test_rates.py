"""The rates experiment end to end at a tiny size; a wrong rate does not pass."""

import dataclasses

import pytest

from sparsetoken.experiments import rates
from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of
from sparsetoken.figures import rates as figures
from sparsetoken.figures import style

TINY = rates.RatesProfile(
    alpha0s=(10.0,),
    dimension=100,
    trials=5,
    loads=(5.0,),
    vectorized_loads=(25.0,),
    features=50,
    fits=4,
    line_points=7,
)


@pytest.fixture(scope="module")
def ran():
    experiment = dataclasses.replace(rates.RATES, profiles={"quick": TINY})
    return experiment.run("quick")


def test_computed_claims_hold(ran):
    _, claims = ran
    assert {c.statement for c in claims} == {s.name for s in rates.STATEMENTS}
    computed = [c for c in claims if c.engine == "theory"]
    assert computed
    assert {c.verdict for c in computed} == {HOLDS}


def test_text_and_figure(ran):
    points, claims = ran
    text = rates.RATES.result(points, claims)
    assert "the cosine is negative for anti-aligned" in text
    assert "50 weights" in rates.RATES.setting(TINY)
    (picture,) = figures.PICTURES
    with style.styled(picture.name):
        assert len(picture.draw(points).axes) == 2


@pytest.mark.parametrize(
    ("quantity", "statement"),
    [
        ("misalignment", "alignment-rate"),
        ("excess", "infinite-data-rate"),
        ("limit", "vectorized-and-pooled-share-the-limit"),
    ],
)
def test_a_wrong_number_fails(ran, quantity, statement):
    def wrong(point):
        return dataclasses.replace(point, value=1.2 * point.value) if hit(point) else point

    def hit(point):
        return point.quantity == quantity and point.source == "theory" and point.curve != "pooled"

    claims = rates.RATES.claims(TINY, [wrong(p) for p in ran[0]])
    assert verdict_of(c for c in claims if c.statement == statement) == FAILS
