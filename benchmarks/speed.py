"""The library, what one would do otherwise, and the machine's limit, side by side in one run.

    python benchmarks/speed.py [NAME ...] [--quick] [--out results/bench.json]

Each side of a row runs in processes of its own, which take turns; the table has medians. A limit
is the work that cannot be left out, done bare. Memory is the growth of the largest resident size
of a process over what it held when it was ready. Rows of an earlier run that are not named again
stay in the file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from sparsetoken.studies.reproduction import origin
from speed_rows import Row, rows
from speed_sides import Skipped, peak

SIDES = ("ours", "other", "limit")


def main() -> int:
    """Measure rows, print the table, save it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(rows(False)))
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    parser.add_argument("--quick", action="store_true", help="small sizes, each side once")
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = rows(options.quick)
    if options.side:
        name, side, first = options.side
        print(json.dumps(one_process(known[name], side, int(first))))
        return 0
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(known)}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    table = {}
    if options.out.exists() and not options.quick:
        table = {row["name"]: row for row in json.loads(options.out.read_text())}
    chosen = options.names or list(known)
    start = time.monotonic()
    for number, name in enumerate(chosen):
        print(f"{number + 1}/{len(chosen)} {name} ...", file=sys.stderr, flush=True)
        found = measured(name, known[name], ["--quick"] * options.quick)
        if found is None:
            continue
        table[name] = found
        print(line(found), flush=True)
        if not options.quick:
            ordered = [table[name] for name in known if name in table]
            options.out.write_text(json.dumps(ordered, indent=2) + "\n")
    print(f"{time.monotonic() - start:.0f} s in all", file=sys.stderr)
    return int(any(table[name]["agree"] is False for name in chosen if name in table))


def one_process(row: Row, side: str, first: int) -> dict:
    """Prepare a side, run it, and return seconds, megabytes and answers."""
    try:
        action = getattr(row, side)()
    except Skipped as why:
        return {"skipped": str(why)}
    before = peak()
    if row.warm:
        action(10_000)
    seconds, answers = [], []
    for i in range(first, first + row.repeats):
        start = time.perf_counter()
        answer = action(i)
        taken = time.perf_counter() - start
        seconds.append(answer.pop("seconds", taken))
        answers.append(answer)
    grown = peak() - before
    return {"seconds": seconds, "mb": answers[-1].pop("mb", grown), "answers": answers}


def measured(name: str, row: Row, options: list[str]) -> dict | None:
    """Return a row of the table; None, with a word why, where it cannot be measured."""
    found: dict[str, list[dict]] = {side: [] for side in SIDES if getattr(row, side)}
    for turn in range(row.rounds):
        for side, runs in found.items():
            start = str(turn * row.repeats)
            command = [sys.executable, __file__, *options, "--side", name, side, start]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            runs.append(json.loads(done.stdout))
            if why := runs[-1].get("skipped"):
                print(f"{name} is left out: {why}", file=sys.stderr)
                return None
    answers = {side: [a for run in runs for a in run["answers"]] for side, runs in found.items()}
    seconds = {
        side: statistics.median(s for run in runs for s in run["seconds"])
        for side, runs in found.items()
    }
    mb = {side: statistics.median(run["mb"] for run in runs) for side, runs in found.items()}
    both = row.agree and "other" in found
    facts = origin()
    return {
        "name": name,
        **{f"{side}_s": seconds.get(side) for side in SIDES},
        "ratio": seconds["other"] / seconds["ours"] if "other" in found else None,
        "share": seconds["limit"] / seconds["ours"] if "limit" in found else None,
        **{f"{side}_mb": mb.get(side) for side in SIDES},
        "agree": row.agree(answers["ours"], answers["other"]) if both else None,
        "what": row.what,
        "run": {
            "commit": facts["commit"],
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": f"{facts['machine']}, {os.cpu_count()} cores",
        },
        "last_answers": {side: some[-1] for side, some in answers.items()},
    }


def line(row: dict) -> str:
    """Return a row as one line of text."""
    parts = [f"{row['name']} | {row['ours_s']:.3g} s"]
    if row["other_s"] is not None:
        parts.append(f"other {row['other_s']:.3g} s, ratio {row['ratio']:.3g}")
    if row["limit_s"] is not None:
        parts.append(f"limit {row['limit_s']:.3g} s, share {row['share']:.2g}")
    memory = [f"{row[f'{side}_mb']:.0f}" for side in SIDES if row[f"{side}_mb"] is not None]
    parts.append(f"{' / '.join(memory)} MB")
    parts += {None: [], True: ["agree"], False: ["DISAGREE"]}[row["agree"]]
    answers = row["last_answers"]["ours"].items()
    answers = {key: value for key, value in answers if not isinstance(value, list)}
    return " | ".join([*parts, str(answers)])


if __name__ == "__main__":
    sys.exit(main())
