"""`fit --threshold` and `--class-prior`: what `BagClassifier` does by these names, in words."""

import json

import numpy as np
import pytest
from sklearn.metrics import recall_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import small_fits
from command_line import invoke
from sparsetoken import BagClassifier
from sparsetoken.base.validation import InvalidInput
from sparsetoken.cli.operating import prior_given, threshold_given
from sparsetoken.estimators import PooledClassifier
from sparsetoken.estimators.saving import load

CLASSES = np.array(["no", "yes"])

pytestmark = pytest.mark.usefixtures("few_fits")


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    with small_fits.few_trees():
        yield


@pytest.fixture(scope="module")
def weak(tmp_path_factory):
    """Bags that are hard to tell, a quarter of them of the second class, and their file."""
    rng, y = np.random.default_rng(0), np.arange(80) % 4 == 0
    X = rng.standard_normal((80, 5, 4))
    X[y, :, 0] += 0.8
    path = tmp_path_factory.mktemp("weak") / "bags.npz"
    np.savez(path, X=X, y=CLASSES[y.astype(int)])
    return X, CLASSES[y.astype(int)], path


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("auto", "auto"),
        ("0.2", 0.2),
        ("sensitivity:0.95", {"sensitivity": 0.95}),
        ("specificity:1", {"specificity": 1.0}),
        ("costs:yes=10,no=1", {"costs": {"yes": 10.0, "no": 1.0}}),
    ],
)
def test_words_of_a_threshold(text, threshold):
    assert threshold_given(text, CLASSES) == threshold


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2",
        "nan",
        "best",
        "recall:0.9",
        "sensitivity:",
        "sensitivity:0",
        "0.2:0.3",
        "costs:",
        "costs:1,2",
        "costs:no=1",
        "costs:no=1,yes=0",
        "costs:no=1,no=1",
        "costs:no=1,yes=1,",
    ],
)
def test_an_illegal_threshold_is_told_in_the_words_of_the_command(text):
    legal = r"costs:no=COST,yes=COST with costs > 0; got .* finds 95% of the bags of yes"
    with pytest.raises(InvalidInput, match=legal):
        threshold_given(text, CLASSES)


def test_classes_are_those_of_the_labels():
    """Numbers and truth values are no texts, and texts may have commas and equals signs."""
    found = threshold_given("costs:False=1,True=3", np.array([False, True]))
    assert found == {"costs": {False: 1.0, True: 3.0}}
    assert list(found["costs"]) == [False, True]
    assert prior_given("2=0.5, 1=0.25, 3=0.25", np.array([1, 2, 3])) == {2: 0.5, 1: 0.25, 3: 0.25}
    odd = np.array(["b", "a,b", "a=b"])
    assert prior_given("a=b=0.5,a,b=0.3,b=0.2", odd) == {"a=b": 0.5, "a,b": 0.3, "b": 0.2}


@pytest.mark.parametrize(
    "text", ["0.9,0.1", "no=0.9", "no=0.9,yes=0.2", "no=1,yes=0", "no=x,yes=1"]
)
def test_illegal_rates_are_told_in_the_words_of_the_command(text):
    with pytest.raises(InvalidInput, match=r"no=RATE,yes=RATE with rates > 0 of sum 1; got .*Give"):
        prior_given(text, CLASSES)


def test_fit_draws_the_line_where_the_classifier_does(weak, tmp_path):
    X, y, path = weak
    out = tmp_path / "model.skops"
    words = ["--threshold", "sensitivity:0.9", "--class-prior", "yes=0.1,no=0.9", "--folds", 2]
    found = invoke("bags", "fit", path, *words, "--out", out, "--json")
    assert found.exit_code == 0, found.stderr
    values, fitted = json.loads(found.stdout), load(out)
    own = BagClassifier(threshold={"sensitivity": 0.9}, class_prior={"no": 0.9, "yes": 0.1})
    own.set_params(random_state=0).fit(X, y)
    assert values["threshold"] == fitted.threshold_ == own.threshold_ < 0.3
    np.testing.assert_array_equal(fitted.predict_proba(X), own.predict_proba(X))
    np.testing.assert_array_equal(fitted.predict(X), own.predict(X))
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    for name, model in (("bag", own), ("pooled", PooledClassifier())):
        predicted = cross_val_predict(model, X, y, cv=folds)
        for label, share in zip(CLASSES, ("specificity", "sensitivity"), strict=True):
            given = values["scores"][name][share]
            recall = recall_score(y, predicted, pos_label=label)
            assert given["mean"] == pytest.approx(recall)
            spread = np.sqrt(recall * (1 - recall) / np.sum(y == label))
            assert given["standard_error"] == pytest.approx(spread * np.sqrt(80 / 79))
    told = json.loads(invoke("bags", "score", out, path, "--json").stdout)
    for label, share in zip(CLASSES, ("specificity", "sensitivity"), strict=True):
        assert told[share] == recall_score(y, own.predict(X), pos_label=label)


def test_the_line_is_told(weak):
    told = invoke("bags", "fit", weak[2], "--threshold", "0.125", "--folds", 2).stdout
    assert "Predicted yes from a probability of 0.125 on" in told.splitlines()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--threshold", "1.5"], "threshold must be auto, a probability in (0, 1)"),
        (["--class-prior", "no=1"], "class_prior must be no=RATE,yes=RATE"),
        (["--threshold", "0.2", "--model", "pooled"], "model must be bag with --threshold"),
        (["--class-prior", "x", "--model", "pooled"], "model must be bag with --class-prior"),
        (["--threshold", "0.2", "--numbers"], "--threshold must be left out with --numbers"),
        (["--class-prior", "x", "--numbers"], "--class-prior must be left out with --numbers"),
    ],
)
def test_refusals(weak, words, told):
    found = invoke("bags", "fit", weak[2], *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert told in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_more_than_two_classes_have_rates_but_no_threshold(tmp_path):
    rng, y = np.random.default_rng(0), np.array(list("abc") * 10 + ["d"])
    X = rng.standard_normal((31, 3, 3))
    np.savez(tmp_path / "four.npz", X=X, y=y)
    found = invoke("bags", "fit", tmp_path / "four.npz", "--threshold", "0.2")
    assert "threshold must be left out with more than two classes" in found.stderr
    rates = "a=0.4,b=0.3,c=0.2,d=0.1"
    found = invoke("bags", "fit", tmp_path / "four.npz", "--class-prior", rates, "--folds", 2)
    assert "all bags of a class are in one fold; got 'those of d'" in found.stderr
    np.savez(tmp_path / "three.npz", X=X[:30], y=y[:30])
    words = ["--class-prior", "a=0.8,b=0.1,c=0.1", "--folds", 2, "--json"]
    found = invoke("bags", "fit", tmp_path / "three.npz", *words)
    assert found.exit_code == 0, found.stderr
    values = json.loads(found.stdout)
    assert not {"threshold", "sensitivity"} & {*values, *values["scores"]["bag"]}
