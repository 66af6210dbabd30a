"""The claims of `sparsetoken reproduce` under two kernels of the linear algebra.

Run: python benchmarks/kernels.py [--kernels Haswell,Nehalem] [--out FOLDER] [NAME ...]

The whole reproduction takes minutes under each kernel; names of experiments make it shorter.
Folders that are there already are gone on with. Ends with exit code 1 if a number differs by
more than ROUNDING.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

# Fits and saddle points end at a small last step, not at the same digit: over all experiments of
# the quick profile two kernels differed by 4e-8.
ROUNDING = 1e-6
COLUMNS = ("theory", "measured", "standard_error", "numerical_error", "allowance")


def main() -> int:
    """Run both and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--kernels", default="Haswell,Nehalem")
    parser.add_argument("--out", type=Path, default=Path("results/kernels"))
    given = parser.parse_args()
    one, other = (claims(kernel, given.names, given.out) for kernel in given.kernels.split(","))
    if one.keys() != other.keys():
        print("The two have other comparisons:", sorted(one.keys() ^ other.keys()))
        return 1
    differences = sorted(
        (
            (difference(one[place], other[place], column), column, place)
            for place in one
            for column in COLUMNS
        ),
        reverse=True,
    )
    verdicts = [place for place in one if one[place]["verdict"] != other[place]["verdict"]]
    equal = sum(found == 0 for found, *_ in differences)
    print(f"{len(one)} comparisons, {len(differences)} numbers, {equal} equal in every digit")
    for found, column, place in differences[:10]:
        print(f"{found:.1e}", column, *place)
    print("verdicts that differ:", verdicts or "none")
    return int(bool(verdicts) or differences[0][0] > ROUNDING)


def claims(kernel: str, names: list[str], out: Path) -> dict[tuple, dict]:
    """Return the comparisons of a reproduction under a kernel, by place."""
    command = [str(Path(sys.executable).with_name("sparsetoken")), "reproduce", *names]
    command += ["--out", str(out / kernel), "--json"]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    environment = os.environ | threads | {"OPENBLAS_CORETYPE": kernel}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    found = json.loads(done.stdout)["claims"]
    places = {}
    for number, claim in enumerate(found):
        where = (claim[name] for name in ("experiment", "statement", "curve", "where"))
        places[*where, number] = claim
    return places


def difference(one: dict, other: dict, column: str) -> float:
    """Return how far two numbers are apart, relative to the larger of them and of their errors.

    Of a comparison with a theory of exactly 0 they are rounding alone: it is the plain difference.
    """
    a, b = (math.nan if c[column] is None else c[column] for c in (one, other))
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    errors = [e for e in (one["standard_error"], one["numerical_error"]) if e and not math.isnan(e)]
    scale = 1.0 if one["theory"] == 0 else max([abs(a), abs(b), *errors])
    return abs(a - b) / scale if math.isfinite(a - b) else math.inf


if __name__ == "__main__":
    raise SystemExit(main())
