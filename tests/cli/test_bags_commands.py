"""The commands `forecast` and `fit`: files, keys, refusals, the saved model."""

import csv
import json
import re

import numpy as np
import pandas
import pytest
from matplotlib import pyplot
from sklearn.preprocessing import StandardScaler

import small_fits
from command_line import invoke, limited
from sparsetoken import cross_validated, forecast, forecasting
from sparsetoken.bags import as_bags, from_frame, to_frame
from sparsetoken.estimators import BagRegressor, PooledClassifier
from sparsetoken.estimators.saving import load, save
from sparsetoken.forecasting.pilot import _ROUNDS  # before `few_fits` replaces them


def run(*words):
    """Run a command of the group bags."""
    return invoke("bags", *words)


pytestmark = pytest.mark.usefixtures("few_fits")


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    with small_fits.few_trees():
        yield


@pytest.fixture(scope="module")
def data():
    """Bags (60, 6, 5), one token of each second bag moved by 5, at position 2."""
    rng = np.random.default_rng(0)
    bags = rng.standard_normal((60, 6, 5))
    bags[1::2, 2, 0] += 5
    return bags, np.arange(60) % 2


@pytest.fixture
def dense(data, tmp_path):
    path = tmp_path / "dense.npz"
    np.savez(path, X=data[0], y=data[1])
    return path


@pytest.fixture
def long(data, tmp_path):
    bags, y = data
    path = tmp_path / "long.npz"
    np.savez(path, X=bags.reshape(-1, 5), bag=np.repeat(np.arange(60), 6), y=y)
    return path


@pytest.fixture
def parquet(data, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    bags, y = data
    path = tmp_path / "rows.parquet"
    names = np.array([f"bag{i}" for i in range(60)])
    frame = to_frame(as_bags(bags), names)
    frame["label"] = np.repeat(np.where(y == 1, "yes", "no"), 6)
    frame.to_parquet(path, index=False)
    return path


@pytest.fixture
def called(monkeypatch):
    """What forecast is called with and returns."""
    calls = []

    def recorded(original):
        def call(*given, **more):
            calls.append((given, more, original(*given, **more)))
            return calls[-1][-1]

        return call

    monkeypatch.setattr(forecasting, "forecast", recorded(forecast))
    return calls


def _forecast(path, *more):
    return run("forecast", path, "--json", *more)


def test_the_forecast_as_json(long, data, called):
    picture = long.with_name("forecast.png")
    found = _forecast(long, "--sizes", "240,60", "--plot", picture)
    assert found.exit_code == 0, found.stderr
    assert pyplot.imread(picture).shape[:2] == (840, 1120)  # 200 dots an inch
    values = json.loads(found.stdout)
    assert {"curves", "recommended", "status"} <= set(values)
    assert set(values["curves"]) == {"bag", "attention", "pooled"}
    for points in values["curves"].values():
        assert [point["n"] for point in points] == [60, 240]
        keys = {"n", "error", "low", "high", "auc", "auc_low", "auc_high"}
        assert all(set(point) == keys for point in points)
    assert values["recommended"] == "bag"
    assert values["status"] == "converged"
    (((bags, y, sizes), more, expected),) = called
    assert (sizes, more) == ([240, 60], {"groups": None, "random_state": 0})
    assert np.array_equal(np.stack(bags), data[0])
    assert y.tolist() == data[1].tolist()
    assert values["curves"]["pooled"][1]["error"] == expected.curves["pooled"][1].error


@pytest.mark.slow
@pytest.mark.parametrize("groups", [False, True])
def test_a_forecast_measures_the_error_that_fit_states(tmp_path, monkeypatch, groups):
    """Of 45 bags, so that folds differ in size, with labels that are texts."""
    monkeypatch.setattr("sparsetoken.forecasting.pilot._ROUNDS", _ROUNDS)
    rng = np.random.default_rng(0)
    bags, y = rng.standard_normal((45, 4, 4)), np.where(np.arange(45) % 2, "a", "b")
    bags[1::2, 2, 0] += 3
    path, of = tmp_path / "odd.npz", ["--groups", "patient"] if groups else []
    np.savez(path, X=bags, y=y, **({"patient": np.arange(45) // 3} if groups else {}))
    options = "--json", "--seed", 4, *of
    measured = json.loads(run("forecast", path, "--sizes", 45, *options).stdout)["measured"]
    scores = json.loads(run("fit", path, "--folds", 5, *options).stdout)["scores"]
    for model in ("bag", "pooled"):
        stated = 1 - scores[model]["accuracy"]["value"]
        assert 0.05 < stated < 0.6
        assert measured[model]["error"] == pytest.approx(stated, abs=1e-12)  # rounding


def test_fit_scores_beside_mean_pooling(long, data):
    found = run("fit", long, "--folds", 3, "--json", "--seed", 3)
    assert found.exit_code == 0, found.stderr
    values = json.loads(found.stdout)
    assert list(values["scores"]) == ["bag", "pooled"]
    expected = cross_validated(PooledClassifier(), *data, folds=3, random_state=3)
    assert values["scores"]["pooled"] == {
        name: one._asdict() for name, one in expected.bags.scores.items()
    }
    assert values["folds"] == 3
    assert "group_scores" not in values
    # Five standard deviations in one of six tokens: nearly all are told apart.
    assert values["scores"]["bag"]["accuracy"]["value"] > 0.8
    weights = values["weights"]  # trees see the largest value of each column too
    assert sum(weights.values()) == pytest.approx(1)
    attention = weights["attention"] + weights["attention of centred tokens"]
    assert attention + weights["forest"] > 0.5
    assert values["trivial_accuracy"] == 0.5
    told = run("fit", long, "--model", "pooled").stdout
    assert "Always answering with the largest class: accuracy 0.5" in told
    assert (
        "Held-out predictions of 60 bags, taken as independent, in 5 folds, with 90% intervals."
        in told
    )
    assert values["saved"] is None


@pytest.mark.parametrize("model", ["vectorized", "attention"])
def test_other_models(dense, model):
    found = run("fit", dense, "--model", model, "--folds", 2, "--json")
    assert found.exit_code == 0, found.stderr
    values = json.loads(found.stdout)
    assert list(values["scores"]) == [model, "pooled"]
    assert ("summary" in values) == (model == "attention")


@pytest.mark.slow
def test_weights_of_three_classes_are_told(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    bags, y = rng.lognormal(size=(60, 6, 5)), np.arange(60) % 3
    bags[np.arange(60), 0, y] += 5
    path, out = tmp_path / "three.npz", tmp_path / "three.skops"
    np.savez(path, X=bags, y=y)
    lines = run("fit", path, "--folds", 2, "--out", out).stdout.splitlines()
    summary = load(out).summary()
    assert summary.startswith("Weights of the members: ")  # one set of weights for all
    assert [lines.count(line) for line in summary.splitlines()] == [1, 1]
    # Of members that are fitted to a sample there are more lines.
    monkeypatch.setattr("sparsetoken.BagClassifier.summary", lambda model: "first\nsecond")
    lines = run("fit", path, "--folds", 2).stdout.splitlines()
    assert lines.index("second") == lines.index("first") + 1


@pytest.mark.slow
def test_the_saved_model_is_the_one_fitted_to_all_bags(dense, data, tmp_path):
    from sparsetoken.estimators import BagClassifier

    out = tmp_path / "model.skops"
    found = run("fit", dense, "--folds", 2, "--out", out, "--seed", 1)
    assert found.exit_code == 0, found.stderr
    assert "model.skops" in "".join(found.stdout.split())
    expected = BagClassifier(random_state=1).fit(*data)
    loaded = load(out)
    assert np.array_equal(loaded.decision_function(data[0]), expected.decision_function(data[0]))
    assert [p.name for p in tmp_path.iterdir() if "part" in p.name] == []


def test_a_write_that_fails_loses_nothing(dense, tmp_path):
    out = tmp_path / "model.skops"
    out.write_bytes(b"an older model")

    with limited(100):  # as on a disk that is full
        found = run("fit", dense, "--model", "pooled", "--folds", 2, "--out", out, "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["saved"] is None  # the scores are there
    assert "File too large" in found.stderr
    assert [line.split(":")[0] for line in found.stderr.splitlines()] == ["Error"]
    assert out.read_bytes() == b"an older model"
    assert {p.name for p in tmp_path.iterdir()} == {"dense.npz", "model.skops"}


def _npz(path, **arrays):
    np.savez(path, **arrays)
    return path


X, Y = np.zeros((24, 2, 3)) + np.arange(24)[:, None, None], np.arange(24) % 2
ROWS = X.reshape(-1, 3)
SPREAD = np.tile(np.arange(24), 2)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"y": Y}, ["with the array X", "arrays y"]),
        ({"X": X}, ["array y", "--labels"]),
        ({"X": ROWS, "y": Y}, ["array bag", "--bag"]),
        (
            {"X": ROWS, "bag": SPREAD[::-1], "y": Y},
            ["these do not rise", "Sort the tokens"],
        ),
        ({"X": X, "y": Y[:20]}, ["array y", "24 bags", "20"]),
        ({"X": X, "y": np.zeros(24)}, ["two classes"]),
        ({"X": X, "y": Y, "mask": np.ones((24, 5), bool)}, ["mask", "(24, 2)"]),
        (
            {"X": np.where(X == 3, np.inf, X), "y": Y},
            ["infinity: 3", "--skip-invalid"],
        ),
    ],
)
def test_a_file_that_does_not_fit_is_one_message(arrays, words, tmp_path):
    found = run(
        "forecast" if words == ["two classes"] else "fit",
        _npz(tmp_path / "bad.npz", **arrays),
        "--json",
    )
    assert found.exit_code == 2
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    for word in words:
        assert word in found.stderr


@pytest.mark.parametrize(("name", "word"), [("none.npz", "is there"), ("rows.txt", ".npz, .h5")])
def test_a_file_that_cannot_be_read(name, word, tmp_path):
    (tmp_path / "rows.txt").write_text("a,b")
    found = run("forecast", tmp_path / name)
    assert (found.exit_code, found.stdout) == (2, "")
    assert word in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop(columns="label"), ["column label", "columns bag"]),
        (lambda f: f.drop(columns="bag"), ["column bag", "--bag names"]),
        (lambda f: f.set_index("bag"), ["column bag", "--bag names"]),
        (
            lambda f: f.assign(label=f["label"].mask(f.index == 7, "no")),
            ["two in bag bag1: yes"],
        ),
        (lambda f: f.assign(label=f["label"].mask(f["bag"] == "bag1")), ["missing", "bag1"]),
        (lambda f: f.iloc[::-2], None),
        (lambda f: f[["bag", "label"]].assign(note="text"), ["numbers: none; vectors: none"]),
        (lambda f: f.assign(e=list(f[["x0"]].to_numpy())), ["vectors: e", "--columns"]),
    ],
)
def test_parquet_rows_that_do_not_fit(parquet, change, words):
    pandas = pytest.importorskip("pandas")
    change(pandas.read_parquet(parquet)).to_parquet(parquet)
    found = run("fit", parquet, "--model", "pooled", "--folds", 2)
    assert found.exit_code == (0 if words is None else 2), found.stderr
    for word in words or []:
        assert word in found.stderr


def test_a_second_label_is_no_feature(parquet):
    """Noise with a label column that a model could read off."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(parquet)
    noise = np.random.default_rng(4).standard_normal((60, 6, 2)).reshape(-1, 2)
    frame = frame[["bag", "label"]].assign(a=noise[:, 0], b=noise[:, 1], note="text")
    frame.assign(y=(frame["label"] == "yes").astype(int)).to_parquet(parquet, index=False)
    for label in ("label", "y"):
        more = ("--labels", label, "--model", "pooled", "--folds", 2)
        values = json.loads(run("fit", parquet, *more, "--json").stdout)
        assert values["columns"] == ["a", "b"]
        assert set(values["left_out"]) == {"note", "label", "y"} - {label}
        assert values["leaks"] == []
        # Chance within four standard errors of 60 coins.
        assert abs(values["scores"]["pooled"]["accuracy"]["value"] - 0.5) < 0.26
    shown = run("fit", parquet, *more)
    assert "Columns of the tokens: 2 (a, b); unused: label, note" in shown.stdout
    assert shown.stderr == ""


def test_columns_are_chosen_and_leaks_are_told(parquet):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(parquet)
    frame["time"] = np.arange(360.0) + 1000 * (frame["label"] == "yes")
    frame.to_parquet(parquet, index=False)
    command = "fit", parquet, "--folds", 2, "--model", "pooled"
    found = run(*command, "--json")
    assert found.exit_code == 0, found.stderr
    (told,) = (line for line in found.stderr.splitlines() if "% done" not in line)
    assert "tells the classes apart: time." in told
    assert json.loads(found.stdout)["leaks"] == [told.removeprefix("Warning: ")]
    chosen = run(*command, "--columns", "x1, x3")
    assert chosen.exit_code == 0, chosen.stderr
    assert chosen.stderr == ""
    assert "Columns of the tokens: 2 (x1, x3); unused: x0, x2, x4, time" in chosen.stdout


@pytest.mark.parametrize(
    ("command", "arguments", "word"),
    [
        ("fit", ["--model", "max"], "model must"),
        ("fit", ["--folds", 1], "folds must"),
        ("fit", ["--seed", -1], "seed must"),
        ("fit", ["--out", "no/such/folder/model.skops"], "--out"),
        ("fit", ["--out", "model.onnx"], "--out must be a name that ends in .skops, or"),
        ("fit", ["--labels", "z"], "array z"),
        ("fit", ["--columns", "0,5"], "different ones of 0, 1, 2, 3, 4"),
        ("forecast", ["--columns", "1,1"], "different ones of"),
        ("forecast", ["--seed", 2**32], "seed must"),
    ],
)
def test_bad_options_are_one_message(command, arguments, word, dense):
    found = run(command, dense, *arguments, "--json")
    assert found.exit_code == 2
    assert found.stdout == ""
    assert word in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_labels_that_are_no_classes_are_refused_before_the_fit(data, tmp_path):
    np.savez(tmp_path / "ids.npz", X=data[0], y=np.arange(len(data[0])))
    found = run("fit", tmp_path / "ids.npz")
    assert found.exit_code == 2
    assert found.stderr.startswith("Error: y must be of a class in two bags or more")
    assert len(found.stderr.splitlines()) == 1


def test_a_model_does_not_replace_the_bags(dense):
    before = dense.read_bytes()
    found = run("fit", str(dense), "--out", str(dense))
    assert found.exit_code == 2
    assert "a file other than the input" in found.stderr
    assert dense.read_bytes() == before


def test_a_saved_model_is_scored_and_predicts(data, dense, tmp_path):
    out = tmp_path / "model.skops"
    assert run("fit", dense, "--folds", 2, "--out", out).exit_code == 0
    model = load(out)
    new = tmp_path / "new.npz"
    X, y = data[0][::-1], data[1][::-1]
    np.savez(new, X=X, y=y)
    found = json.loads(run("score", out, new, "--json").stdout)
    assert found["bags"] == 60
    assert found["accuracy"]["value"] == model.score(X, y)
    assert found["accuracy"]["low"] < 1  # also where all are right
    assert found["trivial_accuracy"] == 0.5
    balanced = found["balanced_accuracy"]["value"]
    assert balanced == pytest.approx(found["accuracy"]["value"])  # of equal classes
    assert 0.5 < found["average_precision"] <= 1
    p = model.predict_proba(X)[np.arange(60), y]
    assert found["log_loss"]["value"] == pytest.approx(-np.log(p).mean())
    np.savez(new, X=X)
    rows = json.loads(run("predict", out, new, "--json").stdout)["predictions"]
    assert [row["label"] for row in rows] == [str(c) for c in model.predict(X)]
    assert [row["bag"] for row in rows] == [str(i) for i in range(60)]
    text = run("predict", out, new).stdout.splitlines()
    assert text[0] == "bag,label,probability_0,probability_1"
    chances = rows[0]["probability"]
    assert text[1] == f"0,{rows[0]['label']},{chances['0']},{chances['1']}"


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_predictions_and_scores_are_written(data, dense, tmp_path, ending):
    model, out = tmp_path / "m.skops", tmp_path / f"predictions{ending}"
    fitted = PooledClassifier().fit(*data)
    save(fitted, model)
    read = pandas.read_csv if ending == ".csv" else pandas.read_parquet
    said = run("predict", model, dense, "--out", out)
    assert (said.exit_code, said.stdout) == (0, f"Saved: {out}, 60 predictions of 60 bags\n")
    table = read(out)
    assert list(table) == ["bag", "label", "probability_0", "probability_1"]
    assert table["label"].astype(int).tolist() == fitted.predict(data[0]).tolist()
    # A CSV file has all digits.
    np.testing.assert_array_equal(table["probability_1"], fitted.predict_proba(data[0])[:, 1])
    values = json.loads(run("score", model, dense, "--out", out, "--json").stdout)
    table = read(out)
    assert values.pop("saved") == str(out)
    assert {values.pop("positive")} == set(table["positive"].astype(str)) == {"1"}
    table = table.set_index("score")
    ends = {name: one["high"] for name, one in values.items() if isinstance(one, dict)}
    assert table["high"].dropna().to_dict() == ends
    plain = {name: one["value"] if name in ends else one for name, one in values.items()}
    assert table["value"].to_dict() == plain
    one = tmp_path / "one.npz"
    np.savez(one, X=data[0][:1], y=data[1][:1])
    said = run("predict", model, one, "--out", tmp_path / f"one{ending}")
    assert said.stdout.endswith(", 1 prediction of 1 bag\n")
    for command in ("predict", "score"):
        with limited(100):
            said = run(command, model, dense, "--out", out)
        assert said.exit_code == 1
        assert "was not written: File too large" in said.stderr
        for wrong in ("rows.txt", dense, "no/rows.csv"):
            said = run(command, model, dense, "--out", tmp_path / wrong)
            assert (said.exit_code, "--out must be" in said.stderr) == (2, True)


def test_bags_of_one_class_are_scored(data, tmp_path):
    """As of a place that has positive bags alone."""
    (X, y), model, path = data, tmp_path / "m.skops", tmp_path / "one.npz"
    save(fitted := PooledClassifier().fit(X, y), model)
    positive = X[y == 1]
    np.savez(path, X=positive, y=np.ones(30, int))
    said = run("score", model, path, "--json")
    found, chances = json.loads(said.stdout), fitted.predict_proba(positive)[:, 1]
    for name in ("accuracy", "sensitivity", "balanced_accuracy"):
        assert found[name]["value"] == pytest.approx((fitted.predict(positive) == 1).mean())
    assert found["log_loss"]["value"] == pytest.approx(-np.log(chances).mean())
    assert found["auc"] is found["average_precision"] is found["specificity"] is None
    told = "No AUC and average precision: they need bags of each class, there is none of 0.\n"
    assert said.stderr == told


def test_every_warning_of_a_fit_is_told_once(tmp_path):
    rng = np.random.default_rng(0)
    slide = np.repeat(np.arange(20), 2)  # each is there twice, nearly
    X = np.concatenate([rng.standard_normal((20, 4, 3)), np.zeros((20, 1, 3))], axis=1)[slide]
    X[:, :4] += 1e-3 * rng.standard_normal((40, 4, 3))
    ids = [f"s{i}" for i in range(40)]
    np.savez(tmp_path / "twice.npz", X=X, bag=ids, y=slide % 2)
    words = ("--model", "attention", "--folds", 2, "--json")
    said = run("fit", tmp_path / "twice.npz", *words)
    padding, leak = said.stderr.splitlines()
    assert padding.startswith("Warning: 40 of 40 bags end in tokens of zeros")
    assert leak.startswith("Warning: Bags that are nearly the same: s0 and s1, s2 and s3, ")
    (told,) = json.loads(said.stdout)["leaks"]
    assert leak == f"Warning: {told}".replace("groups=", "--groups")
    pooled = run("fit", tmp_path / "twice.npz", "--model", "pooled", "--folds", 2)
    assert pooled.stderr.splitlines() == [padding, leak]


def test_predictions_are_a_table_whatever_the_ids(tmp_path):
    X, y = np.random.default_rng(0).standard_normal((6, 2, 3)), np.array(["a,b", 'c"d'] * 3)
    ids = ["s,1", 's"2', '"s"', "s 4", "s;5", "s'6"]
    save(PooledClassifier().fit(X, y), tmp_path / "m.skops")
    np.savez(tmp_path / "new.npz", X=X.reshape(12, 3), bag=np.repeat(ids, 2))
    found = run("predict", tmp_path / "m.skops", tmp_path / "new.npz")
    rows = list(csv.reader(found.stdout.splitlines()))
    assert rows[0] == ["bag", "label", "probability_a,b", 'probability_c"d']
    assert [row[0] for row in rows[1:]] == ids
    assert {row[1] for row in rows[1:]} <= set(y.tolist())
    assert {len(row) for row in rows} == {4}


def test_a_model_of_a_parquet_file_predicts_without_labels(parquet, tmp_path):
    pandas = pytest.importorskip("pandas")
    out = tmp_path / "model.skops"
    assert run("fit", parquet, "--model", "pooled", "--folds", 2, "--out", out).exit_code == 0
    pandas.read_parquet(parquet).drop(columns="label").to_parquet(parquet, index=False)
    rows = json.loads(run("predict", out, parquet, "--json").stdout)["predictions"]
    assert {row["label"] for row in rows} == {"yes", "no"}
    assert rows[0]["bag"] == "bag0"


def test_one_label_against_the_rest(data, tmp_path):
    path, out = tmp_path / "three.npz", tmp_path / "model.skops"
    y = np.where(data[1] == 1, "z", np.where(np.arange(60) % 4, "a", "b"))
    np.savez(path, X=data[0], y=y)
    command = "fit", path, "--model", "pooled", "--folds", 2, "--positive", "a", "--out", out
    found = run(*command, "--json")
    assert json.loads(found.stdout)["classes"] == ["False", "True"]
    assert run("score", out, path, "--positive", "a", "--json").exit_code == 0
    for options, word in (((), "same --positive"), (("--positive", "q"), "positive must be one")):
        found = run("score", out, path, *options)
        assert found.exit_code == 2
        assert word in found.stderr
    np.savez(path, X=data[0], y=np.where(y == "z", "A", y))  # not all that is meant by a
    found = run(*command)
    assert found.exit_code == 2
    assert "labels must be different in more than their case; got 'A, a'" in found.stderr


@pytest.mark.parametrize("content", [None, b"no pickle"])
def test_what_is_no_saved_model(content, dense, tmp_path):
    path = tmp_path / "model.skops"
    if content is not None:
        path.write_bytes(content)
    for command in ("score", "predict"):
        found = run(command, path, dense)
        assert found.exit_code == 2
        assert len(found.stderr.splitlines()) == 1
        assert "MODEL must be" in found.stderr
    save(StandardScaler().fit(np.eye(2)), path)
    assert "a classifier or regressor of bags" in run("score", path, dense).stderr
    assert "MODEL comes first" in run("score", dense, path).stderr


def test_columns_are_those_of_the_fit_whatever_their_order(tmp_path):
    frame, model = _table(tmp_path / "a.parquet"), tmp_path / "m.skops"
    command = ("fit", tmp_path / "a.parquet", "--model", "pooled", "--folds", 2, "--out", model)
    assert run(*command).exit_code == 0
    other = frame[["c", "b", "a", "bag", "label"]].assign(age=1.0)
    other.to_parquet(tmp_path / "b.parquet")
    found = [run("score", model, tmp_path / f"{name}.parquet").stdout for name in "ab"]
    assert found[0] == found[1]
    other.drop(columns="b").to_parquet(tmp_path / "c.parquet")
    refused = run("score", model, tmp_path / "c.parquet")
    assert refused.exit_code == 2
    told = "FILE c.parquet must be with the columns that the model was fitted to; got 'columns "
    assert told in refused.stderr
    assert "There is no b." in refused.stderr
    refused = run("score", model, tmp_path / "c.parquet", "--columns", "a,b,c")
    assert "columns must be different ones of c, a, age; got 'a, b, c'" in refused.stderr


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_numbers_are_predicted_and_scored(tmp_path):
    frame, model = _table(tmp_path / "a.parquet"), tmp_path / "m.skops"
    grades = frame.assign(grade=frame.bag / 7)
    bags, y, _ = from_frame(grades, labels="grade", columns=list("abc"))
    save(BagRegressor(progress=False).fit(bags, y), model)
    found = run("predict", model, tmp_path / "a.parquet", "--columns", "a,b,c")
    assert found.stdout.splitlines()[0] == "bag,number"
    predicted = load(model).predict(bags)
    rows = json.loads(run("predict", model, tmp_path / "a.parquet", "--json").stdout)
    assert [row["number"] for row in rows["predictions"]] == predicted.tolist()
    grades.to_parquet(tmp_path / "g.parquet")
    options = ("--labels", "grade", "--columns", "a,b,c", "--json")
    scores = json.loads(run("score", model, tmp_path / "g.parquet", *options).stdout)
    assert scores["r2"]["value"] == pytest.approx(load(model).score(bags, y))
    told = run("score", model, tmp_path / "g.parquet", *options, "--positive", "2.0").stderr
    assert "--positive must be left out for a model of numbers; got '2.0'" in told
    assert scores["mean_absolute_error"]["value"] == pytest.approx(np.abs(predicted - y).mean())
    refused = run("fit", tmp_path / "g.parquet", "--labels", "grade").stderr
    assert "BagRegressor predicts numbers" in refused


def _table(path):
    """Write a table of 40 bags with columns a, b, c, and return it."""
    ids, rng = np.repeat(np.arange(40), 4), np.random.default_rng(0)
    X = rng.standard_normal((160, 3))
    X[::4, 0] += 5 * (np.arange(40) % 2)
    frame = pandas.DataFrame(X, columns=list("abc")).assign(bag=ids, label=ids % 2)
    frame.to_parquet(path)
    return frame


def test_the_text_of_a_fit_says_which_members_have_weight(dense, tmp_path):
    assert re.search(
        r"Weights of the members: .*attention( of centred tokens)? \d+%",
        run("fit", dense, "--folds", 2).stdout,
    )
    path = tmp_path / "noise.npz"
    rng = np.random.default_rng(0)
    np.savez(path, X=rng.standard_normal((40, 5, 4)), y=np.arange(40) % 2)
    found = run("fit", path, "--folds", 2)
    assert "Weights of the members: constant 100%.\n" in found.stdout
    assert found.stderr.startswith("Warning: No member predicts left-out bags better")


def test_no_fold_splits_a_patient(tmp_path):
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(20), 3)
    X = rng.standard_normal((60, 4, 15)) + 2 * rng.standard_normal((20, 1, 15))[patient]
    y = rng.permutation(np.arange(20) % 2)[patient]
    path = _npz(tmp_path / "bags.npz", X=X, y=y, patient=patient)
    command = "fit", path, "--model", "pooled", "--json"
    alone, grouped = run(*command), run(*command, "--groups", "patient")
    found = [json.loads(one.stdout)["scores"]["pooled"]["accuracy"] for one in (alone, grouped)]
    # Labels of patients by chance: of 20 patients the standard error is at most .11.
    assert found[0]["value"] > 0.8
    assert found[1]["value"] == pytest.approx(0.5, abs=0.33)
    assert found[1]["high"] - found[1]["low"] > 0.15
    assert json.loads(grouped.stdout)["group_scores"]["pooled"]["accuracy"]["value"] < 0.8
    assert "nearly the same" in alone.stderr
    assert "nearly the same" not in grouped.stderr
    many = json.loads(run(*command, "--groups", "patient", "--folds", 11).stdout)
    assert many["folds"] <= 10  # patients of a class


@pytest.mark.parametrize("grouped", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_numbers_are_fitted_and_scored(grouped, tmp_path):
    rng = np.random.default_rng(0)
    y, X = rng.standard_normal(80), rng.standard_normal((80, 6, 4))
    X[:, 0, 0] += 3 * y
    more = {"groups": np.arange(80) // 4} if grouped else {}
    np.savez(tmp_path / "bags.npz", X=X, y=y, **more)
    bags, out = str(tmp_path / "bags.npz"), str(tmp_path / "m.skops")
    found = json.loads(run("fit", bags, "--numbers", "--folds", 3, "--out", out, "--json").stdout)
    (scores,) = found["scores"].values()
    # The squared error over the variance of y is what R^2 misses of 1, and both vary alike.
    r2, root = scores["r2"], scores["root_mean_squared_error"]
    assert r2["value"] == pytest.approx(1 - root["value"] ** 2 / y.var())
    assert 0.5 < r2["value"] < 0.95
    assert 0 < r2["high"] - r2["low"] < 0.5
    np.savez(tmp_path / "far.npz", X=X, y=y + 1e8, **more)  # no digits cancel
    far = run("fit", str(tmp_path / "far.npz"), "--numbers", "--folds", 3, "--json")
    moved = json.loads(far.stdout)["scores"]["bag"]["r2"]
    assert moved["value"] == pytest.approx(r2["value"], abs=0.1)  # trees round otherwise
    np.savez(tmp_path / "equal.npz", X=X, y=np.ones(80), **more)
    assert "No R^2" in run("fit", str(tmp_path / "equal.npz"), "--numbers", "--folds", 3).stderr
    again = json.loads(run("score", out, bags, "--json").stdout)
    assert again["r2"]["value"] > r2["value"]  # of bags it was fitted to
    for option in (["--model", "pooled"], ["--positive", "1"]):
        refused = run("fit", bags, "--numbers", *option)
        assert refused.exit_code == 2
        assert f"{option[0]} must be left out with --numbers" in refused.stderr
    assert "`fit --numbers` on the command line" in run("fit", bags).stderr
