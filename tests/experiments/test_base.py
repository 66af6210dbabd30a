"""Jobs, profiles and the order of their points."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.base import Job, run_jobs
from sparsetoken.experiments.journal import Journal
from sparsetoken.experiments.points import Point, curve, select


def _work(number):
    return [Point("a", "test_error", float(number), 0.0)]


@pytest.mark.parametrize("workers", [0, 2])
def test_points_come_in_the_order_of_the_jobs(workers):
    jobs = [Job(_work, (i,), cost) for i, cost in enumerate([1.0, 5.0, 3.0])]
    ended = []
    if workers:
        with ThreadPoolExecutor(workers) as executor:
            found = run_jobs(jobs, executor, ended.append)
    else:
        found = run_jobs(jobs, None, ended.append)
    assert [[p.x for p in points] for points in found] == [[0], [1], [2]]
    assert sorted(job.cost for job in ended) == [1, 3, 5]


def _stops(number):
    if number == 1:
        raise KeyboardInterrupt
    return _work(number)


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    path = tmp_path / "journal"
    stopping = [Job(_stops, (i,), float(9 - i)) for i in range(3)]
    with pytest.raises(KeyboardInterrupt):
        run_jobs(stopping, journal=Journal(path, "code"))
    journal, ended = Journal(path, "code"), []
    assert len(journal) == 1
    again = [Job(_stops, (0,), 1.0), Job(_work, (1,), 1.0)]
    found = run_jobs(again, None, ended.append, journal)
    assert found == [_work(0), _work(1)]
    assert ended == again  # what is known counts as progress too
    journal.forget({again[0].name})
    assert Journal(path, "code").find(again[1].name) == _work(1)
    journal.forget({again[1].name})
    assert not path.exists()


@pytest.mark.parametrize("loss", ["cut", "other code", "not a line of ours"])
def test_the_journal_gives_back_whole_lines_of_the_same_code_only(tmp_path, loss):
    path = tmp_path / "journal"
    Journal(path, "code").write("first", _work(1))
    Journal(path, "code" if loss == "cut" else "other").write("second", _work(2))
    if loss == "cut":
        path.write_text(path.read_text()[:-5])
    if loss == "not a line of ours":
        path.write_text(path.read_text() + '\n[1, 2]\n{"job": 3}')
    journal = Journal(path, "code")
    assert journal.find("first") == _work(1)
    assert journal.find("second") is None
    journal.write("third", _work(3))
    assert Journal(path, "code").find("third") == _work(3)


def test_the_journal_keeps_what_is_not_a_number(tmp_path):
    point = Point("a", "q", 1.0, math.nan, math.inf, status="max_iterations", y=2.0)
    Journal(tmp_path / "journal").write("job", [point])
    (found,) = Journal(tmp_path / "journal").find("job")
    assert math.isnan(found.value)
    assert dataclasses.replace(found, value=0.0) == dataclasses.replace(point, value=0.0)


def test_a_job_is_named_by_all_it_depends_on():
    assert Job(_work, (1, "a"), 1.0).name != Job(_work, (2, "a"), 1.0).name
    assert Job(_work, (1,), 1.0).name != Job(_stops, (1,), 1.0).name
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
