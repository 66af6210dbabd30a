"""Fit of BagClassifier to bags on disk: processor time, memory, passes over the tokens, AUC.

python benchmarks/big_bags.py FOLDER [--bags 200] [--length 10000] [--dimension 1024]

Tokens are standard normal, and one token of a positive bag is shifted by a vector: of length 20 in
8 columns with the law ``few:20``, in a direction over all columns with ``dense:60``. A file for
each bag is written into FOLDER, packed and removed; training and test bags need 2.5 times the
size of the training tokens. Every fit has a process of its own, which counts how often it reads
the tokens of the map. With --keep the packed bags stay, and a next run takes them.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sparsetoken import BagClassifier
from sparsetoken.bags import Bags, convert, pack, read

PARTS = ("train", "test")
EVERY = 0.02  # seconds between two looks at the memory


class Counted(np.ndarray):
    """Tokens that count the values read from them: all in a product, a run of rows where sliced.

    What is made of them is a plain array, so that a run in the cache counts once.
    """

    read = 0.0

    def __getitem__(self, key: Any) -> Any:
        found = np.asarray(self)[key]
        Counted.read += np.size(found)
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(self._plain, inputs), **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return function(*map(self._plain, args), **options)

    def ravel(self, *args: Any) -> np.ndarray:  # scipy.sparse reads tokens by this
        return self._plain(self).ravel(*args)

    def take(self, rows: Any, **options: Any) -> np.ndarray:
        found = np.asarray(self).take(rows, **options)
        Counted.read += found.size
        return found

    @staticmethod
    def _plain(value: Any) -> Any:
        if isinstance(value, Counted):
            Counted.read += value.size
            return np.asarray(value)
        return value


class Use:
    """Processor time, passes and peak of anonymous memory above that of the start, of a block."""

    def __init__(self) -> None:
        self.seconds = self.gigabytes = self.values = 0.0

    @classmethod
    @contextmanager
    def of(cls) -> Iterator[Use]:
        use, done, peak = cls(), threading.Event(), [anonymous()]

        def watch() -> None:
            while not done.wait(EVERY):
                peak.append(max(peak.pop(), anonymous()))

        thread = threading.Thread(target=watch)
        before, began, Counted.read = anonymous(), time.process_time(), 0.0
        thread.start()
        try:
            yield use
        finally:
            done.set()
            thread.join()
        use.seconds, use.values = time.process_time() - began, Counted.read
        use.gigabytes = peak[0] - before

    def told(self, size: int = 0) -> str:
        passes = f", {self.values / size:.1f} passes" if size else ""
        return f"{self.seconds:.1f} s of processor, {self.gigabytes:.3f} GB{passes}"


def anonymous() -> float:
    """Return the memory of this process that is no map of a file, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1e6


def shift(law: str, asked: argparse.Namespace) -> np.ndarray:
    """Return what is added to one token of a positive bag."""
    if law == "few":
        direction = np.zeros(asked.dimension)
        direction[: asked.columns] = 1.0
    else:
        direction = np.random.default_rng(1).standard_normal(asked.dimension)
    return (asked.strength * direction / np.linalg.norm(direction)).astype(np.float32)


def write(folder: Path, part: str, count: int, asked: argparse.Namespace) -> tuple[Use, np.ndarray]:
    """Write and pack one file for each bag; return the use of packing, and the shifted rows."""
    files = folder / part
    files.mkdir()
    for i in range(count):
        rng = np.random.default_rng([PARTS.index(part), i])
        tokens = rng.standard_normal((asked.length, asked.dimension), dtype=np.float32)
        np.save(files / f"bag_{i:04d}.npy", tokens)
    with Use.of() as use:
        pack(files, folder / f"{part}.bags")
    shutil.rmtree(files)
    np.save(folder / f"{part}.bags" / "y.npy", np.arange(count) % 2)
    places = np.random.default_rng(PARTS.index(part)).integers(asked.length, size=count)
    return use, (places + asked.length * np.arange(count))[1::2]


@contextmanager
def shifted(path: Path, rows: np.ndarray, by: np.ndarray) -> Iterator[None]:
    """Shift rows of the packed tokens inside the block."""
    tokens = np.load(path / "tokens.npy", mmap_mode="r+")
    before = tokens[rows].copy()
    tokens[rows] = before + by
    tokens.flush()
    try:
        yield
    finally:
        tokens[rows] = before
        tokens.flush()


def measured(folder: Path, gate: bool) -> None:
    """Fit, predict and find tokens in this process; print use and AUC."""
    if not gate:
        from sparsetoken.estimators import bag_classifier

        bag_classifier.signal_pvalue = lambda tasks: 0.005
    whole = convert.as_floats
    convert.as_floats = lambda X, *args: X if isinstance(X, Counted) else whole(X, *args)
    train, test = (read(folder / f"{part}.bags", labels="y") for part in PARTS)
    bags, new = (Bags(one.bags.tokens.view(Counted), one.bags.offsets) for one in (train, test))
    model = BagClassifier(progress=False)
    with Use.of() as use:
        model.fit(bags, train.y)
    print(f"  fit: {use.told(bags.tokens.size)}")
    with Use.of() as use:
        scores = model.predict_proba(new)[:, 1]
    print(f"  predict_proba: {use.told(new.tokens.size)}")
    with Use.of() as use:
        top = model.top_tokens(new)
    print(f"  top_tokens: {use.told(new.tokens.size)}")
    hidden = np.load(folder / "rows.npy") - new.offsets[:-1][1::2]
    found = np.mean(np.ravel(top[1::2]) == hidden)
    print(f"  AUC {roc_auc_score(test.y, scores):.3f}, token found in {found:.2f} of positive bags")
    print(f"  {model.summary()}")
    members = model.member_scores(new).T
    losses = model.member_losses_[:, 0]
    for name, one, loss in zip(model.member_names_, members, losses, strict=True):
        print(f"  {name}: AUC {roc_auc_score(test.y, one):.3f}, left-out loss {loss:.3f}")


def main() -> None:
    """Write the bags, then fit for each law and strength in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bags", type=int, default=200, help="of training; half as many of test")
    parser.add_argument("--length", type=int, default=10_000)
    parser.add_argument("--dimension", type=int, default=1024)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--laws", nargs="+", default=["few:20", "dense:60"], help="law:length")
    parser.add_argument("--no-gate", action="store_true", help="p-value 0.005 whatever the labels")
    parser.add_argument("--keep", action="store_true", help="the packed bags")
    parser.add_argument("--measured", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measured:
        measured(asked.folder, not asked.no_gate)
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    rows = {}
    for part, count in zip(PARTS, (asked.bags, asked.bags // 2), strict=True):
        if (asked.folder / f"{part}.bags").exists():
            rows[part] = np.load(asked.folder / f"{part}.rows.npy")
            continue
        use, rows[part] = write(asked.folder, part, count, asked)
        np.save(asked.folder / f"{part}.rows.npy", rows[part])
        print(f"pack {part}: {use.told()}", flush=True)
    np.save(asked.folder / "rows.npy", rows["test"])
    for law in asked.laws:
        name, strength = law.split(":")
        asked.strength = float(strength)
        by, (train, test) = shift(name, asked), (asked.folder / f"{part}.bags" for part in PARTS)
        print(f"{name}, strength {strength}", flush=True)
        command = [sys.executable, __file__, str(asked.folder), "--measured"]
        with shifted(train, rows["train"], by), shifted(test, rows["test"], by):
            subprocess.run(command + ["--no-gate"] * asked.no_gate, check=True)
    if not asked.keep:
        for part in PARTS:
            shutil.rmtree(asked.folder / f"{part}.bags")
            (asked.folder / f"{part}.rows.npy").unlink()
        (asked.folder / "rows.npy").unlink()
        asked.folder.rmdir()


if __name__ == "__main__":
    main()
