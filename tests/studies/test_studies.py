"""Every study at small sizes: its frame and figure are made, and what is wrong fails."""

import dataclasses
import functools
import pickle
import sys

import numpy as np
import pytest

from sparsetoken.base.content import canonical_text
from sparsetoken.figures import style
from sparsetoken.studies import (
    STUDIES,
    alignment,
    capacity,
    descent_settings,
    misalignment,
    representation,
)
from sparsetoken.studies.claims import KINDS, Finding
from sparsetoken.studies.figure import draw
from sparsetoken.studies.report import maths
from sparsetoken.studies.study import Experiment, Run, Trials

SMALL = {
    "alignment": {"LOADS": (0.5, 2.0)},
    "learning-curves": {
        "LOADS": {"attention": (1.0, 2.0), "pooled": (2.0,), "vectorized": (2.0,)},
        "PLACES": [("square", "attention", 1.0), ("square", "pooled", 2.0),
                   *((loss, "attention", 2.0) for loss in ("logistic", "square"))],
        "_line": lambda scale: [1.0, 2.0],
    },
    "anti-alignment": {"CELLS": 4},
    "misalignment": {
        "COSINES": dict.fromkeys(misalignment.COSINES, (0.0, 0.5)),
        "_line": lambda scale: np.array([0.0, 0.25, 0.5, 0.75, 1.0]),
    },
    "representation": {
        "LENGTHS": (8, 64, 512), "DRAWN_LENGTH": 16, "DRAWN": ("attention", "bayes"),
        "PLACES": ((16, 1, 4.0),), "NEAR_LENGTH": 64, "SAMPLES": 1600,
        "_strengths": lambda scale: [3.0],
        "critical_strength": lambda name, length: _strength(name, length),
    },
    "sensitivity": {
        "ACROSS": 2, "UP": 2, "SHARES": 3, "ALPHA0S": (1.0,), "SIZES": (240, 960),
        "CENTRES": {("split", 4.0): 0.32, ("sharpness", 1.0): 1.34},
        "SPOTS": {"sharpness": (), "bias": ((1.0, 0.15),), "split": ()},
    },
    "growing-length": {
        "DIMENSIONS": {0.1: (60, 100), 1.0: (20, 40)}, "ERRORS": {0.1: (60,), 1.0: (20,)},
        "LIMIT": (20, 40), "MEASURED": (20, 40),
    },
    "rates": {"ALPHAS": (5.0,), "ALPHA0S": (10.0, 30.0), "POINTS": 8},
    "capacity": {
        "FEATURES": (320, 640), "FEWER": (320, 640), "LENGTHS": (2, 4, 8), "POINTS": 4,
        "STEPS": (-2.0, 0.0, 2.0),
    },
    "joint-training": {"STEPS": (1, 4, 18)},
    "agreement": {},
}  # fmt: skip
"""Changes of the constants of studies."""
LAWS = {
    "elementwise_erf": lambda L: 2.35 * L**0.5,
    "elementwise_sigmoid": lambda L: 2.35 * L**0.5,
    "elementwise_tanh": lambda L: 4 + 2 * L**0.25,
    "elementwise_linear": lambda L: 4 + 2 * L**0.25,
    "elementwise_exp": lambda L: 4 + (2 * np.log(L)) ** 0.5,
}
"""Critical strengths that cost most."""
critical_strength = representation.critical_strength


def _strength(name, length):
    if name not in LAWS:
        return critical_strength(name, length)
    return dataclasses.replace(critical_strength("pooled", length), strength=LAWS[name](length))


DIVISOR, MOST = 8, 10
"""Of dimensions, and of trials."""


def _moved(run):
    place = alignment.CHOICES[1]
    found = run.theory[place]
    moved = dataclasses.replace(found, cosine=0.99 * found.cosine)
    return run._replace(theory=run.theory | {place: moved})


def _beaten(run):
    """Return the run in which the Bayes test needs the signal of mean pooling."""
    worse = {p: run.theory["strength", "pooled", p[2]] for p in run.theory
             if p[:2] == ("strength", "bayes")}  # fmt: skip
    return run._replace(theory=run.theory | worse)


def _swapped(run, first, second):
    """Return the run with the simulations of two models swapped in all places."""
    names = {first: second, second: first}
    places = {p: (p[0], names.get(p[1], p[1]), *p[2:]) for p in run.simulated if p != "tensors"}
    swapped = {p: run.simulated.get(q, run.simulated[p]) for p, q in places.items()}
    return run._replace(simulated=run.simulated | swapped)


def _wide(run):
    """Return the run with loads of the larger sets four times as far from the middle."""
    simulated = dict(run.simulated)
    for place, some in run.simulated.items():
        one = some.experiment
        if place[-1] == capacity.FEATURES[-1]:
            middle = capacity.PLACES[place[0]].loads[place[1]]
            loads = [middle + 4 * (load - middle) for load in one.call.keywords["loads"]]
            call = functools.partial(one.call, loads=loads)
            simulated[place] = some._replace(experiment=dataclasses.replace(one, call=call))
    return run._replace(simulated=simulated)


def _none_separable(run):
    tensors = run.simulated["tensors"]
    none = tensors._replace(results=[[0] * len(tensors.results[0])])
    return run._replace(simulated=run.simulated | {"tensors": none})


def _once_worse(run):
    """Return the run in which all samples used twice err three times as much."""
    theory = dict(run.theory)
    for (place,) in (one.pairs for one in descent_settings.reused()):
        theory[place] = dataclasses.replace(theory[place], test_error=3 * theory[place].test_error)
    return run._replace(theory=theory)


WRONG = {
    "steps-set-sharpness-only": _moved,
    "bayes-is-the-least": _beaten,
    "same-law": _none_separable,
    "capacity-order": lambda run: _swapped(run, "pooled", "attention"),
    "capacity-order-not-always": lambda run: _swapped(run, "vectorized", "attention"),
    "transition-width": _wide,
    "shared-effects": lambda run: _swapped(run, "pooled", "attention"),
    "whitening": lambda run: _swapped(run, "whitened", "attention"),
    "reuse-or-splitting": _once_worse,
}
"""Claims that rest on other results than numbers of `predicted` and `measured`, and a change of the
results with which they fail."""
COSTLY = {
    *("agreement", "capacity", "growing-length", "joint-training"),
    *("learning-curves", "representation", "sensitivity"),
}
each = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


def _smaller(one):
    if not isinstance(one, Experiment):
        return one
    # Tokens with a covariance have the dimension of their own.
    own = getattr(getattr(one.call.args[0], "tokens", None), "dimension", None)
    dimensions = one.dimensions if own else [max(d // DIVISOR, 10) for d in one.dimensions]
    return dataclasses.replace(one, dimensions=dimensions, trials=min(one.trials, MOST))


def _run_of(study, monkeypatch):
    """Return the run of a study at small sizes."""
    module = sys.modules[type(study).__module__]
    for name, value in SMALL[study.name].items():
        monkeypatch.setattr(module, name, value)
    plan = {place: _smaller(one) for place, one in study.simulation(1).items()}
    monkeypatch.setattr(study, "simulation", lambda scale: plan)
    found = {}
    for (place, one), calls in zip(plan.items(), study.seeded(1, 0), strict=True):
        results = [call() for call in calls]
        found[place] = Trials(one, results) if isinstance(one, Experiment) else results[0]
    known = {place: call() for place, call in study.theory(1).items()}
    return pickle.loads(pickle.dumps(Run(known, found, 1)))


@each
@pytest.mark.parametrize("scale", [1, 4])
def test_calls_are_told_apart_and_only_simulations_have_the_seed(study, scale):
    def texts(seed):
        simulated = [call for some in study.seeded(scale, seed) for call in some]
        calls = [*study.theory(scale).values(), *simulated]
        assert all(isinstance(call, functools.partial) for call in calls)
        return [canonical_text(call) for call in calls]

    count = len(study.theory(scale))
    first, again, other = texts(0), texts(0), texts(1)
    assert first == again
    assert first[:count] == other[:count]
    assert len({*first, *other[count:]}) == len({*first[:count]}) + 2 * (len(first) - count)


def test_claims_have_names_of_their_own_and_say_whose_they_are():
    claims = [claim for study in STUDIES.values() for claim in study.claims]
    assert len({claim.name for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.kind in KINDS
        assert claim.status
        assert (claim.source == "this project") == (claim.kind == "of this project"), claim.name


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(study, marks=pytest.mark.slow if name in COSTLY else (), id=name)
        for name, study in STUDIES.items()
    ],
)
def test_a_study_goes_to_its_frame_and_its_figure_and_fails_where_it_is_wrong(study, monkeypatch):
    """Both in one test, as the run is shared."""
    run = _run_of(study, monkeypatch)
    _has_a_frame_and_a_figure(study, run)
    _fails_where_it_is_wrong(study, run, monkeypatch)


def _has_a_frame_and_a_figure(study, run):
    frame = study.frame(run)
    claims = {claim.name for claim in study.claims}
    assert set(frame.claim) - {""} == claims
    assert set(frame.panel) - {""} == {panel.name for panel in study.panels}
    asked = frame[frame.claim != ""]
    assert (asked.quantity != "").all()
    assert (asked["where"] != "").all()
    for text in (study.setting, study.caption, *frame["where"], *frame.quantity):
        assert "{" not in maths(text), "an index without its end"
        assert "nan" not in text
    with style.styled():
        figure = draw(frame, study.panels, study.looks, study.columns)
        figure.canvas.draw()
    assert all(axes.has_data() for axes in figure.axes)


def _changed(change):
    """Return a function whose numbers are wrong."""

    def wrong(*given, **options):
        found = change(*given, **options)
        some = found if isinstance(found, list) else [found]
        some = [dataclasses.replace(n, value=1.6 * n.value + 0.2) for n in some]
        return some if isinstance(found, list) else some[0]

    return wrong


def _fails_where_it_is_wrong(study, run, monkeypatch):
    """Each number of the theory is changed, and each measured one for what the theory does not say.

    A claim that held with a wrong theory, or a wrong measurement, would say nothing.
    """
    module = sys.modules[type(study).__module__]
    verdicts = {claim.name: set() for claim in study.claims}
    for names in (["predicted"], ["measured", "means"]):
        with monkeypatch.context() as patch:
            for name in names:
                if hasattr(module, name):
                    patch.setattr(module, name, _changed(getattr(module, name)))
            frame = study.frame(run)
        for claim in study.claims:
            verdicts[claim.name].add(Finding(claim, frame[frame.claim == claim.name]).verdict)
    spared = {name for name, found in verdicts.items() if "fails" not in found}
    assert spared <= set(WRONG)
    for name in spared:
        frame = study.frame(WRONG[name](run))
        assert "fails" in set(frame[frame.claim == name].verdict), name
