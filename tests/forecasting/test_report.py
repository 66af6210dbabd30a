"""The page on bags: what it says is what was found, and what is missing says why."""

import json
import re
import sys

import numpy as np
import pytest

import sparsetoken as st
from command_line import invoke, refused
from pages import Page
from sparsetoken.base.progress import showing
from sparsetoken.base.validation import InvalidInput
from sparsetoken.forecasting import report_figures

N, PATIENTS, L = 48, 24, 9
PLACES = 256 * np.tile(np.stack(np.divmod(np.arange(L), 3), axis=1), (N, 1))


def slides(strength=4.0, classes=2):
    """Return bags with coordinates, their labels, which have a tag in them, and their patients."""
    rng, number = np.random.default_rng(0), np.arange(N) % PATIENTS % classes
    X = rng.standard_normal((N, L, 5))
    X[np.arange(N), 4, number] += strength * (number > 0)
    bags = st.bags.Bags(X.reshape(N * L, 5), L * np.arange(N + 1), None, PLACES)
    return bags, np.array(["<i>a", "b", "c"])[number], np.arange(N) % PATIENTS


class Bar:
    """Notes how far the work is."""

    def __call__(self, what, total):
        self.what, self.done, self.total = what, 0.0, total
        return self

    def update(self, n=1):
        self.done += n

    def close(self):
        pass


def words_of(text):
    """Return the words of a page, with a blank between any two."""
    return " ".join(Page(text).words.split())


@pytest.fixture(scope="module")
def written(tmp_path_factory, few_trees):
    bags, y, groups = slides()
    bar, out = Bar(), tmp_path_factory.mktemp("report") / "report.html"
    ids = [f"slide <i>{i}" for i in range(N)]
    with pytest.MonkeyPatch.context() as patch, showing(bar):
        patch.setattr("sparsetoken.forecasting.pilot._ROUNDS", ((2, 1),))
        found = st.bag_report(bags, y, out, groups=groups, ids=ids, command="made <i>so")
    return found, out.read_text("utf-8"), bar


def test_the_page_is_well_formed_and_needs_no_other_file(written):
    found, text, bar = written
    page = Page(text)
    assert set(page.ids) == {"found", "data", "scores", "curves", "forecast", "maps", "made"}
    links = [link for link in page.links if not link.startswith("data:image/svg+xml;base64,")]
    assert sorted(links) == sorted(f"#{one}" for one in set(page.ids) - {"found"})
    assert text.count("<img ") == 4  # two curves, the forecast, maps
    assert not re.search(r"@import|url\((?!#|%23)", text)
    assert "i" not in page.tags
    assert "made <i>so" in page.words
    assert len(found.estimators) == found.folds
    assert (bar.what, bar.total, bar.done) == ("parts of the report", 2, pytest.approx(2))


def test_its_numbers_are_those_of_cross_validation_and_forecast(written, two_fits):
    found, text, _ = written
    bags, y, groups = slides()
    known = st.cross_validated(st.BagClassifier(random_state=0), bags, y, groups=groups)
    assert found.bags.scores == known.bags.scores
    words = words_of(text)
    for held in (known.bags, known.groups):
        for value in held.scores.values():
            assert "{:.3f} ({:.3f} to {:.3f})".format(*value) in words
    assert "48 bags of 24 groups (patients, authors or places), none split" in words
    ahead = st.forecast(bags, y, groups=groups).to_frame()
    for n, error in zip(ahead.n, ahead.error, strict=True):
        assert f"{error:.3f} (" in words, n
    table = text.partition("<h3>Groups</h3>")[2].partition("</table>")[0]
    cells = [int(n) for n in re.findall(r'<td class="n">(\d+)</td>', table)]
    right = [(known.groups.predicted == c)[known.groups.y == c].sum() for c in known.classes]
    assert cells == [right[0], 12 - right[0], 12, 12 - right[1], right[1], 12]
    assert (
        "A bag is called b from a probability of 0.5 on, a group by its mean probability." in words
    )


def test_maps_are_of_held_out_bags_of_most_and_least_probability(written, monkeypatch):
    bags, y, groups = slides()
    model, drawn = st.BagClassifier(random_state=0), []
    found = st.cross_validated(model, bags, y, groups=groups, return_estimator=True)
    display = report_figures.AttentionDisplay

    def noted(weights, **given):
        drawn.append((weights, given))
        return display.from_predictions(weights, **given)

    monkeypatch.setattr(
        report_figures, "AttentionDisplay", type("", (), {"from_predictions": noted})
    )
    _, side = report_figures.maps_of(found, bags, np.arange(N).astype(str))
    ((values, given),) = drawn
    chance = found.bags.probability[:, 1]
    of = {c: np.flatnonzero(y == c) for c in found.classes}
    expected = [
        of["b"][chance[of["b"]].argmax()],
        of["<i>a"][chance[of["<i>a"]].argmin()],
        of["b"][chance[of["b"]].argmin()],
        of["<i>a"][chance[of["<i>a"]].argmax()],
    ]
    assert side == "b"
    assert [name.partition("\n")[0] for name in given["names"]] == [str(i) for i in expected]
    for i, value in zip(expected, values, strict=True):
        fitted = found.estimators[found.bags.fold[i]]
        np.testing.assert_array_equal(value, fitted.predict_token_proba(bags[[i]])[0])


def test_the_models_of_the_folds_have_not_seen_their_bags():
    bags, y, groups = slides()
    model = st.estimators.PooledClassifier()
    found = st.cross_validated(model, bags, y, groups=groups, return_estimator=True)
    assert len(found.estimators) == found.folds
    for k, one in enumerate(found.estimators):
        held = found.bags.fold == k
        np.testing.assert_array_equal(one.predict(bags[held]), found.bags.predicted[held])
        again = st.estimators.PooledClassifier()
        again.fit(bags[~held], y[~held], groups=groups[~held])
        np.testing.assert_array_equal(again.coef_, one.coef_)  # the same fit
    assert st.cross_validated(model, bags, y, folds=2).estimators == ()


def test_what_is_missing_says_why(tmp_path):
    """No forecast of three classes, no maps without probabilities of tokens or coordinates."""
    bags, y, groups = slides(classes=3)
    model, out = st.estimators.PooledClassifier(), tmp_path / "report.html"
    st.bag_report(bags, y, out, groups=groups, model=model)
    words = words_of(out.read_text("utf-8"))
    assert "No forecast: y must be of two classes" in words
    assert "Only BagClassifier gives probabilities of tokens." in words
    bare = st.bags.Bags(bags.tokens, bags.offsets)
    few = [0, 1, 3, 4, 6, 7]
    st.bag_report(bare[few], y[few], out, folds=2)
    words = words_of(out.read_text("utf-8"))
    assert "The tokens have no coordinates" in words
    assert "must be at least 10 for a forecast; got 3" in words
    assert "6 bags, taken as independent" in words


def test_three_classes_have_maps_of_tokens_of_their_own_class(tmp_path):
    bags, y, groups = slides(classes=3)
    out = tmp_path / "report.html"
    st.bag_report(bags, y, out, groups=groups)
    assert "one of class <i>a or b or c" in words_of(out.read_text("utf-8"))


def test_a_model_that_found_nothing_has_no_maps(tmp_path, two_fits):
    bags, y, groups = slides(strength=0.0)
    found = st.bag_report(bags, y, tmp_path / "report.html", groups=groups)
    assert found.bags.scores["auc"].low <= 0.5
    text = (tmp_path / "report.html").read_text("utf-8")
    told = text.partition("<h2>Maps</h2>")[2]
    assert "No better than chance" in told or "has all weight" in told
    assert "<img" not in told


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"out": "missing/report.html"}, ["out", "writable folder"]),
        ({"model": st.BagRegressor()}, ["model", "a classifier", "BagRegressor"]),
        ({"ids": ["one"]}, ["ids", "one for each of 48 bags"]),
        ({"groups": np.arange(3)}, ["groups", "48"]),
        ({"folds": 1}, ["folds", ">= 2"]),
    ],
)
def test_bad_input_is_refused(change, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bags, y, _ = slides()
    with pytest.raises(InvalidInput) as error:
        st.bag_report(bags, y, **change)
    assert all(word in str(error.value) for word in words), error.value
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path, monkeypatch, two_fits):
    bags, y, groups = slides()
    X, file = bags.tokens.reshape(N, L, 5), tmp_path / "bags.npz"
    np.savez(file, X=X, y=y, patient=groups, coordinates=PLACES.reshape(N, L, 2))
    words = ("bags", "report", file, "--groups", "patient", "--positive", "<i>a")
    out = tmp_path / "page.html"
    more = ("--threshold", "sensitivity:0.9", "--out", out)
    monkeypatch.setattr(sys, "argv", ["sparsetoken", *map(str, words + more)])
    said = invoke(*words, *more, "--json")
    assert said.exit_code == 0, said
    values = json.loads(said.stdout)
    fitted = json.loads(invoke("bags", "fit", *words[2:], *more[:2], "--json").stdout)
    assert values.pop("scores") == fitted["scores"]["bag"]
    assert values.pop("group_scores") == fitted["group_scores"]["bag"]
    assert values == {"report": str(out)}
    text = words_of(out.read_text("utf-8"))
    assert "--positive '<i>a' --threshold sensitivity:0.9" in text
    assert "A bag is called <i>a from a probability of" in text
    told = invoke(*words, "--out", out)
    assert told.stdout.splitlines()[-1] == f"Wrote {out}"


def test_the_command_refuses_before_any_work(tmp_path):
    bags, y, _ = slides()
    file = tmp_path / "bags.npz"
    np.savez(file, X=bags.tokens.reshape(N, L, 5), y=y)
    words = ("bags", "report", file, "--out")
    assert "ends in .html" in refused(*words, tmp_path / "page.pdf")
    assert "writable folder" in refused(*words, tmp_path / "no" / "page.html")
    assert "threshold" in refused(*words, tmp_path / "a.html", "--threshold", "2")
    assert "groups" in refused(*words, tmp_path / "a.html", "--groups", "patient")
    assert list(tmp_path.iterdir()) == [file]
