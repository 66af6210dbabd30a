"""What commands tell of their progress where there is no terminal."""

import functools

from sparsetoken.base.progress import Progress, progress_of, showing
from sparsetoken.cli.output import ProgressLines


class _Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def _told(capsys, steps):
    """Return the lines that steps of (seconds, share) give."""
    clock = _Clock()
    progress = Progress(ProgressLines("capacity", 200, clock=clock, seconds=10.0), 200)
    for seconds, share in steps:
        clock.now = seconds
        progress(share * 200 - progress.done)
    found = capsys.readouterr()
    assert found.out == ""
    return found.err.splitlines()


def test_a_line_after_each_ten_seconds(capsys):
    assert len(_told(capsys, [(2 * i, i / 1000) for i in range(1, 11)])) == 2


def test_the_time_left_follows_the_speed_so_far(capsys):
    lines = _told(capsys, [(10, 0.1), (20, 0.2), (30, 0.3)])
    assert lines[-1] == "30 % done, about 1 min 10 s left (capacity)"


def test_work_of_earlier_runs_is_not_taken_for_speed(capsys):
    lines = _told(capsys, [(0, 0.5), (10, 0.6)])
    assert lines == ["60 % done, about 40 s left (capacity)"]


def test_a_log_gets_lines_with_the_time_left(capsys):
    clock = _Clock()
    lines = functools.partial(ProgressLines, clock=clock)
    with showing(lines), progress_of("trials", 0) as progress:
        progress(0)  # nothing is known of the total
        progress.expect(40)
        progress(0)
        for _ in range(40):
            clock.now += 4.0
            progress()
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 5
    assert told[2] == "60 % done, about 1 min 04 s left (trials)"
