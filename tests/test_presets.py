"""The settings of the paper's figures, which experiments and the explorer take."""

import pytest

import sparsetoken as st
from sparsetoken.experiments.anti_alignment import work as anti_alignment
from sparsetoken.experiments.capacity_curves import work as capacity_curves
from sparsetoken.experiments.learning_curves import work as learning_curves
from sparsetoken.explorer.presets import PRESETS
from sparsetoken.validation import InvalidInput


@pytest.mark.parametrize(("loss", "eta_q"), [("logistic", 25.0), ("square", 7.0)])
def test_learning_curves(loss, eta_q):
    paper = st.presets.learning_curves(loss)
    assert paper.problem == st.SparseTokenProblem(10, 1, 5.0, 0.5)
    assert paper.query == st.TwoSteps(1.0, 0.5, 0.5, eta_q, 1.0, loss)
    assert paper.readout == st.Readout(loss, 1e-5, 2.0)
    assert [model.name for model in paper.models] == list(learning_curves.MODELS)
    assert learning_curves.model_of("attention", loss).query == paper.query
    sharpness = st.align(paper.problem, paper.query).sharpness
    assert sharpness == pytest.approx(1, abs=0.2)  # what the step of the query was chosen for


def test_a_loss_without_a_figure_is_refused():
    with pytest.raises(InvalidInput, match="loss must be one of logistic, square"):
        st.presets.learning_curves("hinge")


def test_alignment_and_anti_alignment():
    paper = st.presets.alignment(0.5)
    assert paper.problem == st.SparseTokenProblem(10, 3, 6.0, 0.2)
    assert paper.query == st.TwoSteps(0.5, eta_w=0.5, eta_b=0.5, eta_q=1.0)
    place = anti_alignment.Place("rate", positive_rate=0.06, alpha0=4.0)
    assert anti_alignment.problem_of(place) == st.SparseTokenProblem(10, 3, 2.0, 0.06)
    assert anti_alignment.steps_of(place) == st.TwoSteps(4.0, 0.5, 0.5, 1.0)


def test_capacity():
    assert st.presets.capacity().problem == st.SparseTokenProblem(4, 1, 2.0, 0.5)
    assert st.presets.capacity().query == st.Query(0.8, 1.0)
    place = capacity_curves.Place(cosine=-0.6, length=8)
    assert capacity_curves.problem_of(place) == st.SparseTokenProblem(8, 1, 2.0, 0.5)
    assert capacity_curves.model_of(place, "attention") == st.Attention(st.Query(-0.6, 1.0))


def test_the_explorer_shows_the_same_settings():
    settings = {preset["name"]: preset["settings"] for preset in PRESETS}
    assert settings["paper"] == {"loss": "square", "ridge": 1e-5, "eta_q": 7.0}
    assert settings["away"] == {
        "informative": 3,
        "positive_rate": 0.06,
        "strength": 2.0,
        "alpha0": 2.0,
    }
