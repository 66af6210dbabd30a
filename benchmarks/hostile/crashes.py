"""Kill a sweep before every system call that changes a file, from the creation of its store on.

A child runs a sweep of two models, theory and trials, of which some fall short. It is traced with
its threads, and killed before its n-th call that makes, writes, moves or removes a file, for every
n. After each kill `results` shows the store or says in one message what to do, and the same sweep
ends with the same bytes of all files, but for what the pieces were computed with (seconds differ),
and with the same table. Needs Linux on x86-64.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import os
import platform
import signal
import sys
import tempfile
from pathlib import Path

from damage import files_of, kind_of

from sparsetoken.sweep import Grid, listed, run, to_frame

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from command_line import invoke

GRID = Grid(
    "learning",
    [listed("model", ["attention", "pooled"])],
    {"dimension": 12, "alpha1": 0.2, "loss": "square", "tolerance": 1e-3},
    quantities=("theory", "simulation"),
    trials=2,
)
TRACEME, GETREGS, SYSCALL, SETOPTIONS = 0, 12, 24, 0x4200
SYSGOOD, CLONE, STOPPED_BY_CALL, ALL_THREADS = 0x1, 0x8, signal.SIGTRAP | 0x80, 0x40000000
CHANGES = {1, 18, 20, 74, 75, 76, 77, 82, 83, 84, 86, 87, 258, 263, 264, 265, 285, 316}
"""write, pwrite64, writev, fsync, fdatasync, truncate, ftruncate, rename, mkdir, rmdir, link,
unlink, mkdirat, unlinkat, renameat, linkat, fallocate, renameat2 of x86-64."""

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def call_of(thread: int) -> int:
    """Return the number of the system call at which a traced thread has stopped."""
    values = (ctypes.c_ulonglong * 27)()
    LIBC.ptrace(GETREGS, thread, None, ctypes.addressof(values))
    return values[15]  # orig_rax


def killed_at(path: Path, place: int) -> bool:
    """Run in a child that is killed before its n-th change; return whether it came so far."""
    pid = os.fork()
    if pid == 0:
        LIBC.ptrace(TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            run(GRID, path)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    LIBC.ptrace(SETOPTIONS, pid, None, SYSGOOD | CLONE)
    LIBC.ptrace(SYSCALL, pid, None, None)
    changes, inside, killed = 0, {pid: False}, False
    while True:
        thread, status = os.waitpid(-1, ALL_THREADS)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if thread == pid:
                return killed
            continue
        number, back = os.WSTOPSIG(status), 0
        if number == STOPPED_BY_CALL:
            inside[thread] = not inside[thread]
            changes += inside[thread] and call_of(thread) in CHANGES
            if changes == place and not killed:
                os.kill(pid, signal.SIGKILL)
                killed = True
        elif thread not in inside:  # a new thread
            inside[thread] = False
        elif not status >> 16:
            back = number
        LIBC.ptrace(SYSCALL, thread, None, back)


def checked(path: Path, expected: dict[str, bytes], table: str) -> list[str]:
    """Return what is wrong with a store after a kill, and notes in small letters."""
    found = []
    try:
        said = invoke("results", path, "--json")
        found.append(f"results ends with {said.exit_code}")
        if said.exit_code and len(said.stderr.splitlines()) != 1:
            found.append("NO MESSAGE")
        told: list[str] = []
        run(GRID, path, on_damaged=told.append)
        found += [f"sweep tells of damage: {what}" for what in told]
        now = {name: c for name, c in files_of(path).items() if not name.endswith(".partial")}
        if any(now.get(n) != c for n, c in expected.items() if kind_of(n) != "facts"):
            found.append("OTHER BYTES")
        if set(now) != set(expected):
            found.append("facts of a piece are lost" if set(now) < set(expected) else "LITTER")
        if to_frame(path).to_csv() != table:
            found.append("OTHER TABLE")
    except Exception as error:
        found.append(f"{type(error).__name__.upper()} {error}")
    return found


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise SystemExit("This needs Linux on x86-64.")
    found: collections.Counter = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder, kills = Path(name), 0
        while killed_at(folder / f"{kills + 1}.zarr", kills + 1):
            kills += 1
        run(GRID, folder / "whole.zarr")  # after all forks: it starts threads
        expected, table = files_of(folder / "whole.zarr"), to_frame(folder / "whole.zarr").to_csv()
        for place in range(1, kills + 1):
            faults = checked(folder / f"{place}.zarr", expected, table)
            found.update(faults)
            if any(fault.split()[0].isupper() for fault in faults):
                print(f"killed at change {place}: {', '.join(faults)}", flush=True)
    print(f"{kills} kills")
    for fault, count in sorted(found.items()):
        print(f"{fault}: {count}", flush=True)


if __name__ == "__main__":
    main()
