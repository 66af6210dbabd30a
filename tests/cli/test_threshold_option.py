"""`fit --threshold`: what `BagClassifier` does by this name, in words."""

import json

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import small_fits
from command_line import invoke
from sparsetoken import BagClassifier
from sparsetoken.estimators.saving import load

pytestmark = pytest.mark.usefixtures("few_fits")


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    with small_fits.few_trees():
        yield


@pytest.fixture(scope="module")
def weak(tmp_path_factory):
    """Bags that are hard to tell, a quarter of them of the second class, and their file."""
    rng, y = np.random.default_rng(0), np.arange(80) % 4 == 0
    X, names = rng.standard_normal((80, 5, 4)), np.where(y, "yes", "no")
    X[y, :, 0] += 0.8
    path = tmp_path_factory.mktemp("weak") / "bags.npz"
    np.savez(path, X=X, y=names)
    return X, names, path


@pytest.mark.parametrize(
    ("word", "threshold"), [("0.125", 0.125), ("sensitivity:0.9", {"sensitivity": 0.9})]
)
def test_fit_draws_the_line_where_the_classifier_does(weak, tmp_path, word, threshold):
    X, y, path = weak
    out = tmp_path / "model.skops"
    words = "bags", "fit", path, "--threshold", word, "--folds", 2, "--out", out
    found = invoke(*words, "--json")
    assert found.exit_code == 0, found.stderr
    fitted, own = load(out), BagClassifier(threshold=threshold, random_state=0).fit(X, y)
    assert json.loads(found.stdout)["threshold"] == fitted.threshold_ == own.threshold_ < 0.3
    np.testing.assert_array_equal(fitted.predict(X), own.predict(X))
    line = f"Predicted yes, the positive class, from a probability of {own.threshold_:.3g} on."
    assert line in invoke(*words).stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--threshold", "1.5"], "threshold must be auto, a probability in (0, 1)"),
        (["--threshold", "nan"], "threshold must be auto"),
        (["--threshold", "best"], "threshold must be auto"),
        (["--threshold", "sensitivity:0"], "or sensitivity:SHARE with a share in (0, 1]"),
        (["--threshold", "sensitivity:"], "or sensitivity:SHARE with a share in (0, 1]"),
        (["--threshold", "0.2", "--model", "pooled"], "model must be bag with --threshold"),
        (["--threshold", "0.2", "--numbers"], "threshold must be left out with --numbers"),
    ],
)
def test_refusals(weak, words, told):
    found = invoke("bags", "fit", weak[2], *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert told in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_more_than_two_classes_have_no_threshold(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 3, 3))
    np.savez(tmp_path / "three.npz", X=X, y=np.array(list("abc") * 10))
    found = invoke("bags", "fit", tmp_path / "three.npz", "--threshold", "0.2")
    assert "threshold must be 'auto' for more than two classes" in found.stderr


def test_the_positive_class_is_named_in_every_output(weak, tmp_path):
    X, y, path = weak
    out, table = tmp_path / "model.skops", tmp_path / "scores.csv"
    words = "bags", "fit", path, "--threshold", "sensitivity:0.8", "--folds", 2, "--out", out
    found = invoke(*words, "--positive", "no")
    assert found.exit_code == 0, found.stderr
    assert {"sensitivity (no)", "specificity (yes)"} <= {
        line[: line.find(")") + 1].strip() for line in found.stdout.splitlines()
    }
    fitted = load(out)
    line = f"Predicted no, the positive class, from a probability of {fitted.threshold_:.3g} on."
    assert line in found.stdout.splitlines()
    assert json.loads(invoke(*words, "--positive", "no", "--json").stdout)["positive"] == "no"
    scores = json.loads(invoke("bags", "score", out, path, "--json").stdout)
    assert scores["positive"] == "no"
    assert scores["sensitivity"]["value"] == np.mean(fitted.predict(X)[y == "no"] == "no")
    chances = fitted.predict_proba(X)[:, 0]
    assert scores["average_precision"] == average_precision_score(y == "no", chances)
    turned = ("--positive", "yes", "--out", table)
    other = json.loads(invoke("bags", "score", out, path, *turned, "--json").stdout)
    assert (other["positive"], other["specificity"]) == ("yes", scores["sensitivity"])
    assert other["auc"]["value"] == pytest.approx(
        scores["auc"]["value"]
    )  # sums of numbers of the other sign
    assert "sensitivity,0." in table.read_text()
    assert table.read_text().count(",yes\n") == len(table.read_text().splitlines()) - 1
    told = invoke("bags", "fit", path, "--positive", "maybe").stderr
    assert told == "Error: positive must be one of the labels no, yes; got 'maybe'.\n"


def test_one_of_three_labels_against_the_rest(weak, tmp_path):
    X, y, _ = weak
    three, out = tmp_path / "three.npz", tmp_path / "model.skops"
    np.savez(three, X=X, y=np.where(np.arange(80) < 8, "other", y))
    words = ("--positive", "yes", "--json")
    found = invoke("bags", "fit", three, "--model", "pooled", "--folds", 2, "--out", out, *words)
    assert json.loads(found.stdout)["classes"] == ["False", "True"]
    np.savez(tmp_path / "two.npz", X=X, y=y)  # a new place without the third label
    scores = json.loads(invoke("bags", "score", out, tmp_path / "two.npz", *words).stdout)
    assert scores["sensitivity"]["value"] == load(out).predict(X)[y == "yes"].mean()


def test_members_are_excluded_by_name(tmp_path):
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    sizes, path = np.where(y, 9, 4), tmp_path / "sizes.npz"
    X = rng.standard_normal((sizes.sum(), 3))
    np.savez(path, X=X, bag=np.repeat(np.arange(40), sizes), y=y)
    words = ("bags", "fit", path, "--folds", 2, "--json", "--exclude")
    found = invoke(*words, "size, forest")
    assert not {"size", "forest"} & set(json.loads(found.stdout)["weights"])
    assert "--exclude size leaves out what is fitted to the number of tokens." in found.stderr
    assert "exclude must be a sequence of names among size, " in invoke(*words, "sizes").stderr
    assert "bag with --exclude" in invoke(*words, "size", "--model", "pooled").stderr
