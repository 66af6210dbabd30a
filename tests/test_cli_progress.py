"""What reproduce tells of its progress where there is no terminal."""

from sparsetoken.cli.reproduce import ProgressLines


class _Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def _told(capsys, steps):
    """Return the lines that steps of (seconds, share) give."""
    clock = _Clock()
    progress = ProgressLines(clock)
    for seconds, share in steps:
        clock.now = seconds
        progress("capacity", share * 200, 200)
    found = capsys.readouterr()
    assert found.out == ""
    return found.err.splitlines()


def test_a_line_for_each_twentieth_of_the_work(capsys):
    lines = _told(capsys, [(i / 10, i / 100) for i in range(1, 101)])
    assert len(lines) == 20
    assert lines[-1] == "100 % done (capacity)"


def test_a_line_after_ten_seconds_of_little_progress(capsys):
    assert len(_told(capsys, [(2 * i, i / 1000) for i in range(1, 11)])) == 2


def test_the_time_left_follows_the_speed_so_far(capsys):
    lines = _told(capsys, [(10, 0.1), (20, 0.2), (30, 0.3)])
    assert lines[-1] == "30 % done, about 1 min 10 s left (capacity)"


def test_work_of_earlier_runs_is_not_taken_for_speed(capsys):
    lines = _told(capsys, [(0, 0.5), (10, 0.6)])
    assert lines == ["50 % done (capacity)", "60 % done, about 40 s left (capacity)"]
