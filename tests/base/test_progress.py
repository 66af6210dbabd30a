"""How long calls show how far they are."""

import io

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base import progress as module
from sparsetoken.base.progress import progress_of, showing
from sparsetoken.simulation.trial import TrialPlan

PROBLEM = st.SparseTokenProblem(4, 1, 3.0)
SMALL = {"dimension": 20, "trials": 3}


class Bar:
    """Keeps what it is told."""

    def __init__(self, what, total):
        self.what, self.total, self.first, self.done, self.closed = what, total, total, 0, False

    def update(self, n=1):
        assert not self.closed
        self.done += n
        assert self.done <= self.total + 1e-9  # shares of a fit add up to 1 but for rounding

    def refresh(self):
        pass

    def close(self):
        self.closed = True


@pytest.fixture
def bars():
    """Yield the bars that are made, all of which must be closed in the end."""
    made = []

    def make(what, total):
        made.append(Bar(what, total))
        return made[-1]

    with showing(make):
        yield made
    assert all(bar.closed for bar in made)


def descent(**fields):
    return st.Descent(**({"steps": 2} | fields))


def counts(bars):
    return [(bar.what, bar.total, bar.done) for bar in bars]


TWO = st.SparseTokenProblem(4, 1, [[2.0], [3.0]])
LOADS = st.Readout(alpha1=[0.5, 1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "what", "total"),
    [
        (lambda **more: st.predict(TWO, st.Pooled(), LOADS, **more), "points", 6),
        (lambda **more: st.capacity(PROBLEM, st.Pooled(), **more), "capacities", 1),
        (lambda **more: st.simulate(PROBLEM, st.Pooled(), LOADS, **SMALL, **more), "trials", 9),
        (lambda **more: st.simulation.align(TWO, **SMALL, **more), "trials", 6),
        (lambda **more: st.simulation.descend(PROBLEM, descent(), **SMALL, **more), "trials", 3),
        (lambda **more: st.simulation.pass_messages(PROBLEM, 1.0, **SMALL, **more), "trials", 3),
        (
            lambda **more: st.descend(PROBLEM, descent(alpha=[1.0, 2.0]), replicas=3, **more),
            "trajectories",
            2,
        ),
    ],
)
def test_a_call_counts_its_pieces_unless_it_is_told_not_to(bars, call, what, total):
    call()
    assert counts(bars) == [(what, total, total)]
    call(progress=False)
    assert len(bars) == 1


def test_an_outer_block_decides(bars):
    with progress_of("calls", 2, shown=False), progress_of("points", 1) as inner:
        inner()
    assert bars == []


@pytest.mark.slow
def test_trials_in_workers_are_counted_as_they_end(bars):
    st.simulate(PROBLEM, st.Pooled(), workers=2, **SMALL)
    assert counts(bars) == [("trials", 3, 3)]


def test_a_block_within_another_shows_the_share_of_its_piece(bars):
    with progress_of("calls", 2) as outer:
        with progress_of("points", 4) as inner:
            inner(3)
            assert bars[0].done == 0.75
            inner.expect(4)  # what is done does not go back
            inner()
            assert bars[0].done == 0.75
        outer()
        assert bars[0].done == 1
        outer()
    assert counts(bars) == [("calls", 2, 2)]


def test_a_bar_is_closed_by_an_error(bars, monkeypatch):
    def fail(plan, trial):
        raise RuntimeError("no trial")

    monkeypatch.setattr(TrialPlan, "run", fail)
    with pytest.raises(RuntimeError, match="no trial"):
        st.simulate(PROBLEM, st.Pooled(), **SMALL)
    assert counts(bars) == [("trials", 3, 0)]
    assert bars[0].closed
    monkeypatch.undo()
    st.simulate(PROBLEM, st.Pooled(), **SMALL)  # the next call is shown again
    assert len(bars) == 2


def test_nothing_is_printed_when_no_one_watches(capfd, monkeypatch):
    monkeypatch.setattr(module, "_DELAY", 0.0)
    st.predict(PROBLEM, st.Pooled(), st.Readout(alpha1=[0.5, 1.0]))
    st.descend(PROBLEM, descent(), replicas=2)
    st.simulate(PROBLEM, st.Pooled(), **SMALL)
    monkeypatch.setattr("sys.stderr", None)  # of a program without a console
    st.predict(PROBLEM, st.Pooled())
    monkeypatch.undo()
    assert capfd.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("delay", [0.0, module._DELAY])
def test_a_terminal_shows_what_takes_longer_than_the_delay(delay, monkeypatch):
    pytest.importorskip("tqdm")
    screen = Terminal()
    monkeypatch.setattr(module, "_DELAY", delay)
    monkeypatch.setattr("sys.stderr", screen)
    st.predict(PROBLEM, st.Pooled(), st.Readout(alpha1=np.array([0.5, 1.0])))
    assert ("points" in screen.getvalue()) == (delay == 0)


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")  # of noise, rightly
def test_a_fit_counts_its_members(bars):
    X, y = np.random.default_rng(0).standard_normal((60, 4, 3)), np.arange(60) % 3
    for progress in (True, False):
        st.BagClassifier(progress=progress).fit(X, y)
    *looks, (what, total, done) = counts(bars)
    assert [one for one, *_ in looks] == ["bags looked at"]  # for leaks
    # Trees, mean tokens, maxima, attention in two forms, deviations, two of prototypes.
    assert (what, total) == ("fits", 8)
    assert done == pytest.approx(8)
