"""Our way and the other way, side by side: time, memory, and whether they agree.

    python benchmarks/speed.py [NAME ...] [--out results/bench.json]

Each side of a row runs in processes of its own, which take turns; the table has medians.
Memory is the growth of the largest resident size of a process over what it held when it was
ready. Rows of an earlier run that are not named again stay in the file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from sparsetoken.experiments.report.reproduce import origin
from speed_rows import ROWS, Row


def main() -> int:
    """Measure rows, print the table, save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        name, side, first = options.side
        print(json.dumps(one_process(ROWS[name], side, int(first))))
        return 0
    unknown = [name for name in options.names if name not in ROWS]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    table = {}
    if options.out.exists():
        table = {row["name"]: row for row in json.loads(options.out.read_text())}
    chosen = options.names or list(ROWS)
    start = time.monotonic()
    for number, name in enumerate(chosen):
        print(f"{number + 1}/{len(chosen)} {name} ...", file=sys.stderr, flush=True)
        table[name] = measured(name, ROWS[name])
        print(line(table[name]), flush=True)
        ordered = [table[known] for known in ROWS if known in table]
        options.out.write_text(json.dumps(ordered, indent=2) + "\n")
    print(f"{time.monotonic() - start:.0f} s in all; {options.out}", file=sys.stderr)
    return int(any(table[name]["agree"] is False for name in chosen))


def one_process(row: Row, side: str, first: int) -> dict:
    """Prepare a side, run it, and return seconds, megabytes and answers."""
    action = getattr(row, side)()
    before = _peak()
    if row.warm:
        action(10_000)
    seconds, answers = [], []
    for i in range(first, first + row.repeats):
        start = time.perf_counter()
        answer = action(i)
        taken = time.perf_counter() - start
        seconds.append(answer.pop("seconds", taken))
        answers.append(answer)
    return {"seconds": seconds, "mb": _peak() - before, "answers": answers}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measured(name: str, row: Row) -> dict:
    """Return a row of the table."""
    sides = ["ours"] + ["other"] * (row.other is not None)
    found: dict[str, list[dict]] = {side: [] for side in sides}
    for turn in range(row.rounds):
        for side in sides:
            command = [sys.executable, __file__, "--side", name, side, str(turn * row.repeats)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[side].append(json.loads(done.stdout))
    answers = {side: [a for run in runs for a in run["answers"]] for side, runs in found.items()}
    seconds = {
        side: statistics.median(s for run in runs for s in run["seconds"])
        for side, runs in found.items()
    }
    mb = {side: statistics.median(run["mb"] for run in runs) for side, runs in found.items()}
    both = "other" in found
    agree = row.agree(answers["ours"], answers["other"]) if row.agree and both else None
    return {
        "name": name,
        "ours_s": seconds["ours"],
        "other_s": seconds.get("other"),
        "ratio": seconds["other"] / seconds["ours"] if both else None,
        "ours_mb": mb["ours"],
        "other_mb": mb.get("other"),
        "agree": agree,
        "what": row.what,
        "run": _run(),
        "last_answers": {side: some[-1] for side, some in answers.items()},
    }


def _run() -> dict:
    """Return commit, date and machine."""
    facts = origin()
    return {
        "commit": facts["commit"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{facts['machine']}, {os.cpu_count()} cores",
    }


def line(row: dict) -> str:
    """Return a row as one line of text."""
    other = "" if row["other_s"] is None else f" | {row['other_s']:.3g} s | {row['ratio']:.3g}"
    memory = [f"{mb:.0f}" for mb in (row["ours_mb"], row["other_mb"]) if mb is not None]
    agreement = {None: "", True: " | agree", False: " | DISAGREE"}[row["agree"]]
    answers = {key: _short(value) for key, value in row["last_answers"]["ours"].items()}
    head = f"{row['name']} | {row['ours_s']:.3g} s{other} | {' / '.join(memory)} MB"
    return f"{head}{agreement} | {answers}"


def _short(value: object) -> object:
    if isinstance(value, list) and len(value) > 4:
        return f"{len(value)} numbers"
    return round(value, 4) if isinstance(value, float) and math.isfinite(value) else value


if __name__ == "__main__":
    sys.exit(main())
