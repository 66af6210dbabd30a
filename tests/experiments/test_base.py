"""Jobs, profiles and the order of their points."""

import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.base import Job
from sparsetoken.experiments.points import Point, curve, select


def _work(number):
    return [Point("a", "test_error", float(number), 0.0)]


def _other(number):
    return []


def test_a_job_calls_its_work():
    assert Job(_work, (3,), 1.0).run() == _work(3)


def test_a_job_is_named_by_all_it_depends_on():
    assert Job(_work, (1, "a"), 1.0).name != Job(_work, (2, "a"), 1.0).name
    assert Job(_work, (1,), 1.0).name != Job(_other, (1,), 1.0).name
    assert Job(_work, (1,), 1.0).name == Job(_work, (1,), 2.0).name


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_every_profile_can_be_planned(experiment, profile):
    sizes = experiment.profiles[profile]
    jobs = experiment.jobs(sizes, 0)
    assert all(job.cost > 0 for job in jobs)
    assert len({job.name for job in jobs}) == len(jobs)
    assert " object at 0x" not in "".join(job.name for job in jobs)
    assert experiment.setting(sizes)


def test_statements_have_names_of_their_own():
    names = [s.name for e in EXPERIMENTS.values() for s in e.statements]
    assert len(names) == len(set(names))
    assert all(e.name == name and e.statements for name, e in EXPERIMENTS.items())


@pytest.mark.parametrize("name", ["alignment", "learning-curves"])
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_both_profiles_keep_the_dimension_of_the_paper(name, profile):
    assert EXPERIMENTS[name].profiles[profile].dimension == 1000


def test_the_paper_profile_has_the_sizes_of_the_paper():
    assert EXPERIMENTS["alignment"].profiles["paper"].trials == 10
    assert EXPERIMENTS["learning-curves"].profiles["paper"].trials == 8


def test_select_sorts_and_curve_splits():
    points = [
        Point("a", "q", 2.0, 0.0),
        Point("a", "q", 1.0, 0.0, source="tensors"),
        Point("b", "q", 0.0, 0.0),
    ]
    assert [p.x for p in select(points, curve="a")] == [1, 2]
    theory, simulation = curve(points, curve="a")
    assert ([p.x for p in theory], [p.x for p in simulation]) == ([2], [1])
