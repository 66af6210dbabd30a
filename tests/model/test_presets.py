"""The settings of the paper's figures, which studies and the explorer take."""

import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.explorer.settings import PRESETS
from sparsetoken.studies import anti_alignment, learning_curves


@pytest.mark.parametrize(("loss", "eta_q"), [("logistic", 25.0), ("square", 7.0)])
def test_learning_curves(loss, eta_q):
    paper = st.presets.learning_curves(loss)
    assert paper.problem == st.SparseTokenProblem(10, 1, 5.0, 0.5)
    assert paper.query == st.TwoSteps(1.0, 0.5, 0.5, eta_q, 1.0, loss)
    assert paper.readout == st.Readout(loss, 1e-5, 2.0)
    assert [model.name for model in paper.models] == list(learning_curves.LOADS)
    assert paper.models[0].query == paper.query
    sharpness = st.align(paper.problem, paper.query).sharpness
    assert sharpness == pytest.approx(1, abs=0.2)  # what the step of the query was chosen for


def test_a_loss_without_a_figure_is_refused():
    with pytest.raises(InvalidInput, match="loss must be one of logistic, square"):
        st.presets.learning_curves("hinge")


def test_alignment_and_anti_alignment():
    paper = st.presets.alignment(0.5)
    assert paper.problem == st.SparseTokenProblem(10, 3, 6.0, 0.2)
    assert paper.query == st.TwoSteps(0.5, eta_w=0.5, eta_b=0.5, eta_q=1.0)
    problem, steps = anti_alignment.setting("rate", 0.06, 3.0)
    assert problem == st.SparseTokenProblem(10, 3, 3.0, 0.06)
    assert steps == st.presets.anti_alignment().query
    problem, steps = anti_alignment.setting("step", 4.0, 0.3)
    assert (steps.alpha0, steps.eta_b) == (4.0, 0.3)


def test_capacity():
    assert st.presets.capacity().problem == st.SparseTokenProblem(4, 1, 2.0, 0.5)
    assert st.presets.capacity().query == st.Query(0.8, 1.0)
    changed = st.presets.capacity(cosine=-0.6, length=8)
    assert changed.problem == st.SparseTokenProblem(8, 1, 2.0, 0.5)
    assert changed.query == st.Query(-0.6, 1.0)


def test_the_explorer_shows_the_same_settings():
    settings = {preset["name"]: preset["settings"] for preset in PRESETS}
    assert settings["paper"] == {"loss": "square", "ridge": 1e-5, "eta_q": 7.0}
    assert settings["away"] == {
        "informative": 3,
        "positive_rate": 0.06,
        "strength": 2.0,
        "alpha0": 2.0,
    }
