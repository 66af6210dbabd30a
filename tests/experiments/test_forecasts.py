"""Forecasts beside measured errors: their verdicts, and the sets that a person gives."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from command_line import invoke
from sparsetoken.base.validation import InvalidInput
from sparsetoken.experiments import EXPERIMENTS, forecasts
from sparsetoken.experiments.core.bag_sets import BagSet, Drawn, LeftOut, read_sets
from sparsetoken.experiments.core.claims import FAILS, HOLDS, NOT_CONVERGED
from sparsetoken.experiments.core.experiment import piece
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.forecasts import (
    EXPERIMENT,
    forecast_pilot,
    leave_out,
    mean_error,
    measure_errors,
)
from sparsetoken.experiments.report import reproduce

PAGE = Path(forecasts.__file__).with_suffix(".md")


@pytest.fixture
def sizes(sizes_of):
    return sizes_of(EXPERIMENT, pilots=1, draws=3, test_bags=100, set_pilots=1, set_draws=3)


@pytest.fixture
def one_round(monkeypatch):
    """Forecasts from two halves, where the errors matter little."""
    monkeypatch.setattr("sparsetoken.forecasting.crossvalidation._ROUNDS", ((2, 1),))


def _bags(n=100, rate=0.5, shift=3.0):
    rng = np.random.default_rng(n)
    y = (np.arange(n) < rate * n).astype(int)
    X = rng.standard_normal((n, 4, 5))
    X[y == 1, 0] += shift
    return X, y


def _made(off=0.0, swapped=False, measured=(0.3, 0.1)):
    """Return rows of two pilots of a set, forecasts off by so much."""
    rows = []
    for model, error, found in zip(("pooled", "bag"), (0.3, 0.1), measured, strict=True):
        for n in (60, 120):
            at = {"set": "made", "given": False, "model": model, "bags": n}
            rows.append(Row("simulated", "test_error", found, 0.005, at, "tensors", 5, 4))
            value = 0.4 - error if swapped else error + off
            at |= {"pilot_bags": 60, "low": value - 0.05, "high": value + 0.05}
            rows += [Row("forecast", "test_error", value, at={**at, "pilot": i}) for i in range(2)]
    return Rows(rows)


def _verdicts(rows):
    comparisons = EXPERIMENT.compared(EXPERIMENT.sizes["quick"], rows)
    return {c.claim: c.verdict for c in comparisons if c.theory == c.theory}


@pytest.mark.parametrize(
    ("made", "intervals", "recommendation"),
    [
        ({"off": 0.03}, HOLDS, HOLDS),
        ({"off": 0.07}, FAILS, HOLDS),
        # The measurement is known to 0.005: an interval may miss by what that adds.
        ({"off": 0.0505}, HOLDS, HOLDS),
        ({"swapped": True}, FAILS, FAILS),
        ({"measured": (0.2, 0.2)}, FAILS, NOT_CONVERGED),  # nothing to decide
    ],
)
def test_forecasts_that_come_true_hold_and_others_fail(made, intervals, recommendation):
    verdicts = _verdicts(_made(**made))
    assert verdicts["forecast-intervals"] == intervals
    assert verdicts["forecast-recommendation"] == recommendation


def test_given_sets_are_shown_and_not_judged(said_of, sizes):
    given = [row.but(set="mine$_a|b", given=True) for row in _made(off=0.3)]
    rows = _made() + given + leave_out("broken.npz", "It is <no> *archive*")
    assert _verdicts(rows)["forecast-intervals"] == HOLDS
    words = said_of(EXPERIMENT, sizes, rows)
    assert "mine$_a|b (60)" in words["Found"]
    assert "broken.npz (It is <no> *archive*)." in words["Found"]
    assert "Of 8 intervals for user-provided sets, 0% contain" in words["Found"]
    gaps = "over constructed sets is 0.000 for pooling and 0.000 for BagClassifier, and over"
    assert gaps in words["Question: forecast-errors"]
    alone = said_of(EXPERIMENT, sizes, _made())["Found"]
    assert "Skipped" not in alone
    assert "were given" not in alone


@pytest.mark.usefixtures("one_round")
def test_a_forecast_and_a_measurement_of_drawn_bags():
    drawn = Drawn("digits", 5, 60, 100)
    rows = Rows(forecast_pilot(drawn, 0, 1))
    assert [row["bags"] for row in rows.where(model="pooled")] == [60, 120, 240]
    assert all(0 <= row["low"] <= row.value <= row["high"] <= 1 for row in rows)
    pooled, bag = measure_errors(drawn, 120, 3, 1)
    assert pooled.trials == 3
    assert bag.value < pooled.value < 0.5


def test_a_set_is_split_by_class_without_overlap():
    X, y = _bags(120, rate=0.4)
    given = BagSet.of("mine", X, y)
    split = given.split(40, np.random.default_rng(0))
    assert split.positive.sum() == 16
    rows = {tuple(bag[0]) for bag in split.bags}
    assert not rows & {tuple(bag[0]) for bag in split.rest}
    assert len(split.rest) == 80
    np.testing.assert_array_equal(split.truth, given.positive[split.numbers])


def test_the_error_of_a_given_set_has_the_luck_of_its_bags():
    """100 bags, each always right or always wrong: draws agree, bags do not."""
    wrong = [np.arange(100) < 20] * 4
    numbers = [np.arange(100)] * 4
    fresh, given = (mean_error(wrong, numbers, dimension=5, given=one) for one in (False, True))
    assert (fresh.value, fresh.error) == (0.2, 0.0)
    assert given.error == pytest.approx(np.sqrt(0.2 * 0.8 / 99))


@pytest.mark.parametrize(
    ("n", "rate", "message"),
    [(60, 0.5, "at least 89, for a pilot of 40"), (100, 0.05, "at least 10 of each class")],
)
def test_sets_that_are_too_small_are_refused(n, rate, message):
    with pytest.raises(InvalidInput, match=message):
        BagSet.of("mine", *_bags(n, rate))


@pytest.fixture
def folder(tmp_path):
    """A folder with a good set, one of a single class, and a file that is no archive."""
    home = tmp_path / "sets"
    home.mkdir()
    X, y = _bags()
    np.savez(home / "good.npz", X=X, y=y)
    np.savez(home / "single.npz", X=X, y=np.zeros(100))
    (home / "broken.npz").write_text("junk")
    (home / "notes.txt").write_text("of no concern")
    return home


def test_a_folder_is_read(folder):
    broken, good, single = read_sets(folder)
    assert isinstance(good, BagSet)
    assert good.name == "good.npz"
    assert [one.set for one in (broken, single)] == ["broken.npz", "single.npz"]
    assert str(folder) not in broken.reason
    assert "class" in single.reason


def test_what_is_left_out_is_told(folder, tmp_path):
    more = ("--profile", "none", "--out", tmp_path / "out")
    result = invoke("reproduce", "forecasts", "--bags", folder, *more)
    assert "Skipped: broken.npz" in result.stderr
    assert "Skipped: single.npz" in result.stderr


@pytest.mark.parametrize(
    ("kept", "options", "message"),
    [
        ("none", ["--bags", "other"], "--bags must be a folder"),
        ("none", ["--bags", "sets"], "No file in it"),
        ("broken.npz", ["--bags", "sets"], "None of its"),
        ("good.npz", ["--bags", "sets", "--positive", "q"], "a label of a file of more than two"),
        ("good.npz", ["--positive", "q"], "given with --bags FOLDER"),
    ],
)
def test_folders_and_labels_that_say_nothing_are_refused(
    folder, monkeypatch, kept, options, message
):
    for path in folder.iterdir():
        if path.name != kept:
            path.unlink()
    monkeypatch.chdir(folder.parent)
    result = invoke("reproduce", "forecasts", "--out", "out", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (folder.parent / "out").exists()


def test_one_of_several_classes_is_compared_with_the_rest(folder):
    X, y = _bags()
    np.savez(folder / "three.npz", X=X, y=np.where(y, "b", np.where(X[:, 0, 0] > 0, "a", "c")))
    *_, three = read_sets(folder)
    assert isinstance(three, LeftOut)
    assert "positive=LABEL compares one of them with the rest" in three.reason
    _, good, _, three = read_sets(folder, "b")
    assert isinstance(good, BagSet)  # of two classes, which are as they were
    np.testing.assert_array_equal(three.positive, y == 1)


@pytest.mark.usefixtures("one_round")
def test_given_sets_come_into_the_report(folder, tmp_path, monkeypatch, sizes):
    fake = dataclasses.replace(
        EXPERIMENT, work=lambda *_: [piece(_made)], page=PAGE, sizes={"quick": sizes}
    )
    monkeypatch.setitem(EXPERIMENTS, "forecasts", fake)
    out = tmp_path / "out"
    reproduction = reproduce(["forecasts"], out=out, sets=read_sets(folder))
    assert reproduction.all_hold
    page = reproduction.report.read_text(encoding="utf-8")
    assert "good.npz" in page
    assert "broken.npz (" in page
    measured = (out / "data" / "forecasts.csv").read_text(encoding="utf-8")
    assert measured.count("simulated,test_error,good.npz") == 4  # two models, 40 and 80 bags
    assert str(folder) not in page + measured
    assert reproduce(["forecasts"], out=out, sets=read_sets(folder)).resumed == reproduction.pieces
