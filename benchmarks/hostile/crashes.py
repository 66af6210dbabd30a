"""Kill a process at every system call that changes a file, while it makes and fills a store.

A child process makes a store, writes a sweep of 12 rows down, leases and finishes them. It is
traced, and killed before its n-th call that writes, cuts, syncs, moves or removes a file, for
every n. After each kill the store is read (`results`), then the same sweep is run to its end:
its table must be the same as without a kill. Needs Linux.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import math
import os
import platform
import signal
import sys
import tempfile
from pathlib import Path

from sparsetoken.sweep import JobPlan, Store, export_table, run
from sparsetoken.sweep.integrity import find_damage

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from command_line import invoke

TRACEME, CONT, KILL, GETREGS, SYSCALL = 0, 7, 8, 12, 24
TRACE_SYSGOOD, STOPPED_BY_CALL = 1, signal.SIGTRAP | 0x80
SETOPTIONS = 0x4200
CHANGES = {1, 18, 20, 74, 75, 76, 77, 82, 87, 285, 263, 264, 316}
"""write, pwrite64, writev, fsync, fdatasync, truncate, ftruncate, rename, unlink, fallocate,
unlinkat, renameat, renameat2 of x86-64."""

SPEC = 'experiment = "alignment"\n[axes]\nstrength = [1.0, 2.0]\n'

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


class Job:
    """A square root."""

    work, cost, version = math.sqrt, 1.0, 1

    def __init__(self, number: int) -> None:
        self.arguments, self.name = (float(number),), f"sqrt {number}"


PLAN = JobPlan([Job(number) for number in range(12)], float)


def whole_run(path: Path) -> None:
    with Store(path) as store:
        run(store, PLAN)


def registers(pid: int) -> int:
    """Return the number of the system call at which a traced process has stopped."""
    values = (ctypes.c_ulonglong * 27)()
    LIBC.ptrace(GETREGS, pid, None, ctypes.addressof(values))
    return values[15]  # orig_rax


def killed_at(path: Path, place: int) -> bool:
    """Run in a child that is killed before its n-th change; return whether it came so far."""
    pid = os.fork()
    if pid == 0:
        LIBC.ptrace(TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            whole_run(path)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    LIBC.ptrace(SETOPTIONS, pid, None, ctypes.c_void_p(TRACE_SYSGOOD))
    changes, entering = 0, True
    signal_back = 0
    while True:
        LIBC.ptrace(SYSCALL, pid, None, ctypes.c_void_p(signal_back))
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            return False
        if os.WSTOPSIG(status) != STOPPED_BY_CALL:
            signal_back = os.WSTOPSIG(status)
            continue
        signal_back = 0
        if entering and registers(pid) in CHANGES:
            changes += 1
            if changes == place:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return True
        entering = not entering


def checked(path: Path, expected: bytes) -> list[str]:
    """Return what is wrong with a store after a kill."""
    faults = []
    commands = [(["sweep", str(path.with_name("spec.toml")), "--store", str(path), "--dry-run"], 0)]
    if path.exists():
        commands.append((["results", str(path), "--json"], 2))  # 2: there is no table as yet
    for command, worst in commands:
        try:
            refused = invoke(*command).exit_code not in (0, worst)
        except Exception:
            refused = True
        if refused:
            faults.append(f"{command[0]} refused")
    table = path.with_suffix(".csv")
    try:
        whole_run(path)
        with Store(path) as store:
            if find_damage(store):
                faults.append("damaged")
            export_table(store, table)
    except Exception as error:
        return [*faults, f"refused ({error})"]
    return faults if table.read_bytes() == expected else [*faults, "other rows"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise SystemExit("This needs Linux on x86-64.")
    found: collections.Counter = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.toml").write_text(SPEC)
        whole_run(folder / "whole.sqlite")
        with Store(folder / "whole.sqlite") as store:
            export_table(store, folder / "whole.csv")
        expected = (folder / "whole.csv").read_bytes()
        kills = 0
        while killed_at(folder / f"{kills + 1}.sqlite", kills + 1):
            kills += 1
        for place in range(1, kills + 1):
            faults = checked(folder / f"{place}.sqlite", expected)
            found.update(faults or ["nothing"])
            if faults:
                print(f"killed at change {place}: {', '.join(faults)}", flush=True)
    for fault, count in found.items():
        print(f"{kills} kills, {fault}: {count}", flush=True)


if __name__ == "__main__":
    main()
