"""Reference values: in order, and in words."""

import pytest

import sparsetoken as st
from sparsetoken.experiments.core.references import (
    PROBLEM,
    References,
    predict_references,
)
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.core.words import parts_of
from sparsetoken.model.stages import Readout, TwoSteps

STEPS = TwoSteps(2.0, eta_q=25.0)
LEVELS = {"pooled": 0.4, "attention": 0.15, "floor": 0.12, "bayes": 0.1}


def made(load, **levels):
    values = {**LEVELS, **levels}
    return Rows(Row(name, "test_error", v, at={"load": load}) for name, v in values.items())


@pytest.fixture(scope="module")
def references():
    return References.of(Rows(predict_references(PROBLEM, STEPS, Readout(alpha1=2.0))), 2.0)


def test_the_references_are_in_order(references):
    rows = [references.bayes, references.floor, references.attention, references.pooled]
    assert [row.value for row in rows] == sorted(row.value for row in rows)
    assert all(row.converged for row in rows)


def test_the_floor_is_that_of_the_samples_of_both_stages(references):
    expected = st.oracle.learning_error(PROBLEM, STEPS.alpha0 + 2.0).test_error
    assert references.floor.value == pytest.approx(expected)
    assert references.bayes.value == st.oracle.bayes_error(PROBLEM).test_error


def test_pooled_may_have_more_samples_than_the_readout_of_attention(references):
    def of(alpha1, **options):
        readout = Readout(alpha1=alpha1)
        return References.of(Rows(predict_references(PROBLEM, STEPS, readout, **options)), 2.0)

    more = of(2.0, pooled_alpha1=4.0)
    assert more.pooled.value < references.pooled.value
    assert more.pooled == of(4.0, load=2.0).pooled
    assert (more.attention, more.bayes) == (references.attention, references.bayes)


def test_the_share_of_the_gap():
    one = References.of(made(2.0) + made(4.0), 2.0)
    assert [one.share(v) for v in (0.4, 0.1, 0.25)] == pytest.approx([0, 1, 0.5])
    template = '# One\n{% from "references.md" import known, standing %}\n'
    template += "{{ standing(one, measured) }}\n## Known\n{{ known(one) }}"
    measured = Row("simulated", "test_error", 0.25, 0.03, dimension=100, trials=8)
    words = parts_of(template, {"one": one, "measured": measured})
    assert " ".join(words["Setting"].striptags().split()) == (
        "0.2500 ± 0.0300, which closes 50.0 ± 10.0 % of the gap from pooled to Bayes"
    )
    assert "83.3 % of the gap" in words["Known"]
