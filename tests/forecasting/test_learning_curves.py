"""Forecasts: the contract, what they say of known problems, and what they refuse."""

import json
import math
from unittest import mock

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta

from sparsetoken import BagClassifier, forecast
from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.progress import showing
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier
from sparsetoken.forecasting.curves import CurveParameters, errors_at, pooled_shift
from sparsetoken.forecasting.inputs import BagLaw, Labelled, read_labelled
from sparsetoken.forecasting.learning_curves import assembled, check_sizes
from sparsetoken.forecasting.measures import Excess, excess_of, spreads
from sparsetoken.forecasting.pilot import (
    MODELS,
    ORDERED,
    HeldOut,
    held_out_errors,
    splits_of,
)
from sparsetoken.forecasting.posterior import fit_posterior
from sparsetoken.numerics.ranks import placements
from sparsetoken.results import StatusCode

BAGS = np.random.default_rng(9).standard_normal((40, 3, 4))
Y = np.arange(40) % 2


def test_the_contract(clear):
    values = json.loads(json.dumps(clear.to_dict()))
    assert values["n"] == clear.n == 80
    assert set(values["curves"]) == {"bag", "attention", "pooled"}
    for points in values["curves"].values():
        assert [point["n"] for point in points] == [80, 160, 320]
        for point in points:
            assert list(point) == ["n", "error", "low", "high", "auc", "auc_low", "auc_high"]
            assert 0 <= point["low"] <= point["error"] <= point["high"] <= 1
        assert points[2]["error"] < points[1]["error"] < points[0]["error"]
    assert clear.recommended == values["recommended"] == "bag"
    assert values["recommended_at"] == dict.fromkeys(("80", "160", "320"), "bag")
    assert values["status"] == "converged"
    assert values["measured"]["pooled"]["n"] == 64
    assert clear.gain > clear.gain_error > 0 == clear.heavy_tails
    for name in ("gain", "gain_error", "within_bag", "heavy_tails"):
        assert values[name] == getattr(clear, name)


@pytest.mark.filterwarnings("error")
def test_tokens_by_themselves_keep_the_names_of_the_columns():
    plain = as_bags(BAGS)
    named = Bags(plain.tokens, plain.offsets, list("abcd"))
    found = [spreads(PooledClassifier().fit(bags, Y), bags, bags) for bags in (plain, named)]
    assert np.array_equal(*found)


def test_shown_as_text_table_and_picture(clear):
    point, one = clear.curves["bag"][-1], clear.measured["bag"]
    for words in (
        f"{one.error:.3f} ± {one.standard_error:.3f}",
        f"{point.error:.3f} ({point.low:.3f} to {point.high:.3f})",
        "status converged",
        "At 320 bags, use BagClassifier.",
        f"mean pooling is {clear.gain:.3f} ± {clear.gain_error:.3f} above",
        "0% of the columns have heavy tails",
    ):
        assert words in str(clear)
        assert words in clear._repr_html_()
    pandas = pytest.importorskip("pandas")
    table = clear.to_frame()
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns)[:5] == ["model", "n", "error", "low", "high"]
    assert list(table.columns)[5:] == ["auc", "auc_low", "auc_high"]
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = clear.plot()
    names = ["bag classifier", "attention", "mean pooling", "always the larger class"]
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told == [*names, "90% interval", "cross-validated ± standard error"]
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert len({lines[name].get_color() for name in names}) == 4
    assert lines["always the larger class"].get_ydata() == [clear.guess] * 2
    assert ax.get_xticks().tolist() == [clear.measured["bag"].n, *clear.sizes]
    assert ax.figure.dpi == 200
    points = clear.curves["bag"]
    ends = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert ends.min() == pytest.approx(min(p.low for p in points))
    assert ends.max() == pytest.approx(max(p.high for p in points))
    one = clear.measured["bag"]
    assert ax.containers[0].lines[0].get_xydata().tolist() == [[one.n, one.error]]
    plt.close(ax.figure)


def test_a_sparse_signal_is_forecast(clear, draw):
    """Against fits to 320 bags, with the interval that the forecast itself gives."""
    from sparsetoken.estimators import PooledClassifier

    bags, y = draw(8, 1, 4.0, 0.5, 20, 2000, 0)
    rows = np.random.default_rng(3).permutation(2000)
    train, test = rows[:320], rows[320:]
    for name, model in (
        ("pooled", PooledClassifier()),
        ("bag", BagClassifier()),
    ):
        error = np.mean(model.fit(bags[train], y[train]).predict(bags[test]) != y[test])
        last = clear.curves[name][-1]
        assert last.low - 0.03 <= error <= last.high + 0.03  # 0.03: one draw of the bags
    assert clear.informative.low <= 1 <= clear.informative.high


def _scored(errors, n, noise):
    """Return shares and placements of n bags with normal scores that err so often at each size.

    Noise is a function that returns that of the scores: an array of sizes and bags.
    """
    positive, shares, placed = np.arange(n) % 2 == 1, {}, {}
    for model, some in errors.items():
        gap = -2 * ndtri(np.array(some))[:, None]  # of balanced classes, the threshold half way
        scores = noise((len(some), n)) + gap * positive
        shares[model] = ((scores > gap / 2) != positive).astype(float)
        if model in ORDERED:
            placed[model] = np.stack([placements(one, positive) for one in scores])
    return shares, placed, positive


def _held_out(law, parameters, sizes, n, seed):
    """Return what the luck of n bags leaves of curves."""
    at = [errors_at(size, parameters, law) for size in sizes]
    errors = {model: [e[model][0] for e in at] for model in MODELS}
    shift = pooled_shift(sizes[-1], parameters, law)
    expected = excess_of(shift, parameters.informative, law.length)[0]
    scored = _scored(errors, n, np.random.default_rng(seed).standard_normal)
    return HeldOut(np.array(sizes, float), *scored, Excess(float(expected), n**-0.5))


@pytest.mark.parametrize(
    ("separation", "informative"), [(1.2, 1), (1.5, 2), (2.0, 10)], ids=["one", "two", "dense"]
)
def test_curves_built_from_known_parameters_are_found_again(separation, informative):
    """Backwards from the answer: 2000 bags per size leave noise of 0.01."""
    law = BagLaw(10, 10.0, 0.1, 0.5)
    one = CurveParameters(*(np.array([v]) for v in (separation, 60.0, informative, 0.0)))
    held_out = _held_out(law, one, [50, 67, 90], 2000, 0)
    found = fit_posterior(law, held_out)
    for n in (100, 400):
        truth = errors_at(n, one, law)
        for model, interval in found.errors(n).items():
            value = truth[model][0]
            assert interval.value == pytest.approx(value, abs=0.04)
            assert interval.low - 0.01 <= value <= interval.high + 0.01


def _found(excess, seed):
    """Return what is found where errors alone say little: the models err as often, in other bags.

    If they erred in the same bags, that would tell that none gains.
    """
    rng, quantiles = np.random.default_rng(seed), ndtri((np.arange(30) + 0.5) / 30)

    def noise(shape):
        # Alike in both classes, so that only the order of the bags is random.
        both = np.stack([rng.permutation(quantiles), rng.permutation(quantiles)], axis=1)
        return np.broadcast_to(both.ravel(), shape)

    scored = _scored(dict.fromkeys(MODELS, (0.42, 0.41, 0.4)), 60, noise)
    held_out = HeldOut(np.array([30.0, 40.0, 54.0]), *scored, excess)
    return fit_posterior(BagLaw(20, 20.0, 0.0, 0.5), held_out)


def test_an_excess_of_variance_tells_that_attention_will_win():
    for seed in range(3):
        dense, sparse = (_found(Excess(value, 0.05), seed) for value in (0.0, 0.3))
        assert sparse.informative.value < 4 < dense.informative.value
        assert sparse.informative.high <= 8 < 20 == dense.informative.high
        at = [found.errors(240) for found in (sparse, dense)]
        gains = [errors["pooled"].value - errors["attention"].value for errors in at]
        assert gains[0] > gains[1] > 0


def test_what_curves_miss_at_the_pilot_they_miss_later():
    """Trees may see what no curve describes: 0.1, where mean pooling and attention have 0.45."""
    scored = _scored(
        {"bag": (0.1,), "attention": (0.45,), "pooled": (0.46, 0.45, 0.45)},
        200,
        np.random.default_rng(0).standard_normal,
    )
    held_out = HeldOut(np.array([100.0, 133.0, 160.0]), *scored, Excess(0.0, 1.0))
    posterior = fit_posterior(BagLaw(3, 3.0, 0.0, 0.5), held_out)
    now, later = posterior.errors(160), posterior.errors(640)
    assert now["bag"].low < held_out.errors("bag")[-1] < now["bag"].high < 0.2
    assert now["pooled"].low > 0.3
    # Mean pooling may learn from four times the bags, but not what trees see by now.
    assert later["bag"].high < 0.2 < later["pooled"].low
    assert later["bag"].low < now["bag"].low  # the further the less is known


def test_the_measured_auc_of_the_average_informs_its_forecast():
    """Trees may order bags that mean pooling and attention do not: AUCs of 0.95 and 0.56."""
    rng = np.random.default_rng(0)
    scored = _scored(
        {"bag": (0.3,), "attention": (0.45,), "pooled": (0.45,)}, 200, rng.standard_normal
    )
    placed = placements(rng.standard_normal(200) + 2.33 * scored[-1], scored[-1])
    held_out = HeldOut(np.array([160.0]), *scored, Excess(0.0, 1.0), placed_by_bag=placed)
    law = BagLaw(3, 3.0, 0.0, 0.5)
    without, informed = (
        fit_posterior(law, one).aucs(160) for one in (held_out, held_out.with_average)
    )
    measured = held_out.auc("bag")[0]
    assert without["bag"].high < measured - 0.05
    # Still between it and 0.77, the AUC of normal scores that err as often.
    assert informed["bag"].value == pytest.approx(measured, abs=0.05)
    assert informed["bag"].low > informed["pooled"].high


@pytest.mark.usefixtures("few_fits")
def test_noise_promises_nothing(draw):
    bags, y = draw(5, 1, 0.0, 0.5, 10, 60, 3)
    found = forecast(bags, y)
    assert found.sizes == (60, 120, 240)
    assert found.curves["pooled"][0].error > 0.4
    assert any("No classifier is better by a standard error" in text for text in found.advice)


def _assembled(errors, sizes=None):
    """Return the forecast of 40 bags with the held-out errors of both classifiers given."""
    noise = np.random.default_rng(0).standard_normal
    scored = _scored(dict.fromkeys(MODELS, errors), 40, noise)
    held_out = HeldOut(np.array([20.0, 27.0, 36.0]), *scored, Excess(0.0, 1.0))
    data, law = read_labelled(BAGS, Y), BagLaw(3, 3.0, 0.0, 0.5)
    wanted, posterior = check_sizes(sizes, 40), fit_posterior(law, held_out)
    return assembled(data, law, 0.0, wanted, held_out, posterior)


def test_what_disagrees_with_cross_validation_is_told():
    """Errors that rise with more bags: no curve of the family does that."""
    found = _assembled((0.02, 0.02, 0.9))
    assert found.status.code is StatusCode.DISAGREES
    assert not found.status.converged
    assert "cross-validated" in found.advice[0]
    assert found.to_dict()["status"] == "disagrees"


def test_an_interval_holds_the_cross_validation_that_it_contradicts():
    """Beside a status `disagrees` no interval is surer than that of the bags alone."""
    found = _assembled((0.02, 0.02, 0.9))
    for model, points in found.curves.items():
        wrong = found.measured[model].error * 40
        low, high = beta(wrong + 0.5, 40 - wrong + 0.5).ppf([0.05, 0.95])
        for point in points:
            # Log odds and back: rounding.
            assert point.low - 1e-12 <= low < high <= point.high + 1e-12


def test_beyond_four_times_the_pilot_it_says_so():
    found = _assembled((0.3, 0.3, 0.2), sizes=[100, 1000])
    assert any("Beyond 160 bags" in text for text in found.advice)
    assert math.isfinite(found.curves["bag"][0].error)


@pytest.mark.usefixtures("two_fits")
def test_the_same_seed_gives_the_same_forecast_and_progress_ends():
    bags, y, bars = BAGS[:24], Y[:24], [mock.Mock(), mock.Mock()]
    make = mock.Mock(side_effect=bars)
    with showing(make):
        one = forecast(bags, y)
        calls = [call.args for call in make.call_args_list]
        assert [what for what, _ in calls] == ["bags looked at", "fits"]
        for bar, (_, total) in zip(bars, calls, strict=True):
            assert sum(call.args[0] for call in bar.update.call_args_list) == pytest.approx(total)
            bar.close.assert_called_once()
        again = forecast(bags, y, progress=False)
        assert make.call_count == 2
    assert json.dumps(one.to_dict()) == json.dumps(again.to_dict())
    other = forecast(bags, y, sizes=[48, 24], random_state=1)
    assert other.sizes == (24, 48)
    assert other.measured != one.measured


@pytest.mark.parametrize(
    ("bags", "y", "options", "words"),
    [
        (BAGS, Y, {"sizes": [20]}, ["sizes", ">= 40", "20", "The pilot has 40 bags"]),
        (BAGS, Y, {"sizes": [80.5]}, ["sizes", "80.5"]),
        (BAGS, Y, {"sizes": []}, ["sizes", "one number"]),
        (BAGS, Y, {"sizes": "80"}, ["sizes", "[200, 400]"]),
        (BAGS, np.arange(40) % 3, {}, ["two classes", "3 classes", "one class with the rest"]),
        (BAGS[:14], Y[:14], {}, ["at least 10", "got 7. Label 3 more"]),
        (np.ones((40, 3, 4)), Y, {}, ["not all equal"]),
        (1e300 * BAGS, Y, {}, ["values up to", "Scale"]),
    ],
)
def test_bad_input_is_refused(bags, y, options, words):
    with pytest.raises(InvalidInput) as caught:
        forecast(bags, y, **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.slow
def test_a_forecast_for_new_patients(monkeypatch):
    """Labels of patients by chance: those of new ones are known in half of the bags.

    Those of the pilot are told from their other bags, if no groups are given.
    """
    rounds = "sparsetoken.forecasting.pilot._ROUNDS"
    monkeypatch.setattr(rounds, ((2, 1), (5, 1)))
    P, pilots, points = 30, 3, []
    patient = np.repeat(np.arange(P), 4)
    for seed in range(pilots):
        rng = np.random.default_rng(seed)
        bags = rng.standard_normal((len(patient), 5, 10))
        bags += rng.standard_normal((P, 1, 10))[patient]
        y = rng.permutation(np.arange(P) % 2)[patient]
        found = forecast(bags, y, sizes=[120], groups=patient, progress=False)
        for one in found.measured.values():
            assert one.standard_error > 0.05  # of 120 bags by themselves it is at most 0.046
        points.append([found.curves[model][0] for model in MODELS])
    # Of nine 90% intervals more than two miss with a probability of 5%.
    assert sum(not point.low < 0.5 < point.high for of in points for point in of) <= 2
    # Two standard errors of the share of right ones among all the patients.
    errors = np.array([[point.error for point in of] for of in points])
    assert errors.mean(axis=0) == pytest.approx(0.5, abs=2 * 0.5 / np.sqrt(P * pilots))
    alone = forecast(bags, y, sizes=[120], progress=False)
    assert "taken as independent" in str(alone)
    # More than two standard errors of 120 independent bags below one half.
    assert all(of[0].high < 0.4 for of in alone.curves.values())


@pytest.mark.parametrize("P", [12, 14, 16])
def test_rounds_of_few_groups_train_on_ever_more_bags(P):
    """Every group has bags of both classes, and none of these numbers is a multiple of five."""
    groups = np.repeat(np.arange(P), 4)
    data = Labelled(as_bags(np.zeros((4 * P, 2, 2))), np.arange(4 * P) % 2 == 1, groups)
    rounds = splits_of(data, 0)
    sizes = [np.mean([train.sum() for train in trains]) for trains in rounds]
    assert len(sizes) > 1
    assert (np.diff(sizes) > 0).all()
    assert sizes[-1] >= 2 / 3 * len(groups)  # of three folds, at least half as many as five
    for train in (train for trains in rounds for train in trains):
        assert all(len(set(train[groups == group])) == 1 for group in range(P))


@pytest.mark.usefixtures("few_fits")
def test_rounds_that_train_on_as_many_bags_are_one():
    """Of 14 groups there are two folds where two or three are asked for."""
    groups = np.repeat(np.arange(14), 4)
    bags = np.random.default_rng(0).standard_normal((56, 3, 4))
    data = read_labelled(bags, np.arange(56) % 2, groups)
    held_out = held_out_errors(data, 0, progress=False)
    assert held_out.sizes.tolist() == [28.0]
    assert [len(shares) for shares in held_out.shares.values()] == [1, 1, 1]
    found = forecast(bags, np.arange(56) % 2, sizes=[56], groups=groups, progress=False)
    assert found.measured["bag"].n == 28


@pytest.mark.parametrize("P", [12, 14, 16])
def test_groups_of_one_class_each_are_too_few_below_twenty(P):
    groups = np.repeat(np.arange(P), 4)
    bags = np.random.default_rng(0).standard_normal((4 * P, 3, 4))
    with pytest.raises(InvalidInput) as caught:
        forecast(bags, groups % 2, groups=groups)
    for words in ("at least 10 for a forecast", f"got {P // 2}. ", f"Label {10 - P // 2} more"):
        assert words in str(caught.value)


def test_groups_of_single_bags_change_no_number():
    placed = {model: np.random.default_rng(0).random((3, 40)) for model in MODELS}
    positive, sizes = np.arange(40) % 2 == 1, np.array([20.0, 27.0, 36.0])
    shares = {model: np.round(one) for model, one in placed.items()}
    first, second = (
        HeldOut(sizes, shares, placed, positive, Excess(0.0, 1.0), groups)
        for groups in (None, np.random.default_rng(1).permutation(40))
    )
    np.testing.assert_allclose(second.covariance, first.covariance, atol=1e-15)
    assert second.gain_error == pytest.approx(first.gain_error)
    assert second.independent == first.independent == 40
    twice = np.repeat(np.arange(40), 2)
    doubled = [{model: one[:, twice] for model, one in of.items()} for of in (shares, placed)]
    copies = HeldOut(sizes, *doubled, positive[twice], Excess(0.0, 1.0), twice)
    assert copies.gain_error == pytest.approx(first.gain_error)
    assert copies.tested("bag") == pytest.approx(40, abs=1.5)  # smoothed by one of them


def test_aucs_are_forecast_beside_errors(clear):
    """Of one strong token of eight: higher with more bags, and inside their own intervals."""
    for model, points in clear.curves.items():
        areas = [point.auc for point in points]
        assert all(p.auc_low <= p.auc <= p.auc_high <= 1 for p in points)
        assert areas == sorted(areas), model
        one = clear.measured[model]
        assert 0.5 < one.auc <= 1
        assert points[0].auc_low - 0.02 <= one.auc <= points[0].auc_high + 0.02
    assert clear.curves["bag"][-1].auc > clear.curves["pooled"][-1].auc
    # Whatever lowers the error of the average more than its curve raises its AUC.
    assert clear.curves["bag"][0].auc == pytest.approx(clear.measured["bag"].auc, abs=0.05)
    assert "AUC, cross-validated" in str(clear)
    assert "AUC, forecast" in str(clear)
    assert "Always answering with the larger class errs in 0.500" in str(clear)
    ax = clear.plot(quantity="auc")
    assert ax.get_ylabel() == "AUC"
    with pytest.raises(InvalidInput, match="quantity must be"):
        clear.plot(quantity="loss")
