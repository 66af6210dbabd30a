"""Provenance of a report: machine, Python, commit and linear-algebra kernel."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from sparsetoken.numerics.threads import kernels
from sparsetoken.report.kept import Kept

COMPUTE = ("python", "numpy", "scipy", "jax")


def origin() -> dict[str, str]:
    """Return facts of this process by name, none for what is not known."""
    return {
        "Python": platform.python_version(),
        "commit": _commit(),
        "machine": f"{platform.system()} {platform.machine()}",
        "linear algebra": kernels(),
    }


def _commit() -> str:
    """Return the commit of the checkout that the package is in, marked if files have changed."""
    here = Path(__file__).resolve().parent
    if not any((parent / ".git").exists() for parent in here.parents):
        return "none"
    try:
        commit = _git(here, "rev-parse", "--short=12", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no", "--", str(here))
    except (OSError, subprocess.SubprocessError):
        return "none"
    return f"{commit} with changes" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    return found.stdout.strip()


def computed_with(kept: Iterable[Kept]) -> str:
    """Return environment and duration of the stored pieces of work, from their files."""
    seconds: dict[str, list[float]] = {}
    for one in kept:
        seconds.setdefault(_told(one.environment), []).append(one.seconds)
    return "; ".join(
        f"{len(some)} piece{'s' * (len(some) != 1)} of work, "
        f"{sum(some) / 60:.1f} min one after another: {told}"
        for told, some in seconds.items()
    )


def _told(environment: Mapping[str, str]) -> str:
    """Return versions, kernels and machine; older files do not know all of them."""
    known = [f"{name} {environment[name]}" for name in COMPUTE if name in environment]
    known += [environment[name] for name in ("linear algebra", "system") if name in environment]
    return " ".join([", ".join(known), environment.get("machine", "")]).strip() or "not known"
