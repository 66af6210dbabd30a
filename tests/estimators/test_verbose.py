"""What a fit says of its progress."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sparsetoken import AttentionClassifier
from sparsetoken.estimators import progress
from sparsetoken.estimators.progress import Progress

LINE = re.compile(r"AttentionClassifier: fit (\d) of (\d), ([a-z ]+); \d+ s, about \d+ s left")


@pytest.mark.parametrize("classes", [2, 3])
def test_each_fit_says_how_far_it_is(capsys: pytest.CaptureFixture[str], classes: int) -> None:
    X, y = np.random.default_rng(0).standard_normal((60, 4, 3)), np.arange(60) % classes
    fits = 1 if classes == 2 else 3
    silent = AttentionClassifier("tied", random_state=0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    model = AttentionClassifier("tied", random_state=0, verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert not out
    found = [LINE.fullmatch(line).groups() for line in err.splitlines()]
    stages = ["queries found", "sharpnesses compared", "done"]
    assert found == [(str(k + 1), str(fits), s) for k in range(fits) for s in stages]
    assert np.array_equal(model.decision_function(X), silent.decision_function(X))


def test_the_time_left_is_that_of_what_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 106.0, 110.0, 115.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    told = Progress("M", 2).told
    told(0.6, "a")
    told(1.0, "b")
    told(0.5, "c")
    lines = capsys.readouterr().err.splitlines()
    # 0.3, 0.5 and 0.75 of all were done after 6, 10 and 15 seconds.
    assert [line.split("; ")[1] for line in lines] == [
        "6 s, about 14 s left",
        "10 s, about 10 s left",
        "15 s, about 5 s left",
    ]
