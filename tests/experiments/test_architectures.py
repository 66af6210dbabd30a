"""The experiment end to end in small; it says where each network stands."""

import dataclasses
import subprocess
import sys

import pytest

from sparsetoken.beyond.network_training import Recipe
from sparsetoken.experiments import architectures as module
from sparsetoken.experiments.architectures import ARCHITECTURES, ArchitecturesProfile
from sparsetoken.experiments.claims import BY_EXPERIMENT
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.references import References
from sparsetoken.figures.architectures import PICTURES
from sparsetoken.validation import InvalidInput

TINY = ArchitecturesProfile(
    alphas=(2.0,),
    dimension=16,
    trials=2,
    test_samples=2500,
    queries=(1,),
    heads=(2,),
    layer_heads=(1,),
    recipe=Recipe(weight_decays=(1.0,), block=5, blocks=2),
    reference_trials=2,
    tolerance=1e-2,
)


@pytest.fixture(scope="module")
def points():
    pytest.importorskip("equinox")
    pytest.importorskip("optax")
    jobs = ARCHITECTURES.jobs(TINY, 5)
    assert len({job.name for job in jobs}) == len(jobs)
    return [point for job in jobs for point in job.work(*job.arguments)]


def test_end_to_end(points):
    trained = select(points, source="tensors")
    assert {p.curve for p in trained} == set(TINY.networks)
    for p in trained:
        assert 0 < p.value < 0.7
        assert p.error > 0
        assert p.trials == 2
    claims = ARCHITECTURES.claims(TINY, points)
    assert len(claims) == len(trained) == 4
    assert {c.verdict for c in claims} == {BY_EXPERIMENT}
    # One key row for each of the three statements.
    keys = [c.statement for c in claims if c.key]
    assert sorted(keys) == sorted(s.name for s in ARCHITECTURES.statements)
    assert all(statement.open for statement in ARCHITECTURES.statements)
    text = ARCHITECTURES.result(points, claims)
    for p in trained:
        assert f"{p.curve} {p.value:.4f} ± {p.error:.4f}" in text
    assert "d = 16" in ARCHITECTURES.setting(TINY)


def test_a_number_that_is_none_is_not_an_answer(points):
    broken = [
        dataclasses.replace(p, value=float("nan")) if p.curve == "1 query" else p for p in points
    ]
    verdicts = {c.curve: c.verdict for c in ARCHITECTURES.claims(TINY, broken)}
    assert verdicts["1 query"] == "not converged"
    assert verdicts["2 heads"] == BY_EXPERIMENT


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_one_picture_for_each_family(points, picture):
    (axes,) = picture.draw(points).axes
    labels = axes.get_legend_handles_labels()[1]
    assert "two-step attention, theory" in labels
    assert "Bayes, signal known" in labels
    assert len(set(labels) & set(TINY.networks)) in (1, 2)
    low, high = axes.get_ylim()
    family = picture.draw.keywords["family"]
    assert all(low < p.value < high for p in points if p.group == family)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.40, "worse than pooled"),
        (0.31, "level with pooled"),
        (0.20, "between pooled and two-step attention"),
        (0.11, "level with two-step attention"),
        (0.05, "between two-step attention and Bayes"),
    ],
)
def test_where_a_number_stands(value, words):
    point = Point("1 query", "test_error", 2.0, value, 0.01)
    assert module._between(point, References(pooled=0.3, attention=0.1, bayes=0.02)) == words


def test_what_more_heads_change():
    def point(name, value, error):
        return Point(name, "test_error", 8.0, value, error)

    found = [point("8 queries", 0.05, 0.004), point("1 query", 0.06, 0.003)]
    text = module._standings(found, References(pooled=0.3, attention=0.02, bayes=0.01))
    # The error of a difference: sqrt(0.003^2 + 0.004^2).
    assert text.endswith("8 queries less 1 query: -0.0100 ± 0.0050")


def test_the_two_steps_get_as_many_samples():
    training = module._training(4.0)
    alpha1 = 4.0 - training.alpha0
    assert training.alpha0 == alpha1 == 2.0


def test_missing_libraries_stop_the_experiment_before_it_begins(monkeypatch):
    monkeypatch.setitem(sys.modules, "optax", None)
    with pytest.raises(InvalidInput, match="pip install 'sparsetoken"):
        ARCHITECTURES.jobs(TINY, 0)


def test_the_experiment_is_imported_without_the_libraries():
    code = (
        "import sys; sys.modules['equinox'] = sys.modules['optax'] = None; "
        "import sparsetoken.experiments.architectures, sparsetoken.figures.architectures"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
