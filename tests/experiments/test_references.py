"""Reference values: in order, in words, and Bayes by drawing its test."""

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.experiments.reference_lines import labelled_legend, reference_lines
from sparsetoken.experiments.references import PROBLEM, References, predict_references
from sparsetoken.experiments.rows import Measured, Predicted
from sparsetoken.report.page import _environment
from sparsetoken.stages import Readout, TwoSteps

STEPS = TwoSteps(2.0, eta_q=25.0)
MADE = References(2.0, *map(Predicted, (0.4, 0.15, 0.1, 0.12)))


@pytest.fixture(scope="module")
def references():
    return predict_references(PROBLEM, STEPS, Readout(alpha1=2.0))


def test_the_references_are_in_order(references):
    names = ("bayes", "floor", "attention", "pooled")
    found = [getattr(references, name) for name in names]
    assert [p.value for p in found] == sorted(p.value for p in found)
    assert all(p.converged for p in found)


def test_the_floor_is_that_of_the_samples_of_both_stages(references):
    expected = st.oracle.learning_error(PROBLEM, STEPS.alpha0 + 2.0).test_error
    assert references.floor.value == pytest.approx(expected)


def test_bayes_is_the_likelihood_ratio_test(references):
    g = np.random.default_rng(1).standard_normal((200_000, 10))
    shares = []
    for shift, wrong in ((5.0, -1), (0.0, 1)):
        g[:, 0] += shift
        ratio = np.log(np.mean(np.exp(5.0 * g - 12.5), axis=1))
        shares.append(np.mean(wrong * ratio > 0))
        g[:, 0] -= shift
    # 2 x 200000 draws of an error near 0.018: standard error 0.0002.
    assert references.bayes.value == pytest.approx(np.mean(shares), abs=0.001)


def test_pooled_may_have_more_samples_than_the_readout_of_attention(references):
    more = predict_references(PROBLEM, STEPS, Readout(alpha1=2.0), pooled_alpha1=4.0)
    assert more.pooled.value < references.pooled.value
    assert more.pooled == predict_references(PROBLEM, STEPS, Readout(alpha1=4.0)).pooled
    assert (more.attention, more.bayes) == (references.attention, references.bayes)


def test_the_share_of_the_gap():
    assert [MADE.share(v) for v in (0.4, 0.1, 0.25)] == pytest.approx([0, 1, 0.5])
    words = _environment().get_template("experiments/references.html").module
    standing = " ".join(words.standing(MADE, Measured(0.25, 0.03, 100, 8)).split())
    assert standing == (
        "0.2500 ± 0.0300, which closes 50.0 ± 10.0 % of the gap from pooled to Bayes"
    )
    assert "83.3 % of the gap" in words.known(MADE)


def test_one_place_is_a_level_and_more_are_a_line():
    figure = Figure()
    one, more = figure.subplots(1, 2)
    reference_lines(one, [(3.0, MADE)])
    higher = dataclasses.replace(MADE, bayes=Predicted(0.2))
    reference_lines(more, [(3.0, MADE), (4.0, higher)])
    levels = [list(line.get_ydata()) for line in one.lines]
    assert levels == [[v, v] for v in (0.4, 0.15, 0.12, 0.1)]
    assert list(more.lines[3].get_xdata()) == [3.0, 4.0]
    assert list(more.lines[3].get_ydata()) == [0.1, 0.2]
    labelled_legend(figure)
    assert len(figure.legends[0].get_texts()) == 4
