"""What `score`, `fit` and `predict` say of several classes, rare ones and bags without a token."""

import json

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score

from command_line import invoke
from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.estimators.saving import save


def run(*words):
    """Run a command of the group bags."""
    return invoke("bags", *words)


pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a model of three classes, and its bags and labels."""
    folder = tmp_path_factory.mktemp("scores")
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = rng.standard_normal((45, 5, 4))
    X[np.arange(45), 2, y] += 2.0
    model = AttentionClassifier().fit(X, names := np.array(list("abc"))[y])
    save(model, folder / "model.skops")
    np.savez(folder / "bags.npz", X=X, y=names)
    return folder, model, X, names


def test_the_auc_of_three_classes_is_that_of_scikit_learn(saved):
    folder, model, X, names = saved
    found = json.loads(run("score", folder / "model.skops", folder / "bags.npz", "--json").stdout)
    chances = model.predict_proba(X)
    area = roc_auc_score(names, chances, multi_class="ovr", average="macro")
    assert found["auc"] == pytest.approx(area)
    precisions = [average_precision_score(names == c, chances[:, k]) for k, c in enumerate("abc")]
    assert found["average_precision"] == pytest.approx(np.mean(precisions))
    assert found["trivial_accuracy"] == pytest.approx(1 / 3)
    rare = np.r_[0:45:3, 1, 2]  # fifteen bags of a, one of either other class
    np.savez(folder / "few.npz", X=X[rare], y=names[rare])
    few = json.loads(run("score", folder / "model.skops", folder / "few.npz", "--json").stdout)
    predicted = model.predict(X[rare])
    assert few["trivial_accuracy"] == 15 / 17
    assert few["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(names[rare], predicted)
    )
    two = names != "c"
    np.savez(folder / "two.npz", X=X[two], y=names[two])
    said = run("score", folder / "model.skops", folder / "two.npz", "--json")
    assert json.loads(said.stdout)["auc"] is None
    assert "No AUC and average precision" in said.stderr
    assert "there is none of c" in said.stderr
    save(AttentionClassifier(loss="square").fit(X, names), folder / "square.skops")
    said = run("score", folder / "square.skops", folder / "bags.npz")
    assert said.exit_code == 0
    assert "of probabilities, which MODEL does not give" in said.stderr


def test_probabilities_are_of_each_class_whatever_is_predicted(saved):
    folder, _, X, names = saved
    two = np.where(names == "a", "a", "b")
    model = BagClassifier(threshold=0.99, progress=False).fit(X, two)
    save(model, folder / "strict.skops")
    np.savez(folder / "strict.npz", X=X, y=two)
    said = run("predict", folder / "strict.skops", folder / "strict.npz", "--json")
    rows = json.loads(said.stdout)["predictions"]
    assert {row["label"] for row in rows} == {"a"}  # 45 bags are never as sure as that
    found = [[row["probability"][one] for one in "ab"] for row in rows]
    assert found == model.predict_proba(X).tolist()


def test_bags_without_a_token(saved):
    folder, _, X, names = saved
    mask = np.ones(X.shape[:2], bool)
    mask[4] = False
    np.savez(folder / "masked.npz", X=X, y=names, mask=mask)
    for command in ("score", "predict"):
        said = run(command, folder / "model.skops", folder / "masked.npz")
        assert said.exit_code == 0
        assert said.stderr.count("1 of 45 bags have no token, such as bag 4") == 1
        said = run(command, folder / "model.skops", folder / "masked.npz", "--refuse-empty")
        assert said.exit_code == 2
        assert "1 of 45 bags without a token" in said.stderr
    assert run("fit", folder / "masked.npz").exit_code == 2


def test_two_classes_of_which_one_has_one_bag(saved, tmp_path):
    X = saved[2]
    np.savez(tmp_path / "one.npz", X=X, y=np.arange(45) == 7)
    options = ("--model", "pooled", "--folds", 3, "--json")
    said = run("fit", tmp_path / "one.npz", *options)
    assert said.exit_code == 0
    assert json.loads(said.stdout)["scores"]["pooled"]["accuracy"]["value"] == 44 / 45
