"""The same fits and predictions on CPU and GPU: seconds, and whether the answers agree.

    python benchmarks/devices.py [--dimensions 1000 3000 8000] [--out results/devices.json]

Fits of attention's readout at alpha1 = 2 (logistic loss), the product of a float32 design with a
vector and back, and predictions. Medians of three in a warm process; the first call, which
compiles, is not counted. Where JAX has no GPU only the CPU is measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from threadpoolctl import threadpool_limits

import sparsetoken as st
from sparsetoken.numerics import products
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.simulation.trial import Setting, TrialPlan

REPEATS = 3
BUDGET = 2**34  # bytes of a trial
PROBLEM = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
MODEL = st.Attention(query=st.Query(cosine=0.9, sharpness=1.0))


def main() -> None:
    """Measure, print a line for each row, save all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimensions", type=int, nargs="*", default=[1000, 3000, 8000])
    parser.add_argument("--ridges", type=float, nargs="*", default=[1e-2, 1e-4])
    parser.add_argument("--threads", type=int, nargs="*", default=[1])
    parser.add_argument("--out", type=Path, default=Path("results/devices.json"))
    options = parser.parse_args()
    print(*(f"{d.platform}: {d.device_kind}" for d in devices().values()), sep="\n", flush=True)
    rows: list[dict] = []
    for made in (
        *(fits(d, options.ridges, options.threads) for d in options.dimensions),
        theory(),
    ):
        for row in made:
            rows.append(row)
            print(json.dumps(row), flush=True)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(rows, indent=2) + "\n")


def devices() -> dict[str, jax.Device]:
    """Return the CPU and, where there is one, the GPU."""
    found = {"cpu": jax.local_devices(backend="cpu")[0]}
    if jax.default_backend() == "gpu":
        found["gpu"] = jax.local_devices(backend="gpu")[0]
    return found


def fits(d: int, ridges: list[float], threads: list[int]):
    """Yield rows of the readout's fit at one dimension."""
    for ridge in ridges:
        readout = st.Readout(loss="logistic", ridge=ridge, alpha1=2.0)
        plan = TrialPlan(PROBLEM, MODEL, readout, Setting(d, 0, "reduced"), BUDGET)
        drawing, drawn = timed(lambda plan=plan: plan.draw(0), 1)
        F, y = drawn.design.features, drawn.design.labels
        seconds, found = {}, {}
        for count in threads:
            with threadpool_limits(count):
                name = f"numpy, {count} threads"
                seconds[name], found[name] = timed(
                    lambda F=F, y=y, r=readout: fit_readout(F, y, r.loss, r.ridge)
                )
        for name in devices():
            seconds[name], found[name] = timed(
                lambda F=F, y=y, r=readout, name=name: fit_readout(
                    F, y, r.loss, r.ridge, device=name
                )
            )
        first = next(iter(found.values()))
        apart = max(float(np.linalg.norm(fit.w - first.w)) for fit in found.values())
        scale = 1 + float(np.linalg.norm(first.w))
        yield {
            "row": "fit",
            "d": d,
            "n": len(y),
            "ridge": ridge,
            "drawing": drawing,
            "seconds": seconds,
            "apart": apart / scale,
            "products": product_seconds(F),
        }


def product_seconds(F: np.ndarray) -> dict[str, float]:
    """Return the seconds of one product with the design and back, on each side."""
    single, D, v = F.astype(np.float32), np.ones(len(F)), np.ones(F.shape[1])
    sides = {"numpy": None, **{name: name for name in devices()}}
    seconds = {}
    for name, device in sides.items():
        product = products.products(single, device).weighted(D)
        seconds[name] = timed(lambda product=product: product(v, 0.5), 20)[0]
    return seconds


def theory():
    """Yield rows of predictions: one point, and a curve of 50."""
    readout = st.Readout(loss="logistic", ridge=1e-3, alpha1=4.0)
    curve = st.Readout(loss="logistic", ridge=1e-3, alpha1=np.linspace(0.25, 10, 50))
    acts: dict[str, Callable[[], object]] = {
        "predict": lambda: st.predict(PROBLEM, MODEL, readout).test_error,
        "predict, 50 points": lambda: st.predict(PROBLEM, MODEL, curve).test_error,
        "capacity": lambda: st.capacity(PROBLEM, MODEL).capacity,
    }
    for row, act in acts.items():
        seconds, found = {}, {}
        for name, device in devices().items():
            with jax.default_device(device):
                seconds[name], found[name] = timed(act)
        values = [np.asarray(value, float) for value in found.values()]
        apart = max(float(np.max(np.abs(value - values[0]))) for value in values)
        yield {"row": row, "seconds": seconds, "apart": apart}


def timed(act: Callable[[], object], repeats: int = REPEATS):
    """Return the median seconds of an act that was done once before, and its last answer."""
    answer = act()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = act()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), answer


if __name__ == "__main__":
    main()
