"""Hand hostile options and files to every command, and count how the commands end.

The cases are drawn by the strategies of tests/cli/test_fuzz.py, so many of each kind. Each must end
with a result (exit code 0), a result short of convergence (1) or one message (1 or 2), without a
traceback and without an escape sequence. One that runs for a minute is stopped and counted apart.
"""

from __future__ import annotations

import argparse
import collections
import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2] / "tests" / "cli" / "test_fuzz.py"


class Counts:
    """A plugin of pytest that counts the exit codes of the commands of each test."""

    def __init__(self) -> None:
        self.ends: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item):
        ends = self.ends[item.name.removeprefix("test_")]

        invoke = item.module.invoke

        def counted(*given):
            ends["tried"] += 1
            try:
                done = invoke(*given)
            except BaseException as error:
                ends["stopped" if type(error).__name__ == "TooLong" else "wrong"] += 1
                raise
            ends[f"exit code {done.exit_code}"] += 1
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(item.module, "invoke", counted)
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.ends[report.nodeid.rpartition("::test_")[2]]["wrong"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500, help="Of each kind.")
    parser.add_argument("--only", default="", help="Kinds whose name has this part.")
    arguments = parser.parse_args()
    os.environ["FUZZ_CASES"] = str(arguments.cases)
    counts = Counts()
    command = [str(TESTS), "-q", "-p", "no:cacheprovider", "-k", arguments.only or "test"]
    code = pytest.main(command, plugins=[counts])
    total: collections.Counter = collections.Counter()
    for name, ends in counts.ends.items():
        total.update(ends)
        print(f"{name}: {told(ends)}")
    print(f"all: {told(total)}")
    raise SystemExit(code)


def told(ends: collections.Counter) -> str:
    return ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))


if __name__ == "__main__":
    main()
