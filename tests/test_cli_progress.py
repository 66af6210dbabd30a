"""What commands tell of their progress where there is no terminal."""

import functools
import re

from sparsetoken.base.progress import progress_of, showing
from sparsetoken.cli.progress import Lines


def test_a_log_gets_lines_with_the_time_left(capsys):
    lines = functools.partial(Lines, seconds=1e-9)
    with showing(lines), progress_of("trials", 0) as progress:
        progress(0)  # nothing is known of the total
        progress.expect(4)
        for _ in range(4):
            progress()
    found = capsys.readouterr()
    assert found.out == ""
    told = found.err.splitlines()
    assert [re.sub(r"\d\d:\d\d", "TIME", line) for line in told] == [
        f"{share} % done, TIME left (trials)" for share in (25, 50, 75, 100)
    ]


def test_short_work_says_nothing(capsys):
    with showing(Lines), progress_of("trials", 2) as progress:
        progress()
        progress()
    assert capsys.readouterr() == ("", "")
