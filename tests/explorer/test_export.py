"""The page that needs no server: what is written."""

import json
import re

import pytest

from command_line import limited
from explorer.small_site import LOADS, rough
from sparsetoken.explorer import Settings
from sparsetoken.explorer import export as written
from sparsetoken.explorer.export import export
from sparsetoken.explorer.settings import PRESETS
from sparsetoken.theory import align, capacity, predict
from sparsetoken.theory.oracle import learning_error

pytestmark = pytest.mark.slow

STORIES = {story["name"]: story for story in PRESETS}


@pytest.fixture(scope="module")
def text(site):
    return site[0].read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sheets(text):
    boot = json.loads(re.search(r'id="boot">(.*?)</script>', text, re.S)[1])
    return boot["grid"]["sheets"]


def settings_of(story, **changes):
    return Settings({**PRESETS[0]["settings"], **STORIES[story]["settings"], **changes})


def test_nothing_is_fetched(text):
    found = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert set(found) <= {"data:,", "#stay"}
    assert "@import" not in text
    assert "/static/" not in text


def test_progress_counts_each_point_but_those_with_more_informative_tokens_than_tokens(
    site, sheets
):
    total = sum(len(sheet["points"]) for sheet in sheets.values())
    whole = dict.fromkeys(
        (round(done), of) for done, of in site[1] if abs(done - round(done)) < 1e-9
    )
    assert [*whole] == [(i, total) for i in range(1, total + 1)]  # others are within a point
    axes = sheets["default"]["axes"]
    assert axes["informative"] == [1, 21]
    assert max(axes["length"]) < 21
    assert len(sheets["default"]["points"]) == len(axes["length"]) * len(axes["alpha0"])


def test_a_point_holds_the_results_of_the_theory(sheets):
    axes = sheets["default"]["axes"]
    settings = settings_of("default")
    places = (axes[name].index(settings[name]) for name in sheets["default"]["key"])
    point = sheets["default"]["points"]["|".join(map(str, places))]
    problem = settings.problem()
    for name in ("attention", "pooled"):
        exact = predict(problem, settings.model(name), settings.readout(LOADS))
        assert point[name] == pytest.approx(exact.test_error, abs=1.2e-2)  # of the fixture
    labels = [settings["alpha0"] + load for load in LOADS]
    least = [learning_error(problem, n, points=256).test_error for n in labels]
    # Between points a factor of 2.5 apart the curve bends by a few thousandths.
    assert point["bayes"] == pytest.approx(least, abs=4e-3)
    (pooled,) = (c for c in point["capacity"] if c["model"] == "pooled")
    exact = capacity(problem, settings.model("pooled"), tolerance=1e-2)
    assert pooled["capacity"] == pytest.approx(exact.capacity)
    query = align(problem, settings.query())
    assert point["query"]["cosine"] == pytest.approx(query.cosine, abs=1e-5)  # as rounded


def test_a_sheet_with_peaks_has_loads_around_them(sheets):
    sheet = sheets["paper"]
    assert set(LOADS) < set(sheet["loads"])
    place = sheet["loads"].index(1.0)
    assert sheet["loads"][place - 1 : place + 2] == [0.997, 1.0, 1.003]
    assert sheets["default"]["loads"] == list(LOADS)
    key = "|".join(
        str(sheet["axes"][name].index(settings_of("paper")[name])) for name in sheet["key"]
    )
    errors = sheet["points"][key]["pooled"]
    assert len(errors) == len(sheet["loads"])
    assert errors[place] == max(errors)


def test_trajectories_are_those_of_the_theory(sheets):
    sheet = sheets["overfit"]
    assert sheet["fixed"]["descent_steps"] == 20
    point = sheet["points"][str(sheet["axes"]["strength"].index(5.0))]
    bayes, *trajectories = point["descent"][sheet["axes"]["alpha1"].index(4.0)]
    settings = settings_of("overfit", alpha1=4.0)
    assert [trajectory["network"] for trajectory in trajectories] == ["softmax", "pooled"]
    for trajectory in trajectories:
        exact = rough(settings.problem(), settings.descents()[trajectory["network"]])
        assert trajectory["test_error"] == pytest.approx(exact.test_error, abs=1e-5)  # as rounded
        assert 0 < bayes["test_error"] < min(trajectory["test_error"])
    assert sheets["networks"]["axes"]["network"] == ["gated", "heads", "softmax"]
    trajectories = sheets["tasks"]["points"]["0"]["descent"][0]
    assert [event["kind"] for event in trajectories] == [
        "trajectory"
    ] * 2  # no error is known to be least


def test_a_full_disk_leaves_the_old_page_and_nothing_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(written, "_point", lambda settings, sheet: {})
    path = tmp_path / "index.html"
    path.write_text("old")
    with limited(4096), pytest.raises(OSError, match="File too large"):
        export(tmp_path, {"default": {"length": (2, 3)}})
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
