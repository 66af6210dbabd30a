"""Learning curves in closed form: their limits, and draws from the model they are of."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.metrics import roc_auc_score

from sparsetoken.forecasting.curves import (
    CurveParameters,
    aucs_at,
    errors_at,
    learned_cosine,
    realised,
    threshold_error,
)
from sparsetoken.forecasting.inputs import BagLaw, bag_law, read_labelled

LAW = BagLaw(length=10, averaging=10.0, between=0.0, positive_rate=0.5)


def _parameters(separation, dimension=30.0, informative=1, flips=0.0):
    values = np.broadcast_arrays(separation, dimension, informative, flips)
    return CurveParameters(*(np.atleast_1d(value) for value in values))


@pytest.mark.parametrize("rate", [0.5, 0.2])
@pytest.mark.parametrize("separation", [0.01, 1.0, 3.0])
def test_the_threshold_is_the_best_one(separation, rate):
    thresholds = np.linspace(-8, 8, 100_001) * max(1.0, 1 / separation)
    errors = rate * ndtr(thresholds - separation) + (1 - rate) * ndtr(-thresholds)
    assert threshold_error(np.array([separation]), rate)[0] == pytest.approx(
        min(errors.min(), rate), abs=1e-6
    )


@pytest.mark.parametrize(("separation", "d", "n"), [(1.5, 200, 100), (3.0, 400, 200)])
def test_the_separation_that_a_difference_of_means_learns(separation, d, n):
    """With a large ridge the readout is the difference of the class means."""
    rng, found = np.random.default_rng(0), []
    signal = np.eye(d)[0] * separation
    for _ in range(100):
        plus = signal / 2 + rng.standard_normal((n // 2, d)).mean(axis=0)
        minus = -signal / 2 + rng.standard_normal((n // 2, d)).mean(axis=0)
        w = plus - minus
        found.append(w @ signal / np.linalg.norm(w))
    cosine = learned_cosine(np.array([separation]), np.array([float(d)]), float(n))[0]
    # 100 draws with a spread of about 0.1; the limit n, d -> infinity is off by O(1/d).
    assert np.mean(found) == pytest.approx(separation * cosine, abs=0.04)


def test_errors_fall_to_their_limit_and_flips_raise_them():
    parameters = _parameters(np.array([0.5, 1.0, 2.0]))
    errors = [errors_at(n, parameters, LAW) for n in (30, 100, 1000, 1e9)]
    for early, late in itertools.pairwise(errors):
        assert (late["pooled"] < early["pooled"]).all()
        # The 1500 drawn bags of each class give the error to about 0.01, alike at all n.
        assert (late["attention"] < early["attention"] + 1e-4).all()
        assert (late["bag"] < early["bag"] + 1e-4).all()
    assert errors[-1]["pooled"] == pytest.approx(ndtr([-0.25, -0.5, -1.0]), abs=1e-6)
    flipped = errors_at(100, dataclasses.replace(parameters, flips=np.full(3, 0.1)), LAW)
    assert flipped["pooled"] == pytest.approx(0.1 + 0.8 * errors[1]["pooled"])


def test_attention_is_pooling_where_all_tokens_are_informative():
    found = errors_at(100, _parameters(1.0, informative=10), LAW)
    assert found["bag"] == found["attention"] == found["pooled"]


def test_the_average_realises_its_mean_share():
    """The share of attention in an average, over the luck of a gain in standard errors."""

    def share(gain):
        return np.clip((gain + 1) / 4, 0, 1)

    pooled, attention = np.array([0.3]), np.array([0.1])
    # The entropies of these errors are 0.6109 and 0.3251.
    luck, n = np.random.default_rng(0).standard_normal(20_000), np.array([0, 1, 5, 30, 300])
    gains = np.sqrt(n) * (0.6109 - 0.3251) / np.sqrt(0.3251) / 1.1
    expected = [np.mean([share(g + z) for z in luck]) for g in gains]
    # The share varies by 0.25 at most.
    found = [realised(size, pooled, attention)[0] for size in n]
    assert found == pytest.approx(expected, abs=4 * 0.25 / np.sqrt(len(luck)))
    assert realised(1e6, pooled, pooled)[0] == pytest.approx(
        np.mean([share(z) for z in luck]), 0.01
    )
    none = np.zeros(1)
    assert np.isfinite(realised(100, none, none)).all()
    found = errors_at(40, _parameters(1.2), LAW)
    assert found["attention"] < found["bag"] < found["pooled"]


@pytest.mark.parametrize(("rate", "flips"), [(0.5, 0.0), (0.5, 0.1), (0.3, 0.1)])
def test_aucs_are_those_of_drawn_scores(rate, flips):
    """Mean pooling with endless bags; labels are flipped, so that a share `rate` is positive."""
    n, separation = 40_000, 1.5
    law = dataclasses.replace(LAW, positive_rate=rate)
    found = aucs_at(1e9, _parameters(separation, informative=10, flips=flips), law)
    rng = np.random.default_rng(2)
    truth = rng.random(n) < (rate - flips) / (1 - 2 * flips)
    scores = rng.standard_normal(n) + separation * truth
    labels = truth != (rng.random(n) < flips)
    # The AUC of 40000 bags has a standard error of 0.003 or less.
    assert found["pooled"][0] == pytest.approx(roc_auc_score(labels, scores), abs=0.01)
    assert found["attention"] == found["pooled"]


@pytest.mark.parametrize(("informative", "between"), [(1, 0.0), (2, 0.4)])
def test_a_perfect_direction_errs_as_drawn_bags_do(informative, between):
    """With endless bags: the log mean exp of bags drawn here, at the best of four sharpnesses."""
    strength, L, n = 3.0, 10, 40_000
    law = dataclasses.replace(LAW, between=between)
    separation = strength * informative / L / np.sqrt(between + 1 / L)
    found = errors_at(1e9, _parameters(separation, informative=informative), law)
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((2, n, L)) + np.sqrt(between) * rng.standard_normal((2, n, 1))
    scores[1, :, :informative] += strength
    errors = []
    for k in (1.0, 2.0, 4.0, 8.0):
        minus, plus = np.log(np.exp(k * scores).mean(axis=2))
        threshold = np.quantile(np.concatenate([minus, plus]), np.linspace(0.2, 0.8, 61))
        wrong = (minus[:, None] > threshold).mean(axis=0) + (plus[:, None] < threshold).mean(axis=0)
        errors.append(wrong.min() / 2)
    # A separation of the same AUC stands for scores that are not normal.
    assert found["attention"][0] == pytest.approx(min(errors), abs=0.02)


def test_the_curves_are_those_of_the_classifiers(draw):
    """The parameters of the sparse-token model give what its classifiers measure."""
    from sparsetoken import BagClassifier
    from sparsetoken.estimators import PooledClassifier

    L, d, n, theta = 10, 40, 240, 5.0
    test, truth = draw(L, 1, theta, 0.5, d, 2000, 0)
    expected = errors_at(n, _parameters(theta / np.sqrt(L), float(d)), LAW)
    rows = np.random.default_rng(1).permutation(2000)[:n]
    rest = np.setdiff1d(np.arange(2000), rows)
    for model, predicted in (
        (PooledClassifier(), expected["pooled"][0]),
        (BagClassifier(), expected["bag"][0]),
    ):
        model.fit(test[rows], truth[rows])
        measured = np.mean(model.predict(test[rest]) != truth[rest])
        # One draw of training bags moves the error by about 0.02.
        assert measured == pytest.approx(predicted, abs=0.06)


@pytest.mark.parametrize("between", [0.0, 0.5])
def test_the_law_of_the_bags_is_found(between):
    rng = np.random.default_rng(2)
    y = np.arange(300) % 2
    bags = rng.standard_normal((300, 8, 20))
    bags += np.sqrt(between) * rng.standard_normal((300, 1, 20))
    bags[y == 1] += 0.3  # a difference of the classes is no effect of bags
    law = bag_law(read_labelled(3.0 * bags + 7.0, y))
    assert (law.length, law.averaging) == (8, pytest.approx(8.0))
    # 6000 values of bag means: their variance is known to 2%, of 0.125 + between.
    assert law.between == pytest.approx(between, abs=0.03)
