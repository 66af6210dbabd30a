"""`fit --threshold`: what `BagClassifier` does by this name, in words."""

import json

import numpy as np
import pytest

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
