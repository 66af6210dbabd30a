"""Reference values: in order, and in words."""

import pytest

import sparsetoken as st
from sparsetoken.experiments.core.references import PROBLEM, predict_references
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.core.words import parts_of
from sparsetoken.model.stages import Readout, TwoSteps

STEPS = TwoSteps(2.0, eta_q=25.0)
LEVELS = {"pooled": 0.4, "attention": 0.15, "floor": 0.12, "bayes": 0.1}


def made(load, **levels):
    values = {**LEVELS, **levels}
    return Rows(Row(name, "test_error", v, at={"load": load}) for name, v in values.items())


def predicted(alpha1, **options):
    rows = predict_references(PROBLEM, STEPS, Readout(alpha1=alpha1), **options)
    return {row.series: row for row in rows}


@pytest.fixture(scope="module")
def references():
    return predicted(2.0)


def test_the_references_are_in_order_and_the_floor_has_the_samples_of_both_stages(references):
    rows = [references[name] for name in ("bayes", "floor", "attention", "pooled")]
    assert [row.value for row in rows] == sorted(row.value for row in rows)
    assert all(row.converged for row in rows)
    expected = st.oracle.learning_error(PROBLEM, STEPS.alpha0 + 2.0).test_error
    assert references["floor"].value == pytest.approx(expected)
    assert references["bayes"].value == st.oracle.bayes_error(PROBLEM).test_error


def test_pooled_may_have_more_samples_than_the_readout_of_attention(references):
    more = predicted(2.0, load=4.0)
    assert more["pooled"].value < references["pooled"].value
    assert more["pooled"] == predicted(4.0)["pooled"]
    assert all(more[n].value == references[n].value for n in ("attention", "floor", "bayes"))


@pytest.mark.parametrize(("error", "share"), [(0.4, "0.0"), (0.1, "100.0"), (0.25, "50.0")])
def test_the_share_of_the_gap(error, share):
    template = '# One\n{% from "references.md" import known, standing %}\n'
    template += "{{ standing(rows, 2.0, measured) }}\n## Known\n{{ known(rows, 2.0) }}"
    measured = Row("simulated", "test_error", error, 0.03, dimension=100, trials=8)
    rows = made(2.0) + made(4.0, pooled=0.3)
    words = parts_of(template, {"rows": rows, "measured": measured})
    assert " ".join(words["Setting"].striptags().split()) == (
        f"{error:.4f} ± 0.0300, which closes {share} ± 10.0 % of the gap from pooled to Bayes"
    )
    assert "83.3 % of the gap" in words["Known"]
