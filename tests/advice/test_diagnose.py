"""Advice as a whole: the model it recommends, what it says, what it refuses."""

import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from sparsetoken import AttentionClassifier, SparseTokenProblem, diagnose
from sparsetoken.advice.curves import Forecast, better
from sparsetoken.bags import from_long
from sparsetoken.estimators import QueryWarning
from sparsetoken.validation import InvalidInput

MIL = Path(__file__).parents[3] / "shared" / "data" / "mil"


@pytest.fixture(scope="module")
def clear(draw):
    """One strong token of ten: L = 10, R = 1, theta = 5."""
    bags, y = draw(10, 1, 5.0, 0.5, 30, 400, 0)
    return diagnose(bags, y, n_boot=60)


def test_numbers_of_a_clear_signal(clear):
    assert (clear.n, clear.n_positive, clear.length, clear.dimension) == (400, 200, 10, 30)
    assert clear.signal == "clear"
    for estimate, truth in (
        (clear.strength, 5.0),
        (clear.informative, 1.0),
        (clear.shift, 0.5),
        (clear.positive_rate, 0.5),
    ):
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.value == pytest.approx(truth, rel=0.25)  # about twice the 90% interval
    # 120000 values of negative bags know their standard deviation to 0.2%.
    assert clear.noise.value == pytest.approx(1.0, abs=0.01)
    assert clear.effective_dimension == pytest.approx(30, rel=0.02)
    assert clear.tokens.fit == "close"


@pytest.mark.parametrize(
    ("length", "informative", "strength", "rate", "d", "n"),
    [(10, 1, 5.0, 0.5, 30, 400), (20, 2, 4.0, 0.3, 40, 400), (4, 4, 1.0, 0.5, 20, 200)],
)
def test_the_model_is_the_one_that_the_truth_asks_for(
    draw, length, informative, strength, rate, d, n
):
    bags, y = draw(length, informative, strength, rate, d, n, 1)
    found = diagnose(bags, y, n_boot=20)
    problem = SparseTokenProblem(length, informative, strength, rate)
    truth = Forecast(problem, d, equal_sizes=True)
    point = truth.at(n)
    expected = better(point, truth.guess)
    assert expected == ("pooled" if informative == length else "attention")
    assert found.recommended == expected
    assert found.support > 0.7
    # The estimated signal moves the predicted error: its own interval, with the 0.005 of nodes.
    error = found.labels.error
    assert error.low - 0.01 <= point.error(expected) <= error.high + 0.01


def test_curves_fall_and_labels_are_counted(clear):
    assert [point.n for point in clear.curves] == [100, 200, 400, 800, 1600, 3200]
    for model in ("attention", "pooled", "vectorized"):
        errors = [point.error(model) for point in clear.curves]
        # Within the accuracy of the nodes.
        assert all(b < a + 0.005 for a, b in itertools.pairwise(errors))
    labels = clear.labels
    assert labels.infinite <= labels.fourfold <= labels.double.value <= labels.error.value
    goal = (labels.error.value + labels.infinite) / 2
    here = [p for p in clear.curves if p.n <= labels.halfway]
    later = [p for p in clear.curves if p.n >= labels.halfway]
    assert here[-1].attention >= goal >= later[0].attention


def test_rare_positives_may_turn_the_query_away(draw):
    bags, y = draw(10, 4, 1.5, 0.06, 15, 1000, 2)
    found = diagnose(bags, y, n_boot=20)
    assert found.setting.sign_margin < 0
    assert found.setting.cosine.value < 0
    assert found.setting.away > 0.5
    assert any("turn away" in text and "balanced" in text for text in found.advice)


def test_the_query_is_judged_with_the_loss_of_the_classifiers(draw):
    """Where the square loss turns to the signal and the logistic loss turns away."""
    bags, y = draw(10, 1, 5.0, 0.15, 30, 600, 0)
    found = diagnose(bags, y, n_boot=20)
    assert found.curves[2].cosine > 0.3  # of the square loss
    assert found.setting.sign_margin < 0
    assert found.setting.cosine.value < found.setting.cosine.high < 0
    assert found.setting.away > 0.5
    assert any("logistic" in text and "turn away" in text for text in found.advice)
    means = bags.mean(axis=1)
    signal = means[y == 1].mean(axis=0) - means[y == 0].mean(axis=0)
    model = AttentionClassifier(training="four_stage", temperature=10.0, random_state=0)
    with pytest.warns(QueryWarning, match="too weakly aligned"):
        model.fit(bags, y)
    assert model.query_[0] @ signal < 0


def test_the_positive_class_can_be_the_first(draw, clear):
    bags, y = draw(10, 1, 5.0, 0.5, 30, 400, 0)
    found = diagnose(bags, 1 - y, pos_label=0, n_boot=60)
    assert found.positive_class == 0
    turned = {**found.to_dict(), "positive_class": "1"}
    assert json.dumps(turned) == json.dumps(clear.to_dict())
    wrong = diagnose(bags, 1 - y, n_boot=20)
    assert any("class 0 vary more" in text and "pos_label=0" in text for text in wrong.advice)
    assert not any("vary more" in text for text in clear.advice)


@pytest.mark.parametrize("label", [2, "1", np.nan])
def test_a_positive_class_that_is_not_there(label):
    with pytest.raises(InvalidInput, match=r"pos_label must be one of \[0, 1\]"):
        diagnose(BAGS, Y, pos_label=label)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_any_units_that_can_be_squared(draw, kind):
    bags, y = draw(4, 1, 0.0, 0.5, 6, 60, 3)  # no signal: nothing is predicted, which takes time
    plain = diagnose(bags.astype(kind), y, n_boot=20)
    for power in (-10, 12) if kind is np.float32 else (-146, 145):
        found = diagnose((bags * 10.0**power).astype(kind), y, n_boot=20)
        # Rounding of the tokens, 6e-8 in float32, in differences of moments.
        assert found.evidence == pytest.approx(plain.evidence, abs=1e-5)
        assert found.noise.value == pytest.approx(10.0**power * plain.noise.value, rel=1e-5)
        assert found.tokens.kurtosis == pytest.approx(plain.tokens.kurtosis, abs=1e-4)


def test_no_signal_gives_no_curves(draw):
    bags, y = draw(8, 2, 0.0, 0.5, 30, 80, 3)
    found = diagnose(bags, y, n_boot=20)
    assert found.signal == "none"
    assert found.curves == ()
    assert found.setting is None
    assert found.labels is None
    assert found.recommended == "pooled"
    assert math.isnan(found.support)
    assert "No signal is seen" in found.advice[0]
    assert "No signal is seen" in " ".join(str(found).split())


def test_few_bags_give_a_weak_signal_and_say_so(draw):
    bags, y = draw(20, 2, 3.0, 0.5, 100, 120, 4)
    found = diagnose(bags, y, n_boot=40)
    assert found.signal == "weak"
    assert found.strength.high > 2 * found.strength.low
    assert "weak" in found.advice[0]


def test_the_same_seed_gives_the_same_answer(draw, clear):
    again = diagnose(*draw(10, 1, 5.0, 0.5, 30, 400, 0), n_boot=60)
    assert json.dumps(again.to_dict()) == json.dumps(clear.to_dict())
    bags, y = draw(8, 2, 0.0, 0.5, 30, 80, 3)
    one, other = (diagnose(bags, y, n_boot=20, random_state=seed) for seed in (0, 1))
    assert one.shift.high != other.shift.high


def test_text_and_dict_hold_the_same(clear):
    values = json.loads(json.dumps(clear.to_dict()))
    assert values["recommended"] == "attention"
    assert values["curves"][2]["n"] == 400
    assert values["tokens"]["verdict"] == clear.tokens.verdict
    shown = str(clear)
    for word in ("theta", "90% interval", "effective", "attention", "excess kurtosis", "400 *"):
        assert word in shown
    flat = " ".join(shown.split())
    assert all(
        " ".join(sentence.split()) in flat for sentence in clear.advice if "-" not in sentence
    )


def test_ragged_float32_and_words_for_labels(draw):
    bags, y = draw(8, 2, 5.0, 0.5, 10, 120, 6)
    ragged = [bag[: 6 + i % 3].astype(np.float32) for i, bag in enumerate(bags)]
    found = diagnose(ragged, np.where(y == 1, "with", "none"), n_boot=20)
    assert found.positive_class == "with"
    assert (found.smallest, found.largest) == (6, 8)
    assert math.isnan(found.curves[0].vectorized)
    assert any("equal sizes" in text for text in found.advice)


def test_nothing_is_predicted_for_very_long_bags():
    bags = np.random.default_rng(10).standard_normal((20, 1501, 2))
    bags[1::2] += 1.0
    found = diagnose(bags, np.arange(20) % 2, n_boot=20)
    assert found.signal == "clear"
    assert found.curves == ()
    assert found.recommended == "attention"
    assert "1500 tokens (here 1501)" in found.advice[0]


def test_negative_bags_without_any_noise():
    bags = np.random.default_rng(11).standard_normal((40, 3, 4))
    bags[::2] = 0.0
    found = diagnose(bags, np.arange(40) % 2, n_boot=20)
    assert found.noise.value == 0.0
    assert math.isfinite(found.strength.value)


def test_bags_of_one_token(draw):
    bags, y = draw(1, 1, 3.0, 0.5, 10, 80, 7)
    found = diagnose(bags[:, 0], y, n_boot=20)
    assert found.informative.value == 1
    assert found.setting is None
    assert found.recommended == "pooled"


BAGS = np.random.default_rng(9).standard_normal((40, 3, 4))
Y = np.arange(40) % 2


def _with_nan():
    bad = BAGS.copy()
    bad[7, 2, 1] = np.nan
    return bad


@pytest.mark.parametrize(
    ("bags", "y", "options", "words"),
    [
        (BAGS, Y[:30], {}, ["40", "30"]),
        (BAGS, np.zeros(40), {}, ["two classes"]),
        (BAGS, np.arange(40) % 3, {}, ["two classes", "3"]),
        (BAGS[:14], Y[:14], {}, ["at least 10", "7 of class", "3 more"]),
        (_with_nan(), Y, {}, ["nan", "bag 7", "token 2"]),
        (np.ones((40, 3, 4)), Y, {}, ["equal"]),
        (1e300 * BAGS, Y, {}, ["values up to 1.3e+148", "Scale"]),
        (np.float32(1e30) * BAGS.astype(np.float32), Y, {}, ["values up to 1.8e+13"]),
        (1e-300 * BAGS, Y, {}, ["a column that varies", "deviations up to 0"]),
        (np.float32(1e-30) * BAGS.astype(np.float32), Y, {}, ["a column that varies"]),
        (1e8 + 1e-8 * BAGS, Y, {}, ["a column that varies"]),
        ([*BAGS[:39], np.empty((0, 4))], Y, {}, ["bag 39", "at least one token"]),
        (BAGS, None, {}, ["y"]),
        (BAGS, Y, {"n_boot": 5}, ["n_boot", "20"]),
    ],
)
def test_bad_input_is_refused(bags, y, options, words):
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        diagnose(bags, y, **options)
    for word in words:
        assert word in str(caught.value)


def test_bags_that_are_too_few_are_an_invalid_input():
    with pytest.raises(InvalidInput):
        diagnose(BAGS[:10], Y[:10])


def _real(name):
    path = MIL / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"the data set {name} is not here")
    stored = np.load(path)
    return from_long(stored["X"], stored["bag"]).bags, stored["y"]


@pytest.mark.parametrize(("name", "signals"), [("musk1", {"clear"}), ("fox", {"none", "weak"})])
def test_classic_sets_are_far_from_the_model(name, signals):
    found = diagnose(*_real(name), n_boot=20)
    assert found.tokens.fit == "poor"
    assert "guess" in found.advice[-1]
    assert found.signal in signals  # the best published accuracies are 0.91 and 0.62


def test_newsgroups_have_one_or_two_informative_tokens():
    found = diagnose(*_real("ng_sci_space"), n_boot=20)
    assert found.recommended == "attention"
    assert 1 <= found.informative.value < 4  # the true token labels: one or two of 20 to 80
    assert found.tokens.fit == "poor"
