"""Rows of a long benchmark in a file, one JSON object a line; a second run goes on."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path


def rows(description: str | None, count: int, run: Callable[[int], dict]) -> list[dict]:
    """Return run(0) .. run(count - 1), from the file named by --out where they stand there."""
    parser = argparse.ArgumentParser(description=description)
    name = Path(sys.argv[0]).stem
    parser.add_argument("--out", type=Path, default=Path(f"results/{name}.jsonl"))
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    start, first = time.monotonic(), len(done)
    with out.open("a") as file:
        for index in range(first, count):
            row = run(index)
            done.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            left = (time.monotonic() - start) / (index + 1 - first) * (count - index - 1)
            print(f"\r{index + 1}/{count}, {left:.0f} s left ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return done
