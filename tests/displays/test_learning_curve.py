import dataclasses

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsetoken import (
    Attention,
    AttentionClassifier,
    Pooled,
    PooledLinearClassifier,
    Query,
    Readout,
    SparseTokenProblem,
    TwoSteps,
    VectorizedLinearClassifier,
    align,
    diagnose,
    predict,
)
from sparsetoken.bags import as_bags
from sparsetoken.displays import BagLearningCurveDisplay, predicted_errors
from sparsetoken.estimators import TokenTransformer
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


class Undecided(ClassifierMixin, BaseEstimator):
    """Scores every bag 0, and names the first class."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.zeros(len(X))

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def test_scores_of_exactly_zero_count_one_half():
    tokens = np.random.default_rng(0).standard_normal((60, 3, 2))
    labels = (np.arange(60) % 3 == 0).astype(int)
    assert Undecided().fit(tokens, labels).score(tokens, labels) == pytest.approx(2 / 3)
    display = BagLearningCurveDisplay.from_estimator(Undecided(), tokens, labels, cv=3)
    assert (display.test_errors == 0.5).all()


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


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")  # of 3 positives
def test_attention_is_fitted_to_rare_positives_by_default():
    rng = np.random.default_rng(1)
    labels = np.where(np.arange(100) % 10 == 0, 1, 0)
    bags = rng.standard_normal((100, 3, 2))
    bags[labels == 1, 0] += 3.0
    display = BagLearningCurveDisplay.from_estimator(
        AttentionClassifier(random_state=0), bags, labels, cv=2, random_state=0
    )
    assert display.train_sizes[0] == 6
    assert np.isfinite(display.test_errors).all()


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


@pytest.mark.usefixtures("few_fits")
def test_a_diagnosis_gives_its_curve():
    tokens, labels = PROBLEM.sample(60, np.eye(6)[0], np.random.default_rng(2))
    found = diagnose(tokens, labels)
    points = found.forecast.curves["pooled"]
    options = {"train_sizes": [10, 20], "cv": 2, "random_state": 0}
    display = BagLearningCurveDisplay.from_estimator(
        POOLED, tokens, labels, diagnosis=found, **options
    )
    assert display.line_.get_xdata().tolist() == [point.n for point in points]
    assert display.line_.get_ydata().tolist() == [point.error for point in points]
    blind = dataclasses.replace(found, forecast=None)
    display = BagLearningCurveDisplay.from_estimator(
        POOLED, tokens, labels, diagnosis=blind, **options
    )
    assert display.line_ is None


def test_predicted_attention_has_the_better_aligned_query():
    (many,) = predicted_errors("attention", PROBLEM, 50, [400])
    steps = align(PROBLEM, TwoSteps(alpha0=8.0)).cosine
    given, floor = (
        predict(
            PROBLEM,
            Attention(Query(cosine, 2.0)),
            Readout(ridge=1.0, alpha1=alpha),
            tolerance=5e-3,
        ).test_error
        for cosine, alpha in ((steps, 8.0), (1.0, np.inf))
    )
    (pooled,) = predicted_errors("pooled", PROBLEM, 50, [400])
    # 5e-3 is the error asked for. The floor is the signal as the query, and endless data.
    assert floor < many <= given + 5e-3
    assert many < pooled - 0.1


def test_two_classifiers_share_an_axes():
    _, axes = pyplot.subplots()
    for model, sizes in (("pooled", [10, 40]), ("attention", [20, 40])):
        display = BagLearningCurveDisplay.from_predictions(
            sizes,
            np.full((2, 3), 0.25),
            model=model,
            predicted_sizes=[10, 40],
            predicted_errors=[0.4, np.nan],
            ax=axes,
        )
        assert display.ax_ is axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["10", "20", "40"]
    assert axes.get_ylim()[0] == 0
    high = BagLearningCurveDisplay.from_predictions([300], [[0.7, 0.7]], ax=axes)
    assert high.ax_.get_ylim()[1] > 0.7
    assert high.ax_.get_xlim()[1] > 300
    told = {text.get_text() for text in axes.get_legend().get_texts()}
    names = ("pooled", "attention")
    assert told == {"classifier, measured"} | {
        f"{name}, {what}" for name in names for what in ("measured", "predicted")
    }


def test_the_model_is_found_inside_pipelines_and_searches(ragged):
    bags, labels = ragged
    pipe = make_pipeline(TokenTransformer(StandardScaler()), POOLED)
    search = GridSearchCV(pipe, {"pooledlinearclassifier__ridge": [0.1]}, cv=2)
    for estimator in (pipe, search):
        display = BagLearningCurveDisplay.from_estimator(
            estimator, bags, labels, train_sizes=[20], cv=2
        )
        assert display.name == display.model == "pooled"
    means = np.array([bag.mean(axis=0) for bag in bags])
    repeats = RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
    other = BagLearningCurveDisplay.from_estimator(
        LogisticRegression(), means, labels, train_sizes=[20], cv=repeats
    )
    assert (other.name, other.model) == ("LogisticRegression", None)
    assert other.test_errors.shape == (1, 6)


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


def test_the_theory_meets_attention_on_bags_of_its_own_problem():
    """Eight draws at d = 30; the query is learned from the bags that the readout sees."""
    problem, d, n = SparseTokenProblem(length=8, informative=1, strength=5.0), 30, 240
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        tokens, labels = problem.sample(n, np.eye(d)[3], rng)
        model = AttentionClassifier(random_state=0).fit(tokens, labels)
        errors.append(1 - model.score(*problem.sample(2000, np.eye(d)[3], rng)))
    expected = predicted_errors("attention", problem, d, [n])[0]
    standard_error = np.std(errors, ddof=1) / np.sqrt(8)
    # Three standard errors, and 0.01 for d = 30 and the grids of ridge and sharpness.
    assert np.mean(errors) == pytest.approx(expected, abs=3 * standard_error + 0.01)


def test_a_name_is_drawn_as_it_is_written(text):
    errors = np.array([[0.4, 0.5, 0.3], [0.2, 0.2, 0.5]])
    curve = {"predicted_sizes": [10, 40], "predicted_errors": [0.4, 0.3]}
    display = BagLearningCurveDisplay.from_predictions([10, 40], errors, name=text, **curve)
    display.figure_.canvas.draw()


def test_labels_that_are_masked_or_too_long(ragged):
    bags, labels = ragged
    measure = BagLearningCurveDisplay.from_estimator
    with pytest.raises(InvalidInput, match="y must be an array without masked values"):
        measure(POOLED, bags, np.ma.array(labels, mask=np.arange(60) == 2))
    with pytest.raises(InvalidInput, match="y must be of integers of at most 64 bits"):
        measure(POOLED, bags, [10**5000, *labels[1:]])
    with pytest.raises(InvalidInput, match="cv must be an integer >= 2"):
        measure(POOLED, bags, labels, cv=10**5000)
