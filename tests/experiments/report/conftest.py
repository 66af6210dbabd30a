"""Two experiments with made-up rows: the real one of alignment, and a small one."""

import dataclasses

import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.experiment import Experiment, Piece, Sizes
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.core.rules import against_simulation
from sparsetoken.figures.curves import Axis, Curve, Panel, curves

PAGE = """# Made <i>up

With {{ sizes.trials }} <i>trials.

## Claim: made-up

A <i>claim about α*_{pool}.

## Question: asked

Is it so?

It is {{ rows[0].value | f(1) }}.

| network | isotropic tokens | shifted tokens | steep tokens | short tokens |
| --- | --- | --- | --- | --- |
| softmax | 0.1 ± 0.0012 | 0.2 ± 0.0012 | 0.3 ± 0.0012 | 0.4 ± 0.0012 |

## Found

What there <i>is.

## Figure: made_up

A <i>line. {{ marks }}
"""


def _draw(rows):
    return curves([Panel("x", Axis("x"), Axis("y"), [Curve("a <i>curve", "#0072B2", rows)])])


def alignment():
    rows = []
    for x in (0.25, 1.0, 10.0):
        for name, value in (("cosine", 0.5 + x / 30), ("readout_cosine", 0.4 + x / 30)):
            rows.append(Row("theory", name, value, at={"alpha0": x}))
            rows.append(_simulated(name, value, {"alpha0": x}))
            if x == 10.0:
                rows.append(_simulated(name, value, {"alpha0": x}, "tensors"))
    return [*rows, Row("other steps", "moved cosine", 0.0), Row("other steps", "sharpness", 1.0)]


def made_up():
    return [Row("theory", "auc", 0.5, at={"x": 1.0}), _simulated("auc", 0.5, {"x": 1.0})]


def _simulated(quantity, value, at, engine="reduced"):
    values = (value, value + 0.002)
    row = Row("simulated", quantity, value + 0.001, 0.002, at, engine, 1000, 8)
    return row.but(values=values) if quantity == "auc" else row


def _judge(sizes, rows):
    place = {"curve": "<i>curve", "where": "some<i>where"}
    yield against_simulation("made-up", rows.one("theory"), rows.one("simulated"), **place)
    yield against_simulation("asked", rows.one("theory"), rows.one("simulated"))


@pytest.fixture
def fakes():
    """Made-up rows by experiment."""
    return {"alignment": Rows(alignment()), "made-up": Rows(made_up())}


def _plan(*works):
    """Return the function that plans these works, the first the dearest.

    What they refer to changes as they run, so that their code does not say which they are.
    """
    for number, work in enumerate(works):
        work.version = number
    return lambda *_: [Piece(work, cost=float(len(works) - i)) for i, work in enumerate(works)]


@pytest.fixture
def plan_of():
    """What makes the plan of an experiment from functions."""
    return _plan


@pytest.fixture(scope="module")
def fake_experiments(tmp_path_factory):
    """Let the experiments be these two, which return the made-up rows at once."""
    real = dict(EXPERIMENTS)
    page = tmp_path_factory.mktemp("pages") / "made_up.md"
    page.write_text(PAGE, encoding="utf-8")
    sizes = {"quick": Sizes(trials=8), "paper": Sizes(trials=80)}
    figures = {"made_up": _draw}
    first = real["alignment"]
    # The default page is found beside the work, which is another here.
    beside = first.path
    EXPERIMENTS.clear()
    EXPERIMENTS["alignment"] = dataclasses.replace(first, work=_plan(alignment), page=beside)
    EXPERIMENTS["made-up"] = Experiment(
        "made-up", sizes, _plan(made_up), _judge, figures, page=page
    )
    yield
    EXPERIMENTS.clear()
    EXPERIMENTS.update(real)
