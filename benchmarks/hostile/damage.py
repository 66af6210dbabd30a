"""Damage a store of a sweep: what is exported, what is lost silently, and whether it goes on.

The store has theory and trials of two models, some of them not converged, and has been extended
by a trial, so that each model has two pieces of simulations. It is damaged in one way at a time:
bits of its files flip, files are cut short, removed, or replaced by others of this store and of the
stores of other sweeps. Of each it is asked
- what is read of it: whole, or what is lost is told (told), or something else;
- of every tenth, whether `results --export` ends with exit code 0 exactly if all is exported;
- whether the same sweep ends with the same bytes of all files, but for what the pieces were
  computed with (seconds differ), and with the same values.
Of every bit of the root it is asked whether its digest misses the flip.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import itertools
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.sweep import Grid, Store, listed, run
from sparsetoken.sweep.dataset import read
from sparsetoken.sweep.metadata import specification

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from command_line import invoke

GRID = Grid(
    "learning",
    [listed("model", ["attention", "pooled"]), listed("strength", [1.0, 3.0])],
    {"dimension": 12, "alpha1": 0.2, "loss": "square", "tolerance": 1e-3},
    quantities=("theory", "simulation"),
    trials=18,
)
ROOT = "zarr.json"
Files = dict[str, bytes]


def made(grid: Grid, path: Path) -> Files:
    """Run a sweep, with a trial less at first; return its files by name."""
    run(dataclasses.replace(grid, trials=grid.trials - 1), path)
    run(grid, path)
    return files_of(path)


def files_of(path: Path) -> Files:
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def put(path: Path, files: Files) -> None:
    shutil.rmtree(path, ignore_errors=True)
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def kind_of(name: str) -> str:
    """Return root, metadata, results or facts: what the pieces were computed with."""
    if "/c/" in name and name.startswith(("theory", "simulation")):
        return "facts" if "computed_with" in name else "results"
    return "root" if name == ROOT else "metadata"


def damages(files: Files, others: list[Files], rng: random.Random, count: int) -> Iterator:
    """Yield what is done, and the files that are changed; None stands for none."""
    by_kind = collections.defaultdict(list)
    for name in sorted(files):
        by_kind[kind_of(name)].append(name)
    for kind in ("root", "metadata", "results", "facts"):
        for _ in range(count):
            name = rng.choice(by_kind[kind])
            bit = rng.randrange(8 * len(files[name]))
            yield f"a bit of {kind}", {name: flipped(files[name], bit)}
    for name, _ in itertools.product(files, range(10)):
        cut = files[name][: rng.randrange(len(files[name]))]
        yield f"{kind_of(name)} cut short", {name: cut}
    chunks = by_kind["results"] + by_kind["facts"]
    for one, other in itertools.permutations(chunks, 2):
        yield f"{kind_of(one)} in place of {kind_of(other)}", {other: files[one]}
    for foreign, one, other in itertools.product(others, chunks, chunks):
        if one in foreign and foreign[one] != files[one]:
            told = f"another sweep's {kind_of(one)} in place of {kind_of(other)}"
            yield told, {other: foreign[one]}
    for name in files:
        yield f"{kind_of(name)} removed", {name: None}
    for name in by_kind["results"]:
        pair = [name, facts_of(name)]
        yield "results and their facts removed", dict.fromkeys(pair)
    metadata = [ROOT, *by_kind["metadata"]]
    yield "all metadata removed", dict.fromkeys(metadata)
    documents = [name for name in metadata if name.endswith(ROOT)]
    for one, other in itertools.permutations(documents, 2):
        yield "one zarr.json in place of another", {other: files[one]}
    group = b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'
    for new in (group, b"{}", b"[]", b"null", b"[" * 5000, b"", *(other[ROOT] for other in others)):
        yield "a foreign root", {ROOT: new}


def facts_of(name: str) -> str:
    quantity, rest = name.split("/", 1)
    return f"{quantity}_computed_with/{rest.rpartition('/')[0]}"


def same(one: xr.Dataset, truth: xr.Dataset) -> bool:
    """Return whether all that is not missing has the right values, words and coordinates."""
    for quantity in GRID.quantities:
        there = one[f"{quantity}_status"].values != "missing"
        if not there.any():
            continue
        for name, expected in truth.data_vars.items():
            if not name.startswith(quantity):
                continue
            values = one[name].values if name in one else np.full(expected.shape, np.nan)
            if values.shape != expected.shape:
                return False
            pairs = zip(values[there], expected.values[there], strict=True)
            if any(a != b and not (a != a and b != b) for a, b in pairs):
                return False
        if any(not np.array_equal(one[dim], truth[dim]) for dim in truth.sizes):
            return False
    return True


def what_is_read(path: Path, truth: xr.Dataset) -> str:
    """Return what is read, against the truth."""
    try:
        found, damaged = read(Store(path))
    except (Failure, InvalidInput):
        return "told"
    except Exception as error:
        return f"TRACEBACK {type(error).__name__}"
    words = (found[f"{quantity}_status"].values for quantity in GRID.quantities)
    lost = sum(int((one == "missing").sum()) for one in words)
    if not same(found, truth):
        return "WRONG, told" if damaged else "WRONG, SILENT"
    if not damaged:
        return "lost silently" if lost else "whole"
    return "told" if lost >= damaged else "WRONG COUNT"


def exported(path: Path, read: str) -> str:
    """Return what the exit code of an export is not, if anything."""
    table = path.with_suffix(".csv")
    table.unlink(missing_ok=True)
    said = invoke("results", path, "--export", table)
    if "Traceback" in said.stderr or (said.exit_code == 0) != (read in ("whole", "lost silently")):
        return f"EXIT CODE {said.exit_code} where {read}"
    return ""


def after_the_sweep(path: Path, files: Files, truth: xr.Dataset) -> str:
    """Run the same sweep; return what it ends with."""
    try:
        run(GRID, path)
    except (Failure, InvalidInput):
        return "refused"
    except Exception as error:
        return f"TRACEBACK OF THE SWEEP {type(error).__name__}"
    found, damaged = read(Store(path))
    now = files_of(path)
    bytes_differ = any(now.get(n) != c for n, c in files.items() if kind_of(n) != "facts")
    if damaged or bytes_differ or not found.identical(truth):
        return "OTHER BYTES" if found.identical(truth) else "OTHER VALUES"
    return "same bytes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="Flips in each kind of file.")
    parser.add_argument("--only", default="", help="Damages whose name has this part.")
    arguments = parser.parse_args()
    rng = random.Random(0)
    found: collections.Counter = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "s.zarr"
        files = made(GRID, path)
        truth, _ = read(Store(path))
        other_grids = (
            dataclasses.replace(GRID, seed=1),
            dataclasses.replace(GRID, fixed={**GRID.fixed, "ridge": 0.5}),
        )
        bits = range(8 * len(files[ROOT]))
        missed = sum(specification(flipped(files[ROOT], bit)) is not None for bit in bits)
        print(f"{len(bits)} bits of the root, {missed} flips missed by its digest", flush=True)
        others = [made(g, path.with_name(f"{n}.zarr")) for n, g in enumerate(other_grids)]
        for number, (kind, changed) in enumerate(damages(files, others, rng, arguments.count)):
            if arguments.only not in kind:
                continue
            for changed_name, content in changed.items():
                if content is None:
                    (path / changed_name).unlink()
                else:
                    (path / changed_name).write_bytes(content)
            outcome = what_is_read(path, truth)
            ends = [outcome]
            if number % 10 == 0:
                ends.append(exported(path, outcome))
                found[kind, "exports tried"] += 1
            ends.append(after_the_sweep(path, files, truth))
            put(path, files)
            found.update((kind, end) for end in ends if end)
            found[kind, "tried"] += 1
            if any(end.isupper() or end[:5].isupper() for end in ends if end):
                print(f"{kind}: {', '.join(changed)}: {', '.join(ends)}", flush=True)
    for kind in sorted({kind for kind, _ in found}):
        ends = sorted((end, times) for (own, end), times in found.items() if own == kind)
        print(f"{kind}: {', '.join(f'{times} {end}' for end, times in ends)}", flush=True)


if __name__ == "__main__":
    main()
