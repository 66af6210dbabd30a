"""Values of another kind than asked for are refused by name, wherever they are given."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken import bags, simulation, sweep, theory
from sparsetoken.base.validation import InvalidInput
from sparsetoken.experiments.report.reproduce import chosen_experiments
from sparsetoken.forecasting.learning_curves import check_sizes
from sparsetoken.losses import CustomLoss
from sparsetoken.theory import tuning

PROBLEM = st.SparseTokenProblem(4, 1, 2.0)
POOLED, READOUT, STEPS = st.Pooled(), st.Readout("square", 0.1), st.TwoSteps()
DESCENT = st.Descent(steps=2)
SMALL = {"dimension": 20, "trials": 2}


@pytest.mark.parametrize("wrong", ["square", [], np.ones(2), None, dict, st.SparseTokenProblem])
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: st.predict(wrong, POOLED, READOUT),
        lambda wrong: theory.predict_readouts(wrong, POOLED, [READOUT]),
        lambda wrong: st.capacity(wrong, POOLED),
        lambda wrong: st.align(wrong, STEPS),
        lambda wrong: theory.sign_margin(wrong, STEPS),
        lambda wrong: theory.sign_boundary(wrong, STEPS, "eta_b", 0.0, 1.0),
        lambda wrong: theory.small_step_margin(wrong),
        lambda wrong: theory.critical_cosine(wrong, READOUT, sharpness=1.0),
        lambda wrong: st.oracle.best_error(wrong, POOLED),
        lambda wrong: theory.approach_to_infinite_data(wrong, POOLED),
        lambda wrong: theory.descend(wrong, DESCENT),
        lambda wrong: tuning.best_descent(wrong, DESCENT),
        lambda wrong: st.simulate(wrong, POOLED, READOUT, **SMALL),
        lambda wrong: simulation.align(wrong, STEPS, **SMALL),
        lambda wrong: simulation.descend(wrong, DESCENT, **SMALL),
        lambda wrong: simulation.pass_messages(wrong, 1.0, **SMALL),
        lambda wrong: simulation.draw_training_set(wrong, POOLED, 1.0, dimension=20),
    ],
)
def test_what_is_no_problem(call, wrong):
    with pytest.raises(InvalidInput, match="problem must be a SparseTokenProblem"):
        call(wrong)


@pytest.mark.parametrize("wrong", ["pooled", [], np.ones(2), st.Pooled, READOUT])
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: st.predict(PROBLEM, wrong, READOUT),
        lambda wrong: st.capacity(PROBLEM, wrong),
        lambda wrong: st.simulate(PROBLEM, wrong, READOUT, **SMALL),
        lambda wrong: tuning.best_training(PROBLEM, wrong, READOUT),
    ],
)
def test_what_is_no_model(call, wrong):
    with pytest.raises(InvalidInput, match="model must be a model: attention"):
        call(wrong)


@pytest.mark.parametrize("wrong", ["pooled", [], np.ones(2), st.Pooled, READOUT])
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: theory.descend(PROBLEM, wrong),
        lambda wrong: simulation.descend(PROBLEM, wrong, **SMALL),
        lambda wrong: tuning.best_descent(PROBLEM, wrong),
    ],
)
def test_what_is_no_descent(call, wrong):
    with pytest.raises(InvalidInput, match="descent must be a Descent"):
        call(wrong)


@pytest.mark.parametrize("wrong", ["square", [], 0.1, st.Readout, POOLED, STEPS])
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: st.predict(PROBLEM, POOLED, wrong),
        lambda wrong: theory.critical_cosine(PROBLEM, wrong, sharpness=1.0),
        lambda wrong: st.simulate(PROBLEM, POOLED, wrong, **SMALL),
        lambda wrong: tuning.best_training(PROBLEM, st.Attention(), wrong, 1.0),
    ],
)
def test_what_is_no_readout(call, wrong):
    with pytest.raises(InvalidInput, match=r"readout must be a Readout; got .* Write st\.Readout"):
        call(wrong)


@pytest.mark.parametrize("wrong", [1.0, st.TwoSteps, st.Query(0.8, 1.0), DESCENT, POOLED])
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: st.align(PROBLEM, wrong),
        lambda wrong: theory.sign_margin(PROBLEM, wrong),
        lambda wrong: theory.sign_boundary(PROBLEM, wrong, "eta_b", 0.0, 1.0),
        lambda wrong: simulation.align(PROBLEM, wrong, **SMALL),
    ],
)
def test_what_is_no_two_steps(call, wrong):
    """The steps of a descent are none: they would be taken for two."""
    with pytest.raises(InvalidInput, match=r"steps must be TwoSteps; got .* Write st\.TwoSteps"):
        call(wrong)


X, Y, RAGGED = np.random.default_rng(0).standard_normal((6, 4, 3)), np.arange(6) % 2, [[1], [2, 3]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: st.SparseTokenProblem(2, position_law=RAGGED), "position_law must be a sequence"),
        (lambda: bags.as_bags(X, mask=RAGGED), "mask must be a bool array"),
        (lambda: bags.from_frame({"bag": [1], "x": [1.0]}), "frame must be of pandas or polars"),
        (lambda: bags.as_bags(bags.from_long(np.eye(3), [0, 1, 1])), r"Give X\.bags"),
        (
            lambda: st.BagClassifier().fit(bags.from_long(np.eye(3), [0, 1, 1]), [0, 1]),
            r"Give X\.bags",
        ),
        (lambda: sweep.Grid("alignment", [("strength", 1)]), "axes must be a dict"),
        (
            lambda: sweep.Grid("alignment", {"strength": [1]}, [("length", 4)]),
            "fixed must be a dict",
        ),
        (lambda: CustomLoss("mine", lambda z: z * z), "loss value must be a function of"),
        (lambda: CustomLoss("mine", lambda y, z: np.ones(3) * z), r"one float for each \(y, z\)"),
        (lambda: simulation.is_separable(np.full((2, 2), np.nan), [1, -1]), "must be finite"),
        (lambda: st.simulate(PROBLEM, POOLED, READOUT, executor=2, **SMALL), "executor must be a"),
    ],
)
def test_other_values_are_refused_by_name(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_what_takes_bags_takes_any_form_of_them():
    listed = list(X)
    assert bags.separating_columns(listed, Y) == bags.separating_columns(bags.as_bags(X), Y)
    pytest.importorskip("pandas")
    assert bags.to_frame(listed).shape == (24, 4)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: st.oracle.bayes_error(PROBLEM, points=2**40), "points"),
        (lambda: st.oracle.learning_error(PROBLEM, 1.0, points=2**40), "points"),
        (lambda: st.oracle.fit_growth("a", [1.0, 2.0, 3.0]), "lengths"),
        (lambda: st.oracle.fit_growth([2, 3, 4], [[1.0], [2.0, 3.0], []]), "strengths"),
        (lambda: check_sizes([10**30], 80), "sizes"),
        (lambda: chosen_experiments("alignment"), "experiments"),
    ],
)
def test_what_is_too_large_or_no_list(call, named):
    with pytest.raises(InvalidInput, match=named):
        call()


@pytest.mark.parametrize(("features", "labels"), [([1, 0], [0, 0]), ([0, 0], [1, 0])])
def test_masked_points_are_not_separated(features, labels):
    given = np.ma.array([[1.0], [2.0]], mask=np.c_[features]), np.ma.array([1, -1], mask=labels)
    with pytest.raises(InvalidInput, match="must be an array without masked values"):
        simulation.is_separable(*given)


def test_results_in_place_of_what_was_asked_for():
    """They hold arrays too, which would be broadcast."""
    found = st.predict(PROBLEM, POOLED, READOUT, tolerance=0.1)
    with pytest.raises(InvalidInput, match="problem must be a SparseTokenProblem"):
        st.predict(found, POOLED)
    course = st.descend(PROBLEM, st.Descent(steps=1), replicas=2)
    for call in (st.descend, simulation.descend):
        with pytest.raises(InvalidInput, match="descent must be a Descent"):
            call(PROBLEM, course)


@pytest.mark.parametrize("module", [st, st.model, st.networks, st.presets, st.theory])
def test_modules_show_public_names_alone(module):
    assert set(dir(module)) == set(module.__all__)
