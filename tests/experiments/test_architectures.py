"""The experiment end to end in small; it says where each network stands."""

import dataclasses
import subprocess
import sys

import pytest

from sparsetoken.beyond.architectures import Architecture
from sparsetoken.beyond.network_training import Recipe
from sparsetoken.experiments.architectures import EXPERIMENT, claims, work
from sparsetoken.experiments.architectures.figure import PICTURES
from sparsetoken.experiments.architectures.work import Trained
from sparsetoken.experiments.claims import BY_EXPERIMENT
from sparsetoken.experiments.references import References, predict_references
from sparsetoken.experiments.rows import Measured, Predicted, one, select
from sparsetoken.figures.style import styled
from sparsetoken.stages import Readout
from sparsetoken.validation import InvalidInput

TINY = work.Profile(
    loads=(2.0,),
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
NAMES = {"1 query", "2 heads", "1 head, class token read", "1 head, mean read"}


def _row(heads, value, error, load=8.0):
    network = Architecture("multi-query", heads)
    return Trained(load, network, Measured(value, error, 64, 4, "tensors"))


def _references(*values):
    return References(8.0, *map(Predicted, values))


@pytest.fixture(scope="module")
def rows(rows_of):
    pytest.importorskip("equinox")
    pytest.importorskip("optax")
    jobs = EXPERIMENT.jobs(TINY, 5)
    assert len({job.name for job in jobs}) == len(jobs)
    return rows_of(EXPERIMENT, TINY, seed=5)


def test_end_to_end(rows, said_of):
    trained = select(rows, Trained)
    assert {row.name for row in trained} == NAMES
    for row in trained:
        assert 0 < row.test_error.value < 0.7
        assert row.test_error.error > 0
        assert (row.test_error.trials, row.test_error.engine) == (2, "tensors")
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert len(comparisons) == len(trained) == 4
    assert {c.verdict for c in comparisons} == {BY_EXPERIMENT}
    # One key row for each of the three claims.
    keys = [c.claim for c in comparisons if c.key]
    assert sorted(keys) == sorted(c.name for c in EXPERIMENT.claims)
    assert EXPERIMENT.open
    words = said_of(EXPERIMENT, TINY, rows)
    for row in trained:
        text = f"{row.name} {row.test_error.value:.4f} ± {row.test_error.error:.4f}"
        assert text in words["result"]
    assert "d = 16" in words["setting"]
    assert "decoupled weight decay 1, for at most 10 steps" in words["setting"]


def test_all_networks_and_references_at_a_load_have_one_seed():
    jobs = EXPERIMENT.plan("quick")
    seeds = {}
    for job in jobs:
        if job.work is not work.predict:
            seeds.setdefault(job.arguments[0], set()).add(job.arguments[-1])
    assert [len(found) for found in seeds.values()] == [1, 1, 1]
    assert len(set.union(*seeds.values())) == 3


def test_a_number_that_is_none_is_not_an_answer(rows):
    def broken(row):
        if not isinstance(row, Trained) or row.name != "1 query":
            return row
        none = dataclasses.replace(row.test_error, value=float("nan"))
        return dataclasses.replace(row, test_error=none)

    comparisons = EXPERIMENT.compare(TINY, [broken(row) for row in rows])
    verdicts = {c.curve: c.verdict for c in comparisons}
    assert verdicts["1 query"] == "not converged"
    assert verdicts["2 heads"] == BY_EXPERIMENT


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_one_picture_for_each_family(rows, draw):
    with styled():
        (axes,) = draw(rows).axes
    labels = axes.get_legend_handles_labels()[1]
    assert "two-step attention, theory" in labels
    assert "Bayes, signal known" in labels
    assert len(set(labels) & NAMES) in (1, 2)
    low, high = axes.get_ylim()
    family = draw.keywords["family"]
    shown = [row.test_error for row in select(rows, Trained) if row.network.family == family]
    known, simulated = one(rows, References), one(rows, work.Simulated)
    shown += [known.pooled, known.attention, known.bayes, simulated.pooled, simulated.attention]
    assert all(low < value.value < high for value in shown)


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
    row = _row(1, value, 0.01)
    assert claims.between(row.test_error, _references(0.3, 0.1, 0.02, 0.03)) == words
    assert claims.standings([row], _references(0.3, 0.1, 0.02, 0.03)) == {words: [row]}


def test_what_more_heads_change(rows, said_of):
    many, few = _row(8, 0.05, 0.004, 2.0), _row(1, 0.06, 0.003, 2.0)
    found = claims.with_more_heads([many, few])
    assert (found["many"], found["few"]) == (many, few)
    # The error of a difference: sqrt(0.003^2 + 0.004^2).
    assert found["change"].value == pytest.approx(-0.01)
    assert found["change"].error == pytest.approx(0.005)
    assert claims.with_more_heads([few]) is None
    text = said_of(EXPERIMENT, TINY, [*rows, many])["result"]
    assert "; 8 queries less 1 query: −0." in text
    assert "; 2 heads less" not in text


def test_the_two_steps_get_as_many_samples():
    (references,) = work.predict(4.0, 5e-3)
    assert work.steps_of(4.0).alpha0 == 2.0  # and the readout has the other half
    again = predict_references(
        work.PROBLEM,
        work.steps_of(4.0),
        Readout(ridge=work.RIDGE, alpha1=2.0),
        tolerance=5e-3,
    )
    assert references.attention == again.attention


def test_without_the_libraries_the_experiment_is_left_out(monkeypatch):
    assert EXPERIMENT.extra == "architectures"
    monkeypatch.setitem(sys.modules, "optax", None)
    assert not EXPERIMENT.available
    job = next(job for job in EXPERIMENT.jobs(TINY, 0) if job.work is work.train)
    with pytest.raises(InvalidInput, match="pip install 'sparsetoken"):
        job.run()


def test_the_experiment_is_imported_without_the_libraries():
    code = (
        "import sys; sys.modules['equinox'] = sys.modules['optax'] = None; "
        "import sparsetoken.experiments.architectures.figure"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
