"""Whether the tests see numbers that are a little wrong.

Each entry of mutants.toml changes one text of the source, mostly a number by 5%. Its tests, but
for slow ones, must fail then. ``python tests/mutants.py NAME ...`` takes the entries of some names,
each in full or up to its colon; ``make mutants`` takes all.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "sparsetoken"
TABLE = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
PASSED, FAILED = 0, 1  # exit codes of pytest; others say that no test was run


def chosen(names: list[str]) -> dict[str, dict]:
    if unknown := [n for n in names if not any(n in (m, m.split(":")[0]) for m in TABLE)]:
        sys.exit(f"No such entry: {', '.join(unknown)}.")
    return {m: e for m, e in TABLE.items() if not names or {m, m.split(":")[0]} & {*names}}


def check_texts(table: dict[str, dict]) -> None:
    for name, entry in table.items():
        count = (PACKAGE / entry["file"]).read_text(encoding="utf-8").count(entry["text"])
        if count != 1:
            sys.exit(f"{name}: the text is {count} times in {entry['file']}, not once.")


def run(source: Path, tests: list[str]) -> subprocess.CompletedProcess:
    options = ["-x", "-q", "-m", "not slow", "-p", "no:xdist", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{one}" for one in tests)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def survivors(table: dict[str, dict], source: Path) -> list[str]:
    found = []
    for number, (name, entry) in enumerate(table.items(), 1):
        path, start = source / "sparsetoken" / entry["file"], time.perf_counter()
        original = path.read_text(encoding="utf-8")
        path.write_text(original.replace(entry["text"], entry["change"]), encoding="utf-8")
        os.utime(path, (number, number))  # Python compiles anew what has another time
        ended = run(source, entry["tests"])
        path.write_text(original, encoding="utf-8")
        if ended.returncode not in (PASSED, FAILED):
            sys.exit(f"{name}: the tests did not run.\n{ended.stdout}{ended.stderr}")
        if ended.returncode == PASSED:
            found.append(name)
        result = "killed" if ended.returncode == FAILED else "SURVIVED"
        print(f"{name:58} {result:8} {time.perf_counter() - start:5.1f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    table = chosen(parser.parse_args().names)
    check_texts(table)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        shutil.copytree(PACKAGE, source / "sparsetoken")
        ended = run(source, sorted({one for entry in table.values() for one in entry["tests"]}))
        if ended.returncode != PASSED:
            sys.exit(f"The tests do not pass without a change.\n{ended.stdout}{ended.stderr}")
        found = survivors(table, source)
    print(f"{len(table) - len(found)} of {len(table)} killed")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
