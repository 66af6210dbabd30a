"""Time and memory of fit and predict on 10000 bags of 50 tokens of 384 dimensions, in float32.

Each classifier runs in a process of its own, as the peak of memory is that of a process:
``python benchmarks/estimators_speed.py`` prints one line for each. On a busy machine the
processor time with OPENBLAS_NUM_THREADS=1 says more than the time by the clock.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import sparsetoken
from sparsetoken.bags import Bags

BAGS, LENGTH, DIMENSION = 10_000, 50, 384
CHUNK = 500  # bags drawn together
STRENGTH = 3.0
CLASSIFIERS = ("BagClassifier", "AttentionClassifier", "PooledLinearClassifier")


def draw() -> tuple[Bags, np.ndarray]:
    """Return bags of Gaussian tokens, one of them shifted in positive bags."""
    rng = np.random.default_rng(0)
    tokens = np.empty((BAGS * LENGTH, DIMENSION), np.float32)
    for rows in np.array_split(tokens, BAGS // CHUNK):
        rng.standard_normal(out=rows, dtype=np.float32)
    labels = np.arange(BAGS) % 2
    tokens[::LENGTH][labels == 1, 0] += STRENGTH
    return Bags(tokens, np.arange(BAGS + 1) * LENGTH), labels


def peak() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def seconds(act: Callable[[], object], repeats: int = 1) -> float:
    """Return the least time of an action over several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(name: str) -> str:
    """Return a line of times and memory of one classifier."""
    bags, labels = draw()
    model = getattr(sparsetoken, name)()
    if hasattr(model, "random_state"):
        model.set_params(random_state=0)
    before = peak()
    used = time.process_time()
    fit = seconds(lambda: model.fit(bags, labels))
    used = time.process_time() - used
    extra = (peak() - before) / (bags.tokens.nbytes / 1e6)
    both = np.ones((DIMENSION, 2), np.float32)
    product = seconds(lambda: bags.tokens @ both, repeats=5)
    predict = seconds(lambda: model.predict(bags), repeats=5)
    return (
        f"{name}: fit {fit:.1f} s ({used:.1f} s of processor), "
        f"extra memory {extra:.2f} of the input, "
        f"predict {predict:.2f} s, product {product:.2f} s, speed {product / predict:.2f}"
    )


def main() -> None:
    """Measure one classifier, or each in a process of its own."""
    if len(sys.argv) > 1:
        print(measure(sys.argv[1]))
        return
    for name in CLASSIFIERS:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
