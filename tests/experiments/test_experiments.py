"""What holds for every experiment: profiles, plans, names, and the keys of its rows."""

import dataclasses
import importlib.resources
import inspect
import re
import sys

import pytest

from sparsetoken import simulation, theory
from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.experiment import Experiment, Job, version
from sparsetoken.experiments.rows import select
from sparsetoken.experiments.sources import SOURCES, source_of
from sparsetoken.report.pictures import pictures_of


def _work(number):
    return [number]


def _other(number):
    return []


@version(2)
def _newer(number):
    return []


each = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)


def test_a_job_calls_its_work():
    assert Job(_work, (3,), 1.0).run() == _work(3)


def test_a_job_is_named_by_all_it_depends_on():
    assert Job(_work, (1, "a"), 1.0).name != Job(_work, (2, "a"), 1.0).name
    assert Job(_work, (1,), 1.0).name != Job(_other, (1,), 1.0).name
    assert Job(_work, (1,), 1.0).name == Job(_work, (1,), 2.0).name


def test_the_version_of_a_job_is_declared_beside_its_work():
    assert Job(_newer, (1,), 1.0).version == Job(_work, (1,), 1.0).version + 1


@each
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_every_profile_can_be_planned(experiment, profile):
    jobs = experiment.plan(profile)
    assert all(job.cost > 0 for job in jobs)
    assert len({job.name for job in jobs}) == len(jobs)
    assert " object at 0x" not in "".join(job.name for job in jobs)


WORKING = ("sparsetoken.theory", "sparsetoken.simulation", "sparsetoken.beyond")


def _works(function):
    """Whether it computes; a plan may make seeds, which are hashes of names."""
    module = function.__module__
    return module.startswith(WORKING) and module != "sparsetoken.simulation.seeds"


def _forbid_work(monkeypatch):
    """Let every function of theory and simulation raise, however it was imported."""

    def refuse(*_, **__):
        raise AssertionError("planning computes")

    for name, module in list(sys.modules.items()):
        if name.startswith(("sparsetoken.experiments", *WORKING)):
            for key, value in list(vars(module).items()):
                if inspect.isfunction(value) and _works(value):
                    monkeypatch.setattr(module, key, refuse)


@each
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_planning_computes_nothing(experiment, profile, monkeypatch):
    _forbid_work(monkeypatch)
    with pytest.raises(AssertionError, match="planning computes"):
        theory.align()
    with pytest.raises(AssertionError, match="planning computes"):
        simulation.simulate()
    assert experiment.plan(profile)


@each
def test_no_job_depends_on_all_sizes(experiment):
    for profile, sizes in experiment.profiles.items():
        for job in experiment.plan(profile):
            assert sizes not in job.arguments
            assert type(sizes).__name__ + "(" not in job.name


@each
def test_another_seed_changes_all_that_is_random_and_nothing_else(experiment):
    first, second = ({job.name: job for job in experiment.plan("quick", seed)} for seed in (0, 1))
    fixed = first.keys() & second.keys()
    assert len(first) == len(second)
    for name, job in first.items():
        parameters = list(inspect.signature(job.work).parameters)
        assert (name in fixed) == ("seed" not in parameters)
        if name not in fixed:
            assert type(job.arguments[parameters.index("seed")]) is int


@each
def test_every_picture_has_a_caption(experiment):
    folder = importlib.resources.files("sparsetoken.experiments") / experiment.folder
    text = (folder / "words.html").read_text(encoding="utf-8")
    blocks = set(re.findall(r"{% block (\w+) %}", text))
    answers = {f"answer_{c.name.replace('-', '_')}" for c in experiment.claims if c.open}
    assert {"setting", "result", *pictures_of(experiment)} | answers == blocks - {"left"}


def test_every_source_is_of_a_claim():
    names = {claim.name for experiment in EXPERIMENTS.values() for claim in experiment.claims}
    assert set(SOURCES) <= names


@each
def test_every_claim_has_a_source_that_the_filter_knows(experiment):
    for claim in experiment.claims:
        assert source_of(claim).kinds


@each
def test_rows_are_frozen_dataclasses_of_names_of_their_own(experiment):
    names = [kind.__name__ for kind in experiment.rows]
    assert len(names) == len(set(names)) > 0
    for kind in experiment.rows:
        assert dataclasses.is_dataclass(kind)
        assert kind.__dataclass_params__.frozen


def test_claims_have_names_of_their_own():
    names = [c.name for e in EXPERIMENTS.values() for c in e.claims]
    assert len(names) == len(set(names))
    assert all(e.name == name and e.claims for name, e in EXPERIMENTS.items())


def test_no_claim_holds_html():
    assert not any("<" in c.text for e in EXPERIMENTS.values() for c in e.claims)


def test_an_experiment_without_its_packages_is_not_available():
    def with_modules(*modules):
        e = EXPERIMENTS["alignment"]
        return dataclasses.replace(e, extra="none", modules=modules)

    assert with_modules("json").available
    assert not with_modules("json", "no_such_module").available
    assert isinstance(with_modules(), Experiment)


@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_both_profiles_keep_the_dimension_of_the_paper(profile):
    names = {"alignment", "learning-curves"} & EXPERIMENTS.keys()
    assert {EXPERIMENTS[name].profiles[profile].dimension for name in names} == {1000}


def test_the_paper_profile_has_the_trials_of_the_paper():
    assert EXPERIMENTS["alignment"].profiles["paper"].trials == 10
    if "learning-curves" in EXPERIMENTS:
        assert EXPERIMENTS["learning-curves"].profiles["paper"].trials == 8


def test_select_keeps_the_class_and_the_wanted_columns():
    kind = dataclasses.make_dataclass("Kind", ["a", "b"], frozen=True)
    other = dataclasses.make_dataclass("Other", ["a"], frozen=True)
    rows = [kind(1, "x"), other(1), kind(2, "x"), kind(1, "y")]
    assert select(rows, kind, a=1) == [kind(1, "x"), kind(1, "y")]
