"""The server without a browser: what it answers, and what it refuses."""

import contextlib
import dataclasses
import functools
import json
import re
import socket
import threading
import types
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

import sparsetoken as st
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput
from sparsetoken.explorer import Settings, training, views
from sparsetoken.explorer.server import LONGEST, create_app
from sparsetoken.explorer.settings import NETWORKS
from sparsetoken.theory import predict_readouts

testclient = pytest.importorskip("starlette.testclient")


@pytest.fixture(scope="module")
def client():
    with testclient.TestClient(create_app(8765), base_url="http://127.0.0.1:8765") as found:
        yield found


def events(answer):
    assert answer.status_code == 200
    found = [json.loads(line) for line in answer.text.splitlines()]
    assert found.pop() == {"kind": "end"}
    return [event for event in found if event["kind"] not in ("working", "code")]


def test_the_page_and_its_files_are_served_with_a_policy(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "When does attention beat pooling?" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    for name in ("main.js", "style.css", "vendor/uplot/uPlot.esm.js", "vendor/uplot/LICENSE"):
        assert client.get(f"/static/{name}").status_code == 200
    assert client.get("/static/../server.py").status_code == 404
    assert client.get("/static/%2e%2e/server.py").status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1:80", "127.0.0.1", "", "localhost.evil:8765"]
)
def test_other_hosts_are_refused(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 421
    answer = client.post("/api/coarse", json={}, headers={"Host": host})
    assert answer.status_code == 421


@pytest.mark.parametrize("host", ["localhost:8765", "[::1]:8765", "127.0.0.1:8765"])
def test_the_names_of_this_machine_are_answered(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_at_the_port_of_http_browsers_leave_it_out():
    testclient = pytest.importorskip("starlette.testclient")
    client = testclient.TestClient(create_app(80), base_url="http://127.0.0.1:80")
    for host, status in (("127.0.0.1", 200), ("localhost:80", 200), ("evil.example", 421)):
        assert client.get("/", headers={"Host": host}).status_code == status


def test_other_origins_are_refused(client):
    answer = client.post("/api/coarse", json={}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "a JSON object; got b'{'"),
        (b"[]", "JSON object"),
        (b"\xff", "JSON object"),
        (b"[" * 4000, "JSON object"),
        (b'{"settings": 3}', "settings"),
        (b'{"else": 3}', "key of the body"),
        (b'{"settings": {"length": 1000000000}}', "length"),
        (b'{"settings": {"strength": NaN}}', "strength"),
        (b'{"settings": {"loss": "x"}}', "loss"),
        (b" " * (LONGEST + 1), "at most"),
    ],
)
def test_wrong_bodies_are_refused_with_a_reason(client, content, said):
    headers = {"Content-Type": "application/json"}
    answer = client.post("/api/coarse", content=content, headers=headers)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON ; charset=utf-8", 200),
        ("text/plain", 400),
        ("text/plain;application/json", 400),
    ],
)
def test_a_body_says_that_it_is_json(client, kind, status):
    answer = client.post("/api/view/query", content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == status
    assert status == 200 or f"must be application/json; got '{kind}'" in answer.json()["error"]


def test_half_open_requests_keep_nobody_out(address):
    host, _, port = address.rstrip("/").rpartition("/")[2].partition(":")
    head = f"POST /api/coarse HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 20"
    with contextlib.ExitStack() as opened:
        for text in 27 * (f"{head}\r\n\r\n", head, ""):
            waiting = opened.enter_context(socket.create_connection((host, int(port))))
            waiting.sendall(text.encode())
        # The server takes connections in turn, so that all of these are there before this one.
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200


def test_streams_that_wait_keep_no_page_waiting(client, monkeypatch):
    reading = threading.Event()

    def waiting(settings):
        reading.wait()
        yield {"kind": "query"}

    monkeypatch.setitem(views.VIEWS, "query", waiting)
    with ThreadPoolExecutor(51) as pool:
        streams = [pool.submit(client.post, "/api/view/query", json={}) for _ in range(50)]
        try:
            answer = pool.submit(client.get, "/static/main.js").result(timeout=60)
        finally:
            reading.set()
    assert answer.status_code == 200
    assert [events(stream.result()) for stream in streams] == [[{"kind": "query"}]] * 50


def test_a_failure_of_the_program_is_told_apart_from_the_end_of_the_server(
    client, monkeypatch, capfd
):
    def failing(settings):
        yield {"kind": "query"}
        raise ZeroDivisionError("in a view")

    monkeypatch.setitem(views.VIEWS, "query", failing)
    found = events(client.post("/api/view/query", json={}))
    assert [event["kind"] for event in found] == ["query", "error"]
    assert "ZeroDivisionError('in a view')" in found[1]["message"]
    assert "in failing" in capfd.readouterr().err


def test_a_descent_holds_up_no_other_view(client, monkeypatch):
    begun, reading = threading.Event(), threading.Event()

    def descend(*_, **__):
        begun.set()
        reading.wait()
        raise InvalidInput("descent", "one that ends", "none")

    monkeypatch.setattr(training, "descend", descend)
    monkeypatch.setattr(training, "PAUSE", 60)
    with ThreadPoolExecutor(2) as pool:
        descent = pool.submit(client.post, "/api/view/descent", json={})
        begun.wait()
        try:
            query = pool.submit(client.post, "/api/view/query", json={}).result(timeout=60)
        finally:
            reading.set()
    assert events(query)[0]["kind"] == "query"
    assert events(descent.result())[-1]["kind"] == "error"


def test_forms_of_other_sites_and_unknown_views_are_refused(client):
    assert client.post("/api/coarse", data={"a": "b"}).status_code == 400
    assert client.post("/api/view/nothing", json={}).status_code == 400
    assert client.post("/api/view/curves", json={"axis": "strength"}).status_code == 400
    assert client.post("/api/view/phase", json={"axis": "nothing"}).text.count("error") == 1
    assert client.get("/api/coarse").status_code == 405


def test_exact_curves_are_those_of_predict(client, monkeypatch):
    monkeypatch.setattr(views, "LOADS", (0.25, 4.0))
    monkeypatch.setattr(views, "BAYES_LOADS", (0.25, 4.0))
    found = events(
        client.post("/api/view/curves", json={"settings": {"strength": 4.0, "alpha1": 3.0}})
    )
    curves = {event["model"]: event["rows"] for event in found if event["kind"] == "curve"}
    assert set(curves) == {
        "attention",
        "pooled",
        "vectorized",
        "elementwise",
        "hard_attention",
        "bayes",
    }
    (here,) = (row for row in curves["attention"] if row["alpha"] == 3.0)
    problem = st.SparseTokenProblem(strength=4.0)
    model = st.Attention(st.TwoSteps(alpha0=1.0))
    exact = st.predict(problem, model, st.Readout(ridge=1e-2, alpha1=3.0)).test_error
    assert here["test_error"] == pytest.approx(exact, abs=1e-3)  # the tolerance of the page
    for row in curves["bayes"]:
        others = [r for name in ("pooled", "vectorized") for r in curves[name]]
        same = [r["test_error"] for r in others if r["alpha"] == row["alpha"]]
        assert all(error > row["test_error"] - 1e-3 for error in same)
    first = curves["bayes"][0]
    labels = first["alpha"] + 1.0  # of readout and query
    least = st.oracle.learning_error(problem, labels, points=256).test_error
    assert first["test_error"] == pytest.approx(least)
    query = found[0]
    assert query["kind"] == "query"
    assert query["cosine"] == pytest.approx(st.align(problem, model.query).cosine)


def test_a_curve_follows_its_peak(client, monkeypatch):
    monkeypatch.setattr(views, "MODELS", ("pooled", "vectorized"))
    values = {"loss": "square", "ridge": 1e-5, "length": 3, "alpha1": 0.4}
    found = events(client.post("/api/view/curves", json={"settings": values}))
    problem, readout = st.SparseTokenProblem(length=3), st.Readout("square", 1e-5, 1.0)
    for model, peak in {st.Pooled(): 1.0, st.Vectorized(): 3.0}.items():
        (rows,) = (e["rows"] for e in found if e["kind"] == "curve" and e["model"] == model.name)
        loads = np.array([row["alpha"] for row in rows])
        errors = np.array([row["test_error"] for row in rows])
        assert loads[errors.argmax()] == peak
        between = peak * np.array([0.985, 1.0005, 1.002, 1.04, 1.2])  # no load of the page
        exact = st.predict(problem, model, dataclasses.replace(readout, alpha1=between)).test_error
        drawn = PchipInterpolator(np.log(loads), errors)(np.log(between))  # as the page draws it
        assert drawn == pytest.approx(exact, abs=6e-3)


def test_loads_around_a_peak_are_on_the_axis_and_few_where_each_takes_seconds():
    values = {"loss": "square", "ridge": 1e-3, "length": 10}
    assert views.peak_loads(Settings({**values, "ridge": 1.0})) == []
    assert views.peak_loads(Settings({**values, "loss": "logistic"})) == []
    loads = views.peak_loads(Settings(values))
    assert {1.0, 10.0} < set(loads)
    assert max(loads) == views.LOADS[-1]
    assert views.peak_loads(Settings({**values, "spectrum": 0.5})) == [1.0, 10.0]


@pytest.mark.slow
def test_a_bag_effect_refuses_what_theory_does_not_know(client, monkeypatch):
    for name in ("LOADS", "BAYES_LOADS"):
        monkeypatch.setattr(views, name, (1.0,))
    monkeypatch.setattr(views, "MODELS", ("attention", "pooled"))
    values = {"bag_effect": 1.0, "alpha1": 0.25, "length": 4}
    found = events(client.post("/api/view/curves", json={"settings": values}))
    (refused,) = (event for event in found if event["kind"] == "refused")
    assert refused["model"] == "bayes"
    assert refused["message"] == (
        "effect shared by a bag $c$ must be 0 for this curve; got 1.0. Beside a shared effect this "
        "error is not known."
    )
    monkeypatch.setattr(views, "MODELS", ("pooled",))
    steep = events(client.post("/api/view/curves", json={"settings": values | {"spectrum": 1.0}}))
    assert {e["model"] for e in steep if e["kind"] == "refused"} == {"bayes"}
    found = events(client.post("/api/view/capacity", json={"settings": values}))
    told = {e["model"]: e["message"] for e in found if e["capacity"] is None}
    assert set(told) == {"hard_attention", "attention"}
    assert all("_" not in text and text.endswith(".") for text in told.values())


def test_the_phase_diagram_has_a_row_for_each_value(client, monkeypatch):
    monkeypatch.setattr(views, "PHASE_LOADS", (0.25, 1.0, 4.0, 10.0))
    monkeypatch.setitem(views.PHASE_AXES, "positive_rate", (0.2, 0.5, 0.7))
    values = {"query": "given", "loss": "square", "ridge": 1.0, "length": 3, "strength": 4.0}
    found = events(
        client.post("/api/view/phase", json={"settings": values, "axis": "positive_rate"})
    )
    axes, rows = found[0], [event for event in found if event["kind"] == "row"]
    assert [row["value"] for row in rows] == axes["y"] == [0.2, 0.5, 0.7]
    errors = np.array([row["pooled"] for row in rows])
    assert errors.shape == (len(axes["y"]), len(axes["x"]))
    settings = Settings({**values, "positive_rate": 0.5})
    readouts = [settings.readout(alpha) for alpha in axes["x"]]
    exact = predict_readouts(settings.problem(), settings.model("pooled"), readouts)
    assert errors[1] == pytest.approx([p.test_error for p in exact], abs=5e-3)  # its tolerance
    assert found[1]["kind"] == "here"
    (own,) = predict_readouts(settings.problem(), settings.model("pooled"), [settings.readout(2.0)])
    assert found[1]["pooled"] == pytest.approx(own.test_error, abs=1e-3)  # that of curves


def test_a_stream_can_be_left_after_each_load_where_queries_are_random(monkeypatch):
    asked = []

    def solved(settings, name, loads, tolerance):
        asked.append(loads)
        return types.SimpleNamespace(test_error=np.full(len(loads), 0.1))

    monkeypatch.setattr(views, "predictions", solved)
    monkeypatch.setattr(views, "PHASE_LOADS", (0.25, 1.0, 4.0, 10.0))
    monkeypatch.setitem(views.PHASE_AXES, "strength", (4.0,))
    found = list(views.phase(Settings({"spectrum": 1.0})))
    assert [len(loads) for loads in asked] == [1] * 15  # of three models: here, and a row of four
    assert [e["done"] for e in found if e["kind"] == "working"] == list(range(1, 16))
    assert np.shape(found[-1]["pooled"]) == (4,)


def test_a_simulation_is_that_of_simulate(client):
    options = {"dimension": 40, "trials": 3, "seed": 5, "settings": {"query": "given"}}
    found = events(client.post("/api/view/simulation", json=options))
    assert [event["done"] for event in found] == list(range(1, 1 + found[-1]["of"]))
    last = [e for e in found if e["model"] == "pooled" and e["alpha"] == 1.0][-1]
    direct = st.simulate(
        st.SparseTokenProblem(), st.Pooled(), st.Readout(alpha1=1.0), dimension=40, trials=3, seed=5
    )
    assert last["mean"] == pytest.approx(direct.mean.test_error)
    assert last["standard_error"] == pytest.approx(direct.standard_error.test_error)
    assert found[0]["standard_error"] is None


@pytest.mark.parametrize(
    "wrong", [{"dimension": 10**9}, {"trials": 1}, {"seed": -1}, {"trials": "8"}]
)
def test_sizes_of_a_simulation_are_limited(client, wrong):
    (event,) = events(client.post("/api/view/simulation", json=wrong))
    assert event["kind"] == "error"
    assert next(iter(wrong)) in event["message"]


def test_a_descent_of_a_loss_with_a_kink_is_refused(client):
    values = {"loss": "hinge", "length": 3}
    (event,) = events(client.post("/api/view/descent", json={"settings": values}))
    assert event["kind"] == "error"
    assert "slope is continuous" in event["message"]
    assert "use squared hinge or logistic" in event["message"]


@pytest.fixture
def few_replicas(monkeypatch):
    once = functools.partial(training.descent, replicas=(2,))
    monkeypatch.setitem(views.VIEWS, "descent", once)


def test_trajectories_of_a_network_and_mean_pooling_are_those_of_descend(client, few_replicas):
    values = {"network": "gated", "length": 3, "descent_steps": 2, "network_hidden": 1}
    values |= {"descent_start": 2.0, "descent_eta_w": 1.0}
    bayes, gated, pooled = events(client.post("/api/view/descent", json={"settings": values}))
    assert (gated["network"], pooled["network"]) == ("gated", "pooled")
    problem = st.SparseTokenProblem(length=3)
    rates = {"v": 1.5, "g": 1.5, "w": 1.0}
    network = st.networks.Gated(hidden=1)
    descent = st.Descent(network, alpha=2.0, steps=2, rates=rates, start=[1.0, 1.0, 0.6])
    expected = st.descend(problem, descent, replicas=2)
    for name in ("test_error", "training_loss", "attended"):
        assert gated[name] == getattr(expected, name).tolist()
    cosines = expected.weights.cosines[:, :2, 0]  # of v and g; the last column is the readout
    assert gated["cosine"] == abs(cosines).max(axis=1).tolist()
    descent = st.Descent(st.networks.Pooled(), alpha=2.0, steps=2, rates=1.0, start=0.6)
    assert pooled["test_error"] == st.descend(problem, descent, replicas=2).test_error.tolist()
    least = st.oracle.learning_error(problem, 2.0, points=256).test_error
    assert bayes["test_error"] == pytest.approx(least)


def test_trajectories_on_another_task_are_those_of_descend(client, few_replicas):
    values = {"task": "meeting_concepts", "descent_steps": 2, "descent_overlap": 0.5}
    softmax, pooled = events(client.post("/api/view/descent", json={"settings": values}))
    overlaps = {"q": [0.5, 0.0], "w": 0.0}
    descent = st.Descent(steps=2, rates={"w": 0.3, "q": 1.5}, start_overlaps=overlaps)
    expected = st.descend(st.tasks.meeting_concepts(), descent, replicas=2)
    assert softmax["test_error"] == expected.test_error.tolist()
    assert softmax["overlap_q_1"] == expected.weights.overlaps[:, 0, 0].tolist()
    assert (softmax["coarse"], pooled["done"], pooled["of"]) == (False, 4, 4)
    assert all(len(bag["weights"]) == 3 for bag in softmax["bags"])


def test_a_trajectory_is_quick_first_and_exact_in_the_end(client, monkeypatch):
    twice = functools.partial(training.descent, replicas=(2, 3))
    monkeypatch.setitem(views.VIEWS, "descent", twice)
    values = {"length": 3, "descent_steps": 1}
    _, *found = events(client.post("/api/view/descent", json={"settings": values}))
    assert [(e["network"], e["coarse"], e["done"], e["of"]) for e in found] == [
        ("softmax", True, 2, 10),
        ("pooled", True, 4, 10),
        ("softmax", False, 7, 10),
        ("pooled", False, 10, 10),
    ]


@pytest.mark.parametrize(
    "network",
    [pytest.param(name, marks=() if name == "softmax" else pytest.mark.slow) for name in NETWORKS],
)
def test_networks_that_diverge_say_so_and_steep_spectra_have_no_bayes_error(
    client, few_replicas, network
):
    values = {"descent_eta_w": 10.0, "descent_eta_q": 10.0, "descent_start": 10.0}
    values |= {"network": network, "loss": "square", "length": 3, "network_heads": 2}
    values |= {"descent_steps": 10, "spectrum": 0.5}
    found = events(client.post("/api/view/descent", json={"settings": values}))
    assert [event["kind"] for event in found] == ["trajectory"] * 2
    for event in found:
        kept = len(event["test_error"])
        assert kept < 11
        assert re.search(rf"step {kept}\b.*the steps before it are kept", event["notes"][0])


def test_a_descent_shows_that_it_goes_on_and_ends_when_nobody_reads(monkeypatch):
    begun, reading = [], threading.Event()

    def replica(number):
        begun.append(number)
        reading.wait()

    def descend(problem, trained, **_):
        begun.append("descent")
        with progress_of("replicas", 1000) as done:
            for number in range(1000):
                replica(number)
                done()

    monkeypatch.setattr(training, "descend", descend)
    monkeypatch.setattr(training, "PAUSE", 0.01)
    for _ in range(2):
        running = training.descent(Settings({"task": "majority"}))
        assert next(running)["kind"] == "code"
        assert next(running) == {"kind": "working", "done": 0, "of": 20}
        running.close()
    reading.set()
    with training._DESCENTS:  # which is free once the first has ended
        assert begun in ([], ["descent"], ["descent", 0])
