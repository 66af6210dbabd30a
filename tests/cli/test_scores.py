"""What `score`, `fit` and `predict` say of several classes, rare ones and bags without a token."""

import json

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    r2_score,
    roc_auc_score,
)

from command_line import invoke
from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.estimators.bag_regressor import PooledRegressor
from sparsetoken.estimators.saving import load, save
from sparsetoken.forecasting.scores import wilson


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
    assert found["auc"]["value"] == pytest.approx(area)
    precisions = [average_precision_score(names == c, chances[:, k]) for k, c in enumerate("abc")]
    assert found["average_precision"] == pytest.approx(np.mean(precisions))
    assert found["trivial_accuracy"] == pytest.approx(1 / 3)
    rare = np.r_[0:45:3, 1, 2]  # fifteen bags of a, one of either other class
    np.savez(folder / "few.npz", X=X[rare], y=names[rare])
    few = json.loads(run("score", folder / "model.skops", folder / "few.npz", "--json").stdout)
    predicted = model.predict(X[rare])
    assert few["trivial_accuracy"] == 15 / 17
    assert few["balanced_accuracy"]["value"] == pytest.approx(
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


def test_groups_are_scored_by_the_mean_probabilities_of_their_bags(saved, tmp_path):
    _, _, X, names = saved
    two, patients = np.where(names == "a", "a", "b"), np.arange(45) % 9
    model = BagClassifier(threshold=0.6, positive="a", progress=False).fit(X, two)
    save(model, tmp_path / "m.skops")
    np.savez(tmp_path / "bags.npz", X=X, y=two, patient=patients)
    words = ("score", tmp_path / "m.skops", tmp_path / "bags.npz", "--groups", "patient")
    found = json.loads(run(*words, "--json").stdout)
    chances = np.array([model.predict_proba(X)[patients == k].mean(axis=0) for k in range(9)])
    truth = np.array([two[patients == k][0] for k in range(9)])
    of_groups = found["group_scores"]
    assert of_groups["groups"] == 9
    assert of_groups["auc"]["value"] == pytest.approx(roc_auc_score(truth == "a", chances[:, 0]))
    assert of_groups["sensitivity"]["value"] == np.mean(chances[truth == "a", 0] >= 0.6)
    assert of_groups["specificity"]["value"] == np.mean(chances[truth == "b", 0] < 0.6)
    assert "group scores sensitivity" in run(*words).stdout
    run(*words, "--out", tmp_path / "scores.csv")
    assert "\ngroup_auc," in (tmp_path / "scores.csv").read_text()
    np.savez(tmp_path / "bags.npz", X=X, y=two, patient=np.arange(45) // 9)
    said = run(*words, "--json")
    assert "group_scores" not in json.loads(said.stdout)
    assert said.stderr == "No scores by group: bags of one differ in label.\n"


def test_groups_whose_classes_have_a_class_as_their_mean(saved, tmp_path):
    folder, _, X, names = saved
    patients = np.where(names == "b", 99, np.arange(45) // 3)  # of a and c, or of b
    np.savez(tmp_path / "bags.npz", X=X, y=names, patient=patients)
    said = run("score", folder / "model.skops", tmp_path / "bags.npz", "--groups", "patient")
    assert "No scores by group: bags of one differ in label." in said.stderr


def test_groups_of_numbers_are_scored_by_their_means(saved, tmp_path):
    X, patients = saved[2], np.arange(45) // 5
    y = X.mean(axis=(1, 2)) + 0.1 * np.random.default_rng(0).standard_normal(45)
    model = PooledRegressor().fit(X, y)
    save(model, tmp_path / "m.skops")
    np.savez(tmp_path / "bags.npz", X=X, y=y, groups=patients)
    found = json.loads(run("score", tmp_path / "m.skops", tmp_path / "bags.npz", "--json").stdout)
    means = [np.bincount(patients, one) / 5 for one in (y, model.predict(X))]
    assert found["group_scores"]["r2"]["value"] == pytest.approx(r2_score(*means))


def test_a_model_that_is_no_better_than_chance_says_so_on_the_command_line(tmp_path):
    """Of noise; the AUC of the cross-validation is that of the saved model."""
    X, y = np.random.default_rng(1).standard_normal((40, 5, 4)), np.arange(40) % 2
    out, path = tmp_path / "m.skops", tmp_path / "noise.npz"
    np.savez(path, X=X, y=y)
    words = ("--model", "attention", "--folds", 3, "--out", out, "--json")
    fitted = run("fit", path, *words)
    values, chance = json.loads(fitted.stdout), "No better than chance: the 90% interval"
    assert chance in values["summary"]
    assert fitted.stderr.count(chance) == 1
    assert load(out).left_out_auc_.tolist() == list(values["scores"]["attention"]["auc"].values())
    told = run("tokens", out, path, "--json")
    assert told.exit_code == 0
    assert told.stderr.count(chance) == 1


def test_scores_of_new_bags_have_the_intervals_of_a_cross_validation(tmp_path):
    """Over patients, also where all bags are right: none is "1.000 (1.000 to 1.000)"."""
    rng, y, patients = np.random.default_rng(0), np.arange(40) % 2, np.arange(40) // 4
    X = rng.standard_normal((40, 5, 4))
    X[y == 1, 2, 0] += 9.0
    save(AttentionClassifier().fit(X, y), tmp_path / "m.skops")
    np.savez(tmp_path / "bags.npz", X=X, y=y, groups=patients)
    words = ("score", tmp_path / "m.skops", tmp_path / "bags.npz")
    found = json.loads(run(*words, "--json").stdout)
    assert found["accuracy"] == {"value": 1.0, **wilson(1.0, 10)._asdict()}  # of 10 patients
    told = "{value:.3f} ({low:.3f} to {high:.3f})".format(**found["log_loss"])
    text = run(*words).stdout
    assert told in text
    assert "(1.000 to 1.000)" not in text
