"""The page that needs no server."""

import json
import re

import pytest

from sparsetoken.explorer import export as written
from sparsetoken.explorer.export import export
from sparsetoken.explorer.settings import Settings
from sparsetoken.models import Attention
from sparsetoken.progress import showing
from sparsetoken.theory import capacity, descend, predict_readouts

GRID = {"length": (2, 3), "informative": (1, 3), "strength": (5.0,), "alpha0": (1.0,)}


class Counted:
    """A bar that keeps how much is done of how much."""

    def __init__(self, counts, total):
        self.counts, self.total = counts, total

    def update(self, n):
        self.counts.append((len(self.counts) + n, self.total))

    def close(self):
        pass


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    counts = []
    with showing(lambda what, total: Counted(counts, total)):
        path = export(tmp_path_factory.mktemp("site") / "new", GRID)
    assert counts == [(i, 3) for i in range(1, 4)]  # not the one with R > L
    return path.read_text(encoding="utf-8")


def test_nothing_is_fetched(text):
    found = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert set(found) <= {"data:,", "#result"}
    assert "@import" not in text
    assert "/static/" not in text


def test_results_are_those_of_predict(text):
    boot = json.loads(re.search(r'id="boot">(.*?)</script>', text, re.S)[1])
    grid = boot["grid"]
    point = grid["points"]["3|1|5|1"]
    settings = Settings({"length": 3})
    readouts = [settings.readout(alpha) for alpha in grid["loads"]]
    for name in ("attention", "pooled"):
        exact = predict_readouts(settings.problem(), settings.model(name), readouts, 1e-3)
        errors = [p.test_error for p in exact]
        assert point[name] == pytest.approx(errors, abs=grid["tolerance"] + 1e-3)


def test_capacity_and_descent_are_those_of_the_theory(text):
    grid = json.loads(re.search(r'id="boot">(.*?)</script>', text, re.S)[1])["grid"]
    settings = Settings({"length": 3})
    (pooled,) = (c for c in grid["points"]["3|1|5|1"]["capacity"] if c["model"] == "pooled")
    exact = capacity(settings.problem(), settings.model("pooled"), tolerance=1e-2)
    assert pooled["capacity"] == pytest.approx(exact.capacity)
    courses = grid["descents"]["3|1|5"]
    assert [course["alpha1"] for course in courses] == [1.0, 4.0]
    model = Attention(settings.replace(alpha1=4.0).descent())
    course = descend(settings.problem(), model, tolerance=5e-3)
    assert courses[1]["test_error"] == pytest.approx(course.test_error, abs=1e-5)  # as rounded


def test_networks_are_those_of_the_theory(text):
    found = json.loads(re.search(r'id="boot">(.*?)</script>', text, re.S)[1])["grid"]["networks"]
    assert found["task"] == {"length": 3, "informative": 1}
    low, high = found["courses"]["5"]
    assert (low["alpha1"], high["alpha1"]) == (1.0, 4.0)
    floor, *courses = high["events"]
    assert [course["network"] for course in courses] == ["softmax", "heads", "gated"]
    settings = Settings({"length": 3, "alpha1": 4.0})
    exact = descend(settings.problem(), settings.networks()["gated"], tolerance=5e-3, replicas=8)
    assert courses[2]["test_error"] == pytest.approx(exact.test_error, abs=1e-5)  # as rounded
    assert 0 < floor["test_error"] < min(courses[2]["test_error"])


def test_a_full_disk_leaves_the_old_page_and_nothing_beside_it(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(written, "_point", lambda settings: {})
    monkeypatch.setattr(written, "_descents", lambda settings: [])
    monkeypatch.setattr(written, "_networks", lambda settings: [])
    path = tmp_path / "index.html"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # stands for a disk that fills up
    try:
        with pytest.raises(OSError, match="File too large"):
            export(tmp_path, GRID)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
