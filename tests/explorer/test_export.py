"""The page that needs no server."""

import json
import re

import pytest

from sparsetoken.base.progress import showing
from sparsetoken.explorer import export as written
from sparsetoken.explorer.export import export
from sparsetoken.explorer.settings import Settings
from sparsetoken.theory import align, capacity, descend, predict_readouts

GRIDS = {
    "default": {"length": (2, 3), "informative": (1, 3), "strength": (5.0,)},
    "overfit": {"length": (3,), "alpha1": (4.0,)},
    "networks": {"length": (3,), "alpha1": (4.0,)},
}


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
    counts, solve = [], written.capacity

    def once(settings):  # capacities take most of the time, and one setting is compared
        return solve(settings) if settings.values == Settings({"length": 3}).values else []

    with (
        showing(lambda what, total: Counted(counts, total)),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(written, "capacity", once)
        patch.setattr(written, "LOADS", (0.25, 1.0, 4.0, 10.0))
        patch.setattr("sparsetoken.explorer.views.NETWORK_REPLICAS", 2)
        path = export(tmp_path_factory.mktemp("site") / "new", GRIDS)
    assert counts == [(i, 5) for i in range(1, 6)]  # not the one with R > L
    return path.read_text(encoding="utf-8")


def test_nothing_is_fetched(text):
    found = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert set(found) <= {"data:,", "#stay"}
    assert "@import" not in text
    assert "/static/" not in text


@pytest.fixture(scope="module")
def grid(text):
    return json.loads(re.search(r'id="boot">(.*?)</script>', text, re.S)[1])["grid"]


def test_results_are_those_of_predict(grid):
    point = grid["sheets"]["default"]["points"]["1|0|0"]  # L = 3, R = 1
    settings = Settings({"length": 3})
    readouts = [settings.readout(alpha) for alpha in grid["loads"]]
    for name in ("attention", "pooled"):
        exact = predict_readouts(settings.problem(), settings.model(name), readouts, 1e-3)
        errors = [p.test_error for p in exact]
        assert point[name] == pytest.approx(errors, abs=grid["tolerance"] + 1e-3)


def test_capacity_and_query_are_those_of_the_theory(grid):
    point = grid["sheets"]["default"]["points"]["1|0|0"]
    settings = Settings({"length": 3})
    (pooled,) = (c for c in point["capacity"] if c["model"] == "pooled")
    exact = capacity(settings.problem(), settings.model("pooled"), tolerance=1e-2)
    assert pooled["capacity"] == pytest.approx(exact.capacity)
    query = align(settings.problem(), settings.query())
    assert point["query"]["cosine"] == pytest.approx(query.cosine, abs=1e-5)  # as rounded


def test_descent_is_that_of_the_theory(grid):
    sheet = grid["sheets"]["overfit"]
    assert sheet["axes"] == {"length": [3], "alpha1": [4.0]}
    assert sheet["fixed"]["descent_steps"] == 20
    course = sheet["points"]["0"]["descent"][0][-1]
    descent = Settings({"length": 3, "alpha1": 4.0, "descent_steps": 20}).descent()
    exact = descend(Settings({"length": 3}).problem(), descent, tolerance=5e-3)
    assert course["test_error"] == pytest.approx(exact.test_error, abs=1e-5)  # as rounded


def test_networks_are_those_of_the_theory(grid):
    floor, *courses = grid["sheets"]["networks"]["points"]["0"]["networks"][0]
    names = [course["network"] for course in courses]
    assert names == ["softmax", "heads", "gated", "self_attention"]
    settings = Settings({"length": 3, "alpha1": 4.0, "descent_steps": 16})
    exact = descend(settings.problem(), settings.networks()["gated"], tolerance=5e-3, replicas=2)
    assert courses[2]["test_error"] == pytest.approx(exact.test_error, abs=1e-5)  # as rounded
    assert 0 < floor["test_error"] < min(courses[2]["test_error"])


def test_a_full_disk_leaves_the_old_page_and_nothing_beside_it(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(written, "_point", lambda settings, view, loads: {})
    path = tmp_path / "index.html"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # stands for a disk that fills up
    try:
        with pytest.raises(OSError, match="File too large"):
            export(tmp_path, GRIDS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
