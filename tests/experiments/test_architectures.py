"""The experiment end to end in small; it says where each network stands."""

import sys

import pytest

from sparsetoken.experiments.architectures import (
    EXPERIMENT,
    FIGURES,
    between,
    standings,
    train,
    with_more_heads,
)
from sparsetoken.experiments.core.claims import BY_EXPERIMENT
from sparsetoken.experiments.core.references import References
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.figures import style
from sparsetoken.validation import InvalidInput
from sparsetoken.variants.network_training import Recipe

NAMES = {"1 query", "2 heads", "1 head, class token read", "1 head, mean read"}

SMALL = dict(
    loads=(2.0,),
    dimension=16,
    trials=2,
    test_samples=2500,
    queries=(1,),
    heads=(2,),
    layer_heads=(1,),
    recipe=Recipe(weight_decays=(1.0,), block=5, blocks=2),
    reference_trials=2,
    tolerance=0.01,
)


@pytest.fixture(scope="module")
def rows(rows_of, sizes):
    pytest.importorskip("optax")
    return rows_of(EXPERIMENT, sizes, seed=5)


def _row(heads, value, error):
    name = f"{heads} {'query' if heads == 1 else 'queries'}"
    at = {"load": 2.0, "family": "multi-query", "heads": heads, "network": name}
    return Row("trained", "test_error", value, error, at, "tensors", 64, 4)


def test_end_to_end(rows, sizes, said_of):
    trained = rows.where("trained")
    assert set(trained.distinct("network")) == NAMES
    for row in trained:
        assert 0 < row.value < 0.7
        assert row.error > 0
        assert (row.trials, row.engine) == (2, "tensors")
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert len(comparisons) == len(trained) == 4
    assert {c.verdict for c in comparisons} == {BY_EXPERIMENT}
    # One key row for each of the three claims.
    keys = [c.claim for c in comparisons if c.key]
    assert sorted(keys) == sorted(c.name for c in EXPERIMENT.claims)
    assert EXPERIMENT.open
    words = said_of(EXPERIMENT, sizes, rows)
    for row in trained:
        assert f"{row['network']} {row.value:.4f} ± {row.error:.4f}" in words["Found"]
    assert "d = 16" in words["Setting"]
    assert "decoupled weight decay 1, for at most 10 steps" in words["Setting"]


def test_all_networks_and_references_at_a_load_have_one_seed():
    seeds = {}
    for piece in EXPERIMENT.plan("quick"):
        if "seed" in piece.options:
            load = piece.arguments[0] if piece.work is train else piece.at["load"]
            seeds.setdefault(load, set()).add(piece.options["seed"])
    assert [len(found) for found in seeds.values()] == [1, 1, 1]
    assert len(set.union(*seeds.values())) == 3


def test_a_number_that_is_none_is_not_an_answer(rows, sizes, changed):
    broken = changed(rows, lambda row: row.but(value=float("nan")), network="1 query")
    verdicts = {c.curve: c.verdict for c in EXPERIMENT.compared(sizes, broken)}
    assert verdicts["1 query"] == "not converged"
    assert verdicts["2 heads"] == BY_EXPERIMENT


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
    known = References(*(Row("known", "test_error", at) for at in (0.3, 0.1, 0.03, 0.02)))
    assert between(row, known) == words
    assert standings([row], known) == {words: [row]}


def test_what_more_heads_change(rows, sizes, said_of):
    many, few = _row(8, 0.05, 0.004), _row(1, 0.06, 0.003)
    found = with_more_heads([many, few])
    assert (found["many"], found["few"]) == (many, few)
    # The error of a difference: sqrt(0.003^2 + 0.004^2).
    assert found["change"].value == pytest.approx(-0.01)
    assert found["change"].error == pytest.approx(0.005)
    assert with_more_heads([few]) is None
    text = said_of(EXPERIMENT, sizes, Rows([*rows, many]))["Found"]
    assert "; 8 queries less 1 query: −0." in text
    assert "; 2 heads less" not in text


@pytest.mark.parametrize("name", FIGURES)
def test_the_legend_lies_within_the_figure(rows, name):
    with style.styled():
        figure = FIGURES[name](rows)
        figure.canvas.draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_without_the_libraries_the_experiment_is_left_out(monkeypatch, sizes):
    assert EXPERIMENT.extra == "architectures"
    monkeypatch.setitem(sys.modules, "optax", None)
    assert not EXPERIMENT.available
    piece = next(piece for piece in EXPERIMENT.work(sizes, 0) if piece.work is train)
    with pytest.raises(InvalidInput, match="pip install 'sparsetoken"):
        piece.run()
