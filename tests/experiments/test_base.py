"""Jobs, profiles and the order of their points."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.base import Job, run_jobs
from sparsetoken.experiments.points import Point, curve, select


def _work(number):
    return [Point("a", "test_error", float(number), 0.0)]


@pytest.mark.parametrize("workers", [0, 2])
def test_points_come_in_the_order_of_the_jobs(workers):
    jobs = [Job(_work, (i,), cost) for i, cost in enumerate([1.0, 5.0, 3.0])]
    costs = []
    if workers:
        with ThreadPoolExecutor(workers) as executor:
            points = run_jobs(jobs, executor, costs.append)
    else:
        points = run_jobs(jobs, None, costs.append)
    assert [p.x for p in points] == [0, 1, 2]
    assert sorted(costs) == [1, 3, 5]


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_every_profile_plans_both_engines(experiment, profile):
    sizes = experiment.profiles[profile]
    jobs = experiment.jobs(sizes, 0)
    words = [a for job in jobs for a in job.arguments if isinstance(a, str)]
    assert all(job.cost > 0 for job in jobs)
    assert experiment.setting(sizes)
    if experiment.name != "finite-size":
        assert words.count("tensors") >= 1


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
