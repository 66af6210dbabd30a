"""The ridgeless experiment end to end at a tiny size; a wrong number does not pass."""

import dataclasses

import pytest

from sparsetoken.experiments import ridgeless
from sparsetoken.experiments.claims import FAILS, verdict_of
from sparsetoken.figures import ridgeless as figures
from sparsetoken.figures import style

TINY = ridgeless.RidgelessProfile(
    features=40,
    trials=3,
    loads=(0.5, 2.0),
    ridge_loads=(0.5, 2.0),
    vectorized_loads=(0.5,),
    line_points=3,
    ratios=(0.75, 1.25),
    margin_dimension=30,
    margin_trials=3,
    ridges=(1e-3, 1e-5, 1e-6),
)


@pytest.fixture(scope="module")
def ran():
    experiment = dataclasses.replace(ridgeless.RIDGELESS, profiles={"quick": TINY})
    return experiment.run("quick")


def test_every_statement_has_claims_and_computed_ones_hold(ran):
    _, claims = ran
    assert {c.statement for c in claims} == {s.name for s in ridgeless.STATEMENTS}
    # Those that compare computed numbers do not depend on the size of the simulation.
    assert not [c for c in claims if c.engine == "theory" and c.verdict == FAILS and c.trials == 0]


def test_text_and_figures(ran):
    points, claims = ran
    assert "largest margin" in ridgeless.RIDGELESS.result(points, claims)
    assert "40 weights" in ridgeless.RIDGELESS.setting(TINY)
    for picture in figures.PICTURES:
        with style.styled(picture.name):
            assert len(picture.draw(points).axes) == 2


@pytest.mark.parametrize(
    ("change", "statement"),
    [
        ({"quantity": "(load - 1) chi"}, "susceptibility-diverges"),
        ({"group": "capacity", "quantity": "training_loss", "x": 0.75}, "zero-loss-below-capacity"),
        ({"group": "capacity", "quantity": "training_loss", "x": 1.25}, "positive-loss-above-"),
        ({"group": "load", "quantity": "training_loss", "x": 0.5, "y": 0.0}, "interpolation-thr"),
        ({"group": "direction", "quantity": "test_error", "x": 1e-6}, "direction-to-max-margin"),
    ],
)
def test_a_wrong_number_fails(ran, change, statement):
    def wrong(point):
        fits = all(getattr(point, name) == value for name, value in change.items())
        fits = fits and (point.source != "theory" or point.group in ("limits", "direction"))
        return dataclasses.replace(point, value=2 * point.value + 1) if fits else point

    claims = ridgeless.RIDGELESS.claims(TINY, [wrong(p) for p in ran[0]])
    assert verdict_of(c for c in claims if c.statement.startswith(statement)) == FAILS


def test_the_line_avoids_the_threshold():
    assert 1.0 not in ridgeless._grid(20)
    assert min(abs(x - 1) for x in ridgeless._grid(20)) > 1e-3
