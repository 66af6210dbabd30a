"""The code of each view: it runs, its numbers are those of the events, and it draws them."""

import pytest
from matplotlib import pyplot

import sparsetoken as st
from sparsetoken.explorer import Settings, training, views
from sparsetoken.explorer.code import source


def shown(name, values, **options):
    """Return the names that the code of a view makes, and its other events by their kinds."""
    code, *events = views.VIEWS[name](Settings(values), **options)
    assert code["kind"] == "code"
    names = {}
    exec(code["text"], names)
    assert max(map(len, code["text"].splitlines())) <= 100
    (axes,) = pyplot.gcf().axes
    assert axes.has_data()
    pyplot.close()
    kinds = {event["kind"] for event in events}
    return names, {kind: [event for event in events if event["kind"] == kind] for kind in kinds}


def test_curves(monkeypatch):
    monkeypatch.setattr(views, "LOADS", (0.25, 1.0))
    monkeypatch.setattr(views, "BAYES_LOADS", (0.25,))
    names, events = shown("curves", {"loss": "square", "alpha1": 3.0, "ridge": 0.5})
    curves = {event["model"]: event["rows"] for event in events["curve"]}
    bayes = curves.pop("bayes")
    assert names["bayes"] == [row["test_error"] for row in bayes]
    assert set(names["curves"]) == set(curves) == set(views.MODELS)
    for model, rows in curves.items():
        # The page solves a few loads at a time: the same equations, from other starts.
        errors = [row["test_error"] for row in rows]
        assert names["curves"][model].test_error == pytest.approx(errors, abs=views.TOLERANCE)


@pytest.mark.parametrize(
    ("axis", "query"),
    [
        ("strength", "two_steps"),
        ("strength", "given"),
        ("alpha0", "two_steps"),
        ("length", "given"),
        pytest.param("alpha0", "given", marks=pytest.mark.slow),
        pytest.param("length", "two_steps", marks=pytest.mark.slow),
    ],
)
def test_phase(monkeypatch, axis, query):
    monkeypatch.setattr(views, "PHASE_LOADS", (0.5, 4.0))
    monkeypatch.setitem(views.PHASE_AXES, axis, (1, 3, 6) if axis == "length" else (1.0, 3.0))
    values = {"informative": 2, "length": 4, "query": query}
    names, events = shown("phase", values, axis=axis)
    assert len(events["row"]) == 2
    for i, row in enumerate(events["row"]):
        for model, errors in names["errors"].items():
            own = errors[i] if errors.ndim == 2 else errors  # no part of the axis is in it
            assert own == pytest.approx(row[model], abs=views.PHASE_TOLERANCE)


def test_alignment(monkeypatch):
    monkeypatch.setattr(views, "QUERY_LOADS", (0.5, 5.0))
    names, events = shown("alignment", {"positive_rate": 0.2})
    assert names["found"].cosine == pytest.approx([e["cosine"] for e in events["alignment"]])


def test_capacity():
    names, events = shown("capacity", {"length": 3, "query": "given", "cosine": 0.5})
    found = {event["model"]: event["capacity"] for event in events["capacity"]}
    assert names["capacities"] == pytest.approx(found)


@pytest.mark.parametrize(
    ("values", "bayes"),
    [
        ({"length": 3, "network": "gated", "network_hidden": 1}, True),
        pytest.param(
            {"length": 3, "spectrum": 0.5, "bag_effect": 2.0}, False, marks=pytest.mark.slow
        ),
        pytest.param(
            {"length": 3, "network": "heads", "network_heads": 2}, True, marks=pytest.mark.slow
        ),
        pytest.param(
            {"task": "position", "network": "gated", "descent_overlap": 0.5},
            False,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_descent(monkeypatch, values, bayes):
    few = {"settings": Settings({**values, "descent_steps": 2}), "replicas": (2,)}
    monkeypatch.setitem(views.VIEWS, "descent", lambda _: training.descent(**few))
    names, events = shown("descent", {})
    for own, trajectory in zip(names["trajectories"], events["trajectory"], strict=True):
        assert own.test_error == pytest.approx(trajectory["test_error"])
    assert ("bayes" in names) == ("bayes" in events) == bayes
    if bayes:
        assert names["bayes"] == pytest.approx(events["bayes"][0]["test_error"])
    assert names["problem"] == few["settings"].task()


def test_the_source_of_a_value_makes_it_again():
    for value in (
        st.SparseTokenProblem(length=4, strength=((1.0,), (2.0,))),
        st.Attention(st.TwoSteps(loss="square", alpha0=0.3)),
        (st.Readout("hinge", ridge=0.2), st.Pooled()),
        (st.model.HardAttention(st.Query(0.5)),),
        st.Descent(st.networks.SelfAttention(3), rates={"Q": 1.0, "K": 2.0, "V": 0.5}),
    ):
        assert eval(source(value), {"st": st}) == value
