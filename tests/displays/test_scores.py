import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

from sparsetoken import AttentionClassifier, PooledLinearClassifier
from sparsetoken.displays import ScoreDisplay
from sparsetoken.validation import InvalidInput

LABELS = np.array([0, 1, 0, 1, 1, 0, 1, 0, 1, 1])
SCORES = np.array([0.1, 0.9, 0.4, 0.35, 0.8, 0.8, 0.7, -1.0, 0.2, 2.0])


def _ranked_pairs(labels, scores):
    """Return the share of pairs in the right order; ties count one half."""
    plus, minus = scores[labels == 1][:, None], scores[labels == 0]
    return np.mean((plus > minus) + 0.5 * (plus == minus))


def test_the_area_is_the_share_of_pairs_in_order():
    display = ScoreDisplay.from_predictions(LABELS, SCORES)
    # Rounding of sums of ten numbers.
    assert display.roc_auc == pytest.approx(_ranked_pairs(LABELS, SCORES), abs=1e-12)
    x, y = display.line_.get_data()
    assert np.trapezoid(y, x) == pytest.approx(display.roc_auc, abs=1e-12)
    assert f"area {display.roc_auc:.3f}" in display.line_.get_label()


def test_the_histograms_count_each_class():
    display = ScoreDisplay.from_predictions(LABELS, SCORES, bins=6)
    edges = np.linspace(SCORES.min(), SCORES.max(), 7)
    for label, bars in enumerate(display.histograms_):
        drawn = [bar.get_height() for bar in bars]
        assert drawn == np.histogram(SCORES[label == LABELS], edges)[0].tolist()
        assert sum(drawn) == np.count_nonzero(label == LABELS)
    told = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert told == ["0: 4 bags", "1: 6 bags"]


@pytest.mark.parametrize(
    "scores",
    [
        np.full(10, 0.3),
        0.3 + 1e-17 * SCORES + np.spacing(0.3) * (LABELS == 1),
        np.full(10, 1e17),
        -1e17 + 16.0 * LABELS,
        np.zeros(10),
    ],
)
def test_scores_that_are_equal_or_nearly_so_are_drawn(scores):
    display = ScoreDisplay.from_predictions(LABELS, scores, bins=20)
    heights = [[bar.get_height() for bar in bars] for bars in display.histograms_]
    assert [sum(h) for h in heights] == [4, 6]
    display.figure_.canvas.draw()


def test_the_positive_class_can_be_the_smaller_label():
    names = np.where(LABELS == 1, "apple", "pear")
    display = ScoreDisplay.from_predictions(names, SCORES, pos_label="apple")
    assert display.roc_auc == pytest.approx(_ranked_pairs(LABELS, SCORES), abs=1e-12)
    assert display.class_names == ("pear", "apple")
    other = ScoreDisplay.from_predictions(names, SCORES)
    assert other.roc_auc == pytest.approx(1 - display.roc_auc, abs=1e-12)


def test_scores_of_a_classifier(ragged):
    bags, labels = ragged
    names = np.where(labels == 1, "yes", "no")
    model = PooledLinearClassifier().fit(bags[:40], names[:40])
    display = ScoreDisplay.from_estimator(model, bags[40:], names[40:])
    scores = np.array([bag.mean(axis=0) @ model.coef_[0] for bag in bags[40:]])
    assert display.roc_auc == pytest.approx(roc_auc_score(names[40:] == "yes", scores), abs=1e-12)
    assert 0.5 < display.roc_auc < 1
    assert display.threshold == 0.0
    (line,) = display.axes_[0].lines
    assert line.get_xdata() == [0.0, 0.0]
    assert display.axes_[0].get_xlabel() == "score (decision at 0)"


def test_probabilities_serve_where_there_is_no_decision_function(ragged):
    bags, labels = ragged
    means = np.array([bag.mean(axis=0) for bag in bags])
    model = GaussianNB().fit(means, labels)
    display = ScoreDisplay.from_estimator(model, means, labels)
    np.testing.assert_array_equal(display.scores, model.predict_proba(means)[:, 1])
    assert display.threshold == 0.5
    assert display.axes_[0].get_xlabel() == "probability of class 1 (decision at 0.5)"


def test_it_draws_in_the_place_of_an_axes():
    figure, axes = pyplot.subplots(2, 1)
    display = ScoreDisplay.from_predictions(LABELS, SCORES, ax=axes[1])
    assert display.figure_ is figure
    assert not axes[1].axison
    assert len(figure.axes) == 4


def test_estimators_without_two_scores_are_refused(ragged):
    bags, labels = ragged
    with pytest.raises(NotFittedError):
        ScoreDisplay.from_estimator(AttentionClassifier(), bags, labels)
    three = PooledLinearClassifier().fit(bags, np.arange(60) % 3)
    with pytest.raises(InvalidInput, match="of two classes; got '3 classes'"):
        ScoreDisplay.from_estimator(three, bags, labels)
    means = np.array([bag.mean(axis=0) for bag in bags])
    with pytest.raises(InvalidInput, match="of two classes; got 'no classes'"):
        ScoreDisplay.from_estimator(LinearRegression().fit(means, labels), means, labels)
    two = PooledLinearClassifier().fit(bags, labels)
    with pytest.raises(InvalidInput, match="y must be of the classes 0 and 1; got '1, 2'"):
        ScoreDisplay.from_estimator(two, bags, labels + 1)
    with pytest.raises(InvalidInput, match="y_score must be a finite array of shape"):
        ScoreDisplay.from_estimator(two, bags, labels[:50])


def test_a_classifier_without_scores_is_refused(ragged, monkeypatch):
    bags, labels = ragged
    means = np.array([bag.mean(axis=0) for bag in bags])
    model = NearestCentroid().fit(means, labels)
    for name in ("decision_function", "predict_proba"):  # newer versions have them
        monkeypatch.delattr(NearestCentroid, name, raising=False)
        monkeypatch.delattr(NearestCentroid.__mro__[1], name, raising=False)
    with pytest.raises(InvalidInput, match="decision_function or predict_proba"):
        ScoreDisplay.from_estimator(model, means, labels)


@pytest.mark.parametrize(
    ("labels", "scores", "options", "message"),
    [
        (np.ones(10), SCORES, {}, "y_true must be of two classes; got '1 in 10 labels'"),
        (np.arange(10) % 3, SCORES, {}, "y_true must be of two classes; got '3 in 10 labels'"),
        (LABELS[:, None], SCORES, {}, "y_true must be an array of shape"),
        (LABELS, SCORES[:9], {}, r"y_score must be a finite array of shape \(10,\)"),
        (LABELS, SCORES * np.nan, {}, "y_score must be a finite array"),
        (LABELS, SCORES, {"pos_label": 2}, "pos_label must be 0 or 1; got 2"),
        (LABELS, SCORES, {"bins": 0}, "bins must be an integer >= 1"),
        (LABELS, SCORES, {"ax": 3}, "ax must be a matplotlib Axes"),
    ],
)
def test_bad_input_is_named(labels, scores, options, message):
    with pytest.raises(InvalidInput, match=message):
        ScoreDisplay.from_predictions(labels, scores, **options)


def test_classes_and_names_are_drawn_as_they_are_written(text):
    names = np.where(LABELS == 1, text, "$ other $")
    display = ScoreDisplay.from_predictions(names, SCORES, score_name=text)
    display.figure_.canvas.draw()
    assert set(display.class_names) == {text, "$ other $"}
