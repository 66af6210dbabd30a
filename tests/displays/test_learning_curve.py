import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from sparsetoken import (
    Pooled,
    PooledLinearClassifier,
    Readout,
    SparseTokenProblem,
    VectorizedLinearClassifier,
    predict,
)
from sparsetoken.bags import as_bags
from sparsetoken.displays import BagLearningCurveDisplay, predicted_errors
from sparsetoken.figures.style import COLOURS
from sparsetoken.validation import InvalidInput

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=4.0)
POOLED = PooledLinearClassifier(ridge=0.1)


def _points(display):
    line, _, (bars,) = display.points_
    half = [np.ptp(segment[:, 1]) / 2 for segment in bars.get_segments()]
    return line.get_xdata(), line.get_ydata(), half


def test_points_and_bars_are_means_and_standard_errors():
    errors = np.array([[0.4, 0.5, 0.3], [0.2, 0.2, 0.5]])
    display = BagLearningCurveDisplay.from_predictions([10, 40], errors, model="pooled")
    x, y, half = _points(display)
    assert x.tolist() == [10, 40]
    np.testing.assert_allclose(y, [0.4, 0.3], atol=1e-12)  # rounding
    np.testing.assert_allclose(half, [0.1 / np.sqrt(3), np.sqrt(0.03) / np.sqrt(3)], atol=1e-12)
    assert display.points_[0].get_color() == COLOURS["pooled"]
    assert display.line_ is None
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["10", "40"]


def test_all_training_bags_give_the_error_of_plain_cross_validation(ragged):
    bags, labels = ragged
    display = BagLearningCurveDisplay.from_estimator(POOLED, bags, labels, cv=4)
    flat = as_bags(bags)
    for fold, (train, test) in enumerate(StratifiedKFold(4).split(labels, labels)):
        fitted = clone(POOLED).fit(flat[train], labels[train])
        expected = np.mean(fitted.predict(flat[test]) != labels[test])
        assert display.test_errors[-1, fold] == pytest.approx(expected, abs=1e-12)  # rounding
    assert display.train_sizes.tolist()[-1] == 45
    assert display.train_sizes[0] == 6  # three of each class are more than a tenth of 45


class Recorder(LogisticRegression):
    """Writes down the labels that each copy is fitted to."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        Recorder.seen.append((X[:, 0].tolist(), y.tolist()))
        return super().fit(X, y)


def test_training_sets_are_nested_and_stratified():
    labels = np.repeat([0, 1], (60, 20))  # sorted by class, one positive in four
    table = np.arange(80.0)[:, None]
    Recorder.seen = []
    display = BagLearningCurveDisplay.from_estimator(
        Recorder(), table, labels, train_sizes=[40, 8, 6], cv=2, random_state=3
    )
    assert display.train_sizes.tolist() == [6, 8, 40]
    for fold in range(2):
        sets = [set(Recorder.seen[2 * row + fold][0]) for row in range(3)]
        assert sets[0] < sets[1] < sets[2]
        assert [len(s) for s in sets] == [6, 8, 40]
        positives = [sum(Recorder.seen[2 * row + fold][1]) for row in range(3)]
        assert positives == [3, 3, 10]
    first = Recorder.seen.copy()
    Recorder.seen = []
    BagLearningCurveDisplay.from_estimator(
        Recorder(), table, labels, train_sizes=[6, 8, 40], cv=2, random_state=3
    )
    assert Recorder.seen == first


def test_rare_positives_are_in_every_training_set():
    """Ten positives among 100, which a tenth of the bags at their share would hold once."""
    labels = np.where(np.arange(100) % 10 == 0, 1, 0)
    Recorder.seen = []
    display = BagLearningCurveDisplay.from_estimator(
        Recorder(), np.arange(100.0)[:, None], labels, random_state=0
    )
    assert display.train_sizes[[0, -1]].tolist() == [8, 80]
    positives = [sum(y) for _, y in Recorder.seen]
    assert positives[:5] == [3] * 5
    assert positives[-5:] == [8] * 5
    assert min(len(y) - sum(y) for _, y in Recorder.seen) == 5


def test_a_class_that_training_sets_nearly_lack_is_named(ragged):
    bags, _ = ragged
    labels = (np.arange(60) < 4).astype(int)
    with pytest.raises(InvalidInput, match="at least 3 bags of each class in every training set"):
        BagLearningCurveDisplay.from_estimator(POOLED, bags, labels, cv=2)


def test_every_form_of_bags_gives_the_same_curve():
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    array = rng.standard_normal((40, 3, 4))
    array[labels == 1, 1] += 1.0
    flat = PooledLinearClassifier(ridge=0.1, n_tokens=3)
    options = {"train_sizes": [10, 20], "cv": 3, "random_state": 1}
    results = [
        BagLearningCurveDisplay.from_estimator(model, X, labels, **options).test_errors
        for model, X in (
            (POOLED, array),
            (POOLED, list(array)),
            (POOLED, as_bags(array)),
            (flat, array.reshape(40, 12)),
        )
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_the_predicted_line_is_that_of_the_theory():
    rng = np.random.default_rng(2)
    tokens, labels = PROBLEM.sample(60, np.eye(6)[0], rng)
    display = BagLearningCurveDisplay.from_estimator(
        POOLED, tokens, labels, train_sizes=[10, 40], cv=3, problem=PROBLEM
    )
    x, y = display.line_.get_data()
    assert (x[0], x[-1]) == (10, 40)
    for n, error in ((10, y[0]), (40, y[-1])):
        best = min(
            predict(PROBLEM, Pooled(), Readout(ridge=ridge, alpha1=n / 6)).test_error
            for ridge in (0.01, 0.1, 1.0)
        )
        # Each side is asked for an error of 5e-3 or less.
        assert error == pytest.approx(best, abs=5e-3)
    wide = BagLearningCurveDisplay.from_estimator(
        POOLED, tokens, labels, train_sizes=[10, 40], cv=3, problem=PROBLEM, dimension=60.0
    )
    assert wide.line_.get_ydata()[-1] > y[-1] + 0.02
    assert wide.line_.get_color() == COLOURS["pooled"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_sizes": [41]}, r"train_sizes must be an integer in \[6, 40\]; got 41"),
        ({"train_sizes": [5]}, r"in \[6, 40\]; got 5. 3 bags of each class are needed"),
        ({"train_sizes": []}, "train_sizes must be at least one number"),
        ({"cv": [(np.arange(30), np.arange(30, 60))]}, "cv must be at least 2 folds"),
        ({"model": "deep"}, "model must be one of attention"),
        ({"model": "elementwise", "problem": PROBLEM}, "problem must be None for a classifier"),
        ({"problem": PROBLEM, "diagnosis": "any"}, "problem must be None beside a diagnosis"),
        ({"model": "elementwise", "diagnosis": "any"}, "diagnosis must be None for a classifier"),
        ({"problem": "sparse"}, "problem must be a SparseTokenProblem"),
        ({"problem": PROBLEM, "dimension": 0}, r"dimension \(d\) must be a finite number in \(0"),
    ],
)
def test_bad_options_are_named(ragged, options, message):
    with pytest.raises(InvalidInput, match=message):
        BagLearningCurveDisplay.from_estimator(POOLED, *ragged, **{"cv": 3, **options})


def test_bad_data_are_named(ragged):
    bags, labels = ragged
    draw = BagLearningCurveDisplay.from_estimator
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        draw(POOLED, bags, labels[:-1])
    with pytest.raises(InvalidInput, match="y must be of at least two classes; got '1 class"):
        draw(POOLED, bags, np.ones(60))
    with pytest.raises(ValueError, match="bags of the same number of tokens"):
        draw(VectorizedLinearClassifier(), bags, labels, train_sizes=[20], cv=2)
    with pytest.raises(InvalidInput, match="problem must be None for a classifier"):
        draw(LogisticRegression(), bags, labels, problem=PROBLEM)


GOOD = {"train_sizes": [10, 20], "test_errors": [[0.1, 0.2], [0.1, 0.3]]}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"train_sizes": [20, 10]}, "train_sizes must be rising numbers > 0"),
        ({"train_sizes": []}, "train_sizes must be rising numbers > 0"),
        ({"test_errors": [[0.1], [0.2]]}, r"test_errors must be .* \(2, folds >= 2\)"),
        ({"test_errors": [[0.1, 0.2]]}, r"test_errors must be an array of shape \(2, folds"),
        ({"test_errors": [[0.1, 1.2], [0.1, 0.3]]}, r"test_errors must be .* in \[0, 1\]"),
        ({"test_errors": [[0.1, np.nan], [0.1, 0.3]]}, r"test_errors must be .* in \[0, 1\]"),
        ({"predicted_sizes": [1, 2]}, "both given or both None.*got 'no predicted_errors'"),
        ({"predicted_errors": [0.1]}, "both given or both None.*got 'no predicted_sizes'"),
        ({"predicted_sizes": [1, 2], "predicted_errors": [0.1]}, "both None, of one length"),
        ({"predicted_sizes": [1], "predicted_errors": [2.0]}, r"errors in \[0, 1\] or nan"),
        ({"model": "deep"}, "model must be one of attention"),
        ({"ax": "axes"}, "ax must be a matplotlib Axes"),
    ],
)
def test_bad_predictions_are_named(wrong, message):
    given = {**GOOD, **wrong}
    with pytest.raises(InvalidInput, match=message):
        BagLearningCurveDisplay.from_predictions(
            given.pop("train_sizes"), given.pop("test_errors"), **given
        )


def test_the_theory_refuses_what_it_does_not_know():
    with pytest.raises(InvalidInput, match="model must be one of attention, pooled, vectorized"):
        predicted_errors("elementwise", PROBLEM, 10, [20])
    with pytest.raises(InvalidInput, match="n must be an integer >= 1"):
        predicted_errors("pooled", PROBLEM, 10, [0])
