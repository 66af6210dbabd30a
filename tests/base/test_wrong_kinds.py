"""Values of another kind than asked for are refused by name, wherever they are given."""

import dataclasses
import inspect
import re

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken import bags, simulation, theory
from sparsetoken.base.validation import InvalidInput
from sparsetoken.forecasting.learning_curves import check_sizes
from sparsetoken.losses import CustomLoss
from sparsetoken.studies.reproduction import chosen_studies
from sparsetoken.theory import tuning

PROBLEM = st.SparseTokenProblem(4, 1, 2.0)
POOLED, READOUT, STEPS = st.Pooled(), st.Readout("square", 0.1), st.TwoSteps()
DESCENT = st.Descent(steps=2)
TASK = st.tasks.needle_with_value()
ZERO_ONE = dataclasses.replace(TASK, target=lambda latent, Z: 1.0 * (Z[:, 0, 1] > 0), metric=None)
SMALL = {"dimension": 20, "trials": 2}

GIVEN = {
    "problem": PROBLEM, "model": POOLED, "readout": READOUT, "steps": STEPS, "descent": DESCENT,
    "alpha": 1.0, "readouts": [READOUT], "dimension": 20,
}  # fmt: skip
CALLS = (
    *(st.predict, theory.predict_readouts, st.capacity, st.align, theory.sign_margin),
    theory.small_step_margin,
    *(theory.descend, st.oracle.best_error, st.oracle.bayes_error, st.oracle.learning_error),
    *(st.minimize, simulation.minimize),
    *(tuning.best_training, st.simulate, simulation.align),
    *(simulation.descend, simulation.pass_messages, simulation.draw_training_set),
)
WRONG = {
    "problem": ["square", [], np.ones(2), None, dict, st.SparseTokenProblem],
    "model": ["pooled", [], np.ones(2), st.Pooled, READOUT],
    "descent": ["pooled", 3, np.ones(2), POOLED, st.Attention(STEPS), READOUT],
    "minimum": ["pooled", 3, np.ones(2), POOLED, st.Minimum, DESCENT],
    "readout": ["square", [], 0.1, st.Readout, POOLED, STEPS],
    "steps": [1.0, st.TwoSteps, st.Query(0.8, 1.0), DESCENT, POOLED],  # of a descent: not two
}
MESSAGES = {
    "problem": "problem must be a SparseTokenProblem",
    "model": "model must be (a model: |one of )attention",
    "descent": r"descent must be a Descent or a OnePass; .* Write st\.Descent",
    "minimum": r"minimum must be a Minimum; .* Write st\.Minimum",
    "readout": r"readout must be a Readout; got .* Write st\.Readout",
    "steps": r"steps must be TwoSteps; got .* Write st\.TwoSteps",
}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_other_kinds_are_refused_by_name(call):
    names = inspect.signature(call).parameters
    required = [name for name, one in names.items() if one.default is one.empty]
    given = {name: GIVEN[name] for name in required}
    assert names.keys() & WRONG.keys()
    for name in names.keys() & WRONG.keys():
        for wrong in WRONG[name]:
            with pytest.raises(InvalidInput, match=MESSAGES[name]):
                call(**given | {name: wrong})


X, Y, RAGGED = np.random.default_rng(0).standard_normal((6, 4, 3)), np.arange(6) % 2, [[1], [2, 3]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bags.as_bags(X, mask=RAGGED), "mask must be a bool array"),
        (
            lambda: bags.from_frame({"bag": [1], "x": [1.0]}),
            "frame must be of pandas, polars or pyarrow",
        ),
        (lambda: CustomLoss("mine", lambda z: z * z), "loss value must be a function of"),
        (lambda: CustomLoss("mine", lambda y, z: np.ones(3) * z), r"one float for each \(y, z\)"),
        (lambda: simulation.is_separable(np.full((2, 2), np.nan), [1, -1]), "must be finite"),
        (lambda: st.simulate(PROBLEM, POOLED, READOUT, keep=__file__, **SMALL), "keep must be a"),
    ],
)
def test_other_values_are_refused_by_name(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_bags_with_ids_are_no_bags():
    for call in (bags.as_bags, lambda X: st.BagClassifier().fit(X, [0, 1])):
        with pytest.raises(TypeError, match=r"give found\.bags"):
            call(bags.from_long(np.eye(3), [0, 1, 1]))


def test_what_takes_bags_takes_any_form_of_them():
    listed = list(X)
    pytest.importorskip("pandas")
    assert bags.to_frame(listed).shape == (24, 4)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: st.oracle.bayes_error(PROBLEM, points=2**40), "points"),
        (lambda: st.oracle.learning_error(PROBLEM, 1.0, points=2**40), "points"),
        (lambda: check_sizes([10**30], 80), "sizes"),
        (lambda: chosen_studies("alignment"), "studies"),
        (lambda: st.Readout(alpha1=[True, 2.0]), "alpha1"),
        (lambda: st.SparseTokenProblem(length=[4, True]), "length"),
        (lambda: st.tasks.meeting_concepts(strengths=(True, 3.0)), "strengths"),
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
    trajectory = st.descend(PROBLEM, st.Descent(steps=1), replicas=2)
    for call in (st.descend, simulation.descend):
        with pytest.raises(InvalidInput, match="descent must be a Descent"):
            call(PROBLEM, trajectory)


@pytest.mark.parametrize("module", [st, st.model, st.networks, st.presets, st.theory])
def test_modules_show_public_names_alone(module):
    assert set(dir(module)) == set(module.__all__)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: st.capacity(TASK, POOLED), "st.simulate, st.descend and"),
        (lambda: st.predict(PROBLEM, st.Descent(steps=1)), "st.Attention()"),
        (lambda: st.predict(TASK, st.Attention()), "Write st.Query(cosines={'needle': 0.8}"),
        (lambda: st.descend(ZERO_ONE, st.Descent(steps=1)), "write 2 * y - 1 in place of y"),
    ],
)
def test_the_message_names_what_takes_a_task_or_a_descent(call, words):
    with pytest.raises(InvalidInput, match=re.escape(words)):
        call()
