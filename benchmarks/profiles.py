"""Where the time goes in the three hot paths: functions by their own time.

python benchmarks/profiles.py [theory|trial|bags ...]
"""

from __future__ import annotations

import cProfile
import pstats
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sparsetoken import AttentionClassifier
from speed_sides import ALPHA1, ATTENTION, predicted, trial_ours

SHOWN = 9
REPEATS = {"theory": 20, "trial": 10, "bags": 1}


def theory() -> Callable[[int], object]:
    """Predictions of attention with the logistic loss."""
    return lambda i: predicted(ATTENTION, ALPHA1 + 0.01 * i)


def trial() -> Callable[[int], object]:
    """Trials at d = 1000."""
    return trial_ours(ATTENTION)()


def bags() -> Callable[[int], object]:
    """A fit of the attention classifier to 2000 bags of 20 tokens of 128 numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 20, 128), dtype=np.float32)
    y = np.arange(2000) % 2
    X[y == 1, 0, 0] += 4.0
    return lambda i: AttentionClassifier(random_state=0).fit(X, y)


def main() -> None:
    """Print a table for each path."""
    for name in sys.argv[1:] or list(REPEATS):
        act = {"theory": theory, "trial": trial, "bags": bags}[name]()
        act(10_000)
        profile = cProfile.Profile()
        profile.enable()
        for i in range(REPEATS[name]):
            act(i)
        profile.disable()
        stats = pstats.Stats(profile)
        found = sorted(stats.stats.items(), key=lambda item: -item[1][2])
        print(f"\n{name}: {1e3 * stats.total_tt / REPEATS[name]:.1f} ms each, under the profiler")
        for (file, line, function), (_, calls, own, _, _) in found[:SHOWN]:
            where = f"{Path(file).name}:{line} " if line else ""
            share, each = own / stats.total_tt, calls / REPEATS[name]
            print(f"  {100 * share:4.1f}%  {each:7.1f} calls  {where}{function}")


if __name__ == "__main__":
    main()
