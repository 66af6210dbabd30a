"""Every study at small sizes: it runs, its words and figure are made, and what is wrong fails."""

import dataclasses
import functools
import math
import pickle
import sys
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from sparsetoken.base.content import canonical_text
from sparsetoken.figures import style
from sparsetoken.studies import STUDIES, agreement, alignment, capacity, settings
from sparsetoken.studies.compare import verdict_of
from sparsetoken.studies.plot import numbers_of
from sparsetoken.studies.report import KINDS
from sparsetoken.studies.study import Run
from sparsetoken.studies.words import paragraphs

SMALL = {
    "alignment": dict(loads=(0.5, 2.0), dimensions=(100, 200), trials=30, tensors=(2.0, 60, 6)),
    "anti-alignment": dict(cells=4, trials=12, dimension=400),
    "learning-curves": dict(
        loads=(1.0, 2.0), vectorized=(1.0, 2.0), dimension=100, trials=8, points=3,
        tensors=(2.0, 6), finite_trials=(12, 3), dimensions=(60, 120),
    ),
    "rates": dict(
        alphas=(5.0,), weights=50, fits=6, alpha0s=(10.0, 30.0), dimension=100, trials=8,
        abundant=(20, 6),
    ),
    "misalignment": dict(
        dimension=100, trials=6, alphas=(4.0,), cosines=(0.0, 0.5), residual=(0.0, 1.0),
        lengths=(4, 10), abundant_trials=4, line=(0.0, 0.25, 0.5, 0.75, 1.0),
    ),
    "joint-training": dict(steps=(1, 4, 8), dimension=150, trials=5, replicas=2),
    "agreement": dict(
        dimension=120, trials=6, descended=100, descended_trials=5, steps=4, task_steps=4,
        replicas=2, alphas=(4.0,), samples=240,
    ),
    "representation": dict(
        lengths=(8, 64, 512), root_lengths=(64, 512), curve_length=64,
        curves=("attention", "bayes"),
        strengths=(3,), places=((16, 1, 4.0),), samples=1600, tried=(64,), tokens=200_000,
    ),
    "growing-length": dict(dimensions=(30, 60), trials=4, alignment_trials=60),
    "sensitivity": dict(
        across=2, up=2, shares=3, totals=(1.0, 2.0), best_alpha0s=(0.5, 1.0), dimension=120,
        trials=6,
        spots={"sharpness": ((0.7, 0.7),), "bias": ((1.0, 0.15),)},
    ),
    "capacity": dict(
        features=(16, 32), fewer=(16, 32), ratios=(0.8, 1.0, 1.2), steps=(-0.7, 0.0, 0.7), sets=30,
        lines=capacity.coordinates(5),
    ),
}  # fmt: skip
"""Changes of the quick sizes."""


def _swapped(run, first, second):
    """Return the run with the simulations of two classifiers swapped in all rows of the table."""
    names = {first: second, second: first}
    places = {p: (p[0], names.get(p[1], p[1]), p[2]) for p in run.simulated}
    return run._replace(
        simulated={p: run.simulated.get(q, run.simulated[p]) for p, q in places.items()}
    )


def _loads(run, change):
    """Return the run with the loads of the capacity changed, at which training sets are counted."""
    calls = {
        place: functools.partial(call, load=change(place, call.keywords["load"]))
        for place, call in run.calls.items()
    }
    return run._replace(calls=calls)


def _wide(place, load):
    """Return the loads of the larger sets four times as far from the middle."""
    if place[0] == "tensors" or place[2] == 16:
        return load
    middle = capacity.PLACES[place[0]].loads[place[1]]
    return middle + 4 * (load - middle)


def _worse(run, panel):
    """Return the run in which the best setting of a panel errs more than its neighbours."""
    study = STUDIES["sensitivity"]
    simulated = dict(run.simulated)
    for own, x, y in study._centres(run.at):
        if own == panel:
            found = simulated[own, x, y]
            trials = dataclasses.replace(found.trials, test_error=found.trials.test_error + 0.3)
            simulated[own, x, y] = dataclasses.replace(found, trials=trials)
    return run._replace(simulated=simulated)


def _beaten(run):
    """Return the run in which the Bayes test needs the signal of mean pooling."""
    keys = [place for place in run.theory if place[:2] == ("strength", "bayes")]
    return run._replace(
        theory=run.theory | {p: run.theory["strength", "pooled", *p[2:]] for p in keys}
    )


def _once_worse(run):
    """Return the run in which all samples used twice err three times as much."""
    theory = dict(run.theory)
    for row in settings.reused(run.at):
        found = theory[row.place]
        theory[row.place] = dataclasses.replace(found, test_error=3 * found.test_error)
    return run._replace(theory=theory)


def _moved(run):
    place = alignment.CHOICES[1]
    found = run.theory[place]
    moved = dataclasses.replace(found, cosine=0.99 * found.cosine)
    return run._replace(theory=run.theory | {place: moved})


WRONG = {
    "steps-set-sharpness-only": _moved,
    "shared-effects": lambda run: _swapped(run, "pooled", "attention"),
    "whitening": lambda run: _swapped(run, "whitened", "attention"),
    "bayes-is-the-least": _beaten,
    "reuse-or-splitting": _once_worse,
    "same-law": lambda run: run._replace(
        simulated={p: 0 if p[0] == "tensors" else n for p, n in run.simulated.items()}
    ),
    "capacity-order": lambda run: _loads(run, lambda p, x: x * 10 ** (p[1] == "attention")),
    "capacity-order-not-always": lambda run: _loads(
        run, lambda p, x: x * 10 ** (p[1] == "attention") / 100 ** (p[0] == "very strong")
    ),
    "transition-width": lambda run: _loads(run, _wide),
    "best-split": lambda run: _worse(run, "split"),
    "best-sharpness": lambda run: _worse(run, "sharpness"),
}
"""Claims that rest on other results than numbers of `predicted` and `Run.measured`, and a change of
the results with which they fail."""

COSTLY = {
    *("agreement", "capacity", "growing-length", "joint-training"),
    *("learning-curves", "representation", "sensitivity"),
}
each = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


def _few(at):
    """Return one network and one task, and all other rows of the table."""
    kept = {"softmax", "single location"}
    rows = settings.table(at)
    return [r for r in rows if not r.steps or r.claim == settings.REUSE or r.curve in kept]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Leave most descents out, which compile for seconds each, and predict to few digits."""
    monkeypatch.setattr(agreement, "table", _few)
    monkeypatch.setattr(settings, "ACCURACY", 1e-2)


BUILT = {
    "elementwise_erf": lambda L: 2.35 * L**0.5,
    "elementwise_sigmoid": lambda L: 2.35 * L**0.5,
    "elementwise_tanh": lambda L: 4 + 2 * L**0.25,
    "elementwise_linear": lambda L: 4 + 2 * L**0.25,
    "elementwise_exp": lambda L: 4 + math.sqrt(2 * math.log(L)),
}
"""Critical strengths that cost most, by their laws."""


def _costs(place):
    return isinstance(place, tuple) and place[0] == "strength" and place[1] in BUILT


def _by_its_law(place, found):
    _, name, length, _ = place
    return dataclasses.replace(found, strength=BUILT[name](length))


def _sizes(study):
    quick = vars(study.sizes["quick"])
    changes = SMALL.get(study.name, {})
    assert set(changes) <= set(quick)
    return SimpleNamespace(**{**quick, **changes})


def _run_of(study):
    """Return the run of a study at small sizes."""
    at = _sizes(study)
    theory, simulation = study.theory(at), study.simulation(at, 0)
    known, simulated = (
        {place: call() for place, call in calls.items() if not _costs(place)}
        for calls in (theory, simulation)
    )
    for place in filter(_costs, theory):
        known[place] = _by_its_law(place, known["strength", "attention", *place[2:]])
    return pickle.loads(pickle.dumps(Run(at, known, simulated, simulation)))


@each
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_calls_are_told_apart_and_only_simulations_have_the_seed(study, profile):
    at = study.sizes[profile]
    theory, simulation = study.theory(at), study.simulation(at, 0)
    calls = [*theory.values(), *simulation.values()]
    assert all(isinstance(call, functools.partial) for call in calls)
    texts = [canonical_text(call) for call in calls]
    assert len(set(texts[: len(theory)]) & set(texts[len(theory) :])) == 0
    assert [canonical_text(call) for call in study.theory(at).values()] == texts[: len(theory)]
    others = study.simulation(at, 1)
    assert list(others) == list(simulation)
    assert not {canonical_text(call) for call in others.values()} & set(texts)
    assert len(set(texts[len(theory) :])) == len(simulation)


def test_claims_have_names_of_their_own_and_sources_that_the_filter_knows():
    claims = [claim for study in STUDIES.values() for claim in study.claims]
    assert len({claim.name for claim in claims}) == len(claims)
    for claim in claims:
        assert any(kind.lower() in claim.source.lower() for kind in KINDS), claim.name
        assert claim.status


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(study, marks=pytest.mark.slow if name in COSTLY else (), id=name)
        for name, study in STUDIES.items()
    ],
)
def test_a_study_goes_to_its_words_and_its_figure_and_fails_where_it_is_wrong(study, monkeypatch):
    """Both in one test, as the run is shared."""
    run = _run_of(study)
    _has_words_and_a_figure(study, run)
    _fails_where_it_is_wrong(study, run, monkeypatch)


def _has_words_and_a_figure(study, run):
    comparisons = study.judged(run)
    assert {c.claim for c in comparisons} == {claim.name for claim in study.claims}
    answers = study.answers(run, comparisons)
    assert set(answers) == {claim.name for claim in study.claims if claim.open}
    texts = [study.setting(run.at), study.found(run, comparisons), study.caption, *answers.values()]
    for text in texts:
        assert text.strip()
        assert "{" not in paragraphs(text), "an index without its end"
        assert "nan" not in text
    assert study.title
    with style.styled():
        figure = study.draw(run)
        figure.canvas.draw()
    assert isinstance(figure, Figure)
    numbers = list(numbers_of(figure))
    kinds = {one["kind"] for one in numbers}
    assert kinds & {"line", "map"}
    assert all(axes.get_xlabel() for axes in figure.axes if axes.get_label() != "<colorbar>")


def _changed(change, wrong):
    return lambda *given, **options: wrong(change(*given, **options))


def _wrong(number):
    return dataclasses.replace(number, value=1.6 * number.value + 0.2)


def _fails_where_it_is_wrong(study, run, monkeypatch):
    """Each number of the theory is changed, and each measured one for what the theory does not say.

    A claim that held with a wrong theory, or a wrong measurement, would say nothing.
    """
    module = sys.modules[type(study).__module__]
    asked = [claim.name for claim in study.claims if not claim.open]
    verdicts = {}
    for side in ("theory", "simulation"):
        with monkeypatch.context() as patch:
            if side == "theory":
                patch.setattr(module, "predicted", _changed(module.predicted, _wrong))
            else:
                patch.setattr(Run, "measured", _changed(Run.measured, _wrong))
            comparisons = study.judged(run)
        for name in asked:
            verdict = verdict_of(c for c in comparisons if c.claim == name)
            verdicts.setdefault(name, []).append(verdict)
    spared = {name for name, found in verdicts.items() if "fails" not in found}
    assert spared <= set(WRONG)
    for name in spared:
        found = [c.verdict for c in study.judged(WRONG[name](run)) if c.claim == name]
        assert "fails" in found, name
