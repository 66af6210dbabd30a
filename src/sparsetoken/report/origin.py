"""What a report was made with: machine, Python, the commit, the kernel of the linear algebra."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import threadpoolctl

__all__ = ["origin"]


def origin() -> dict[str, str]:
    """Return facts by name, none for what is not known."""
    return {
        "Python": platform.python_version(),
        "commit": _commit(),
        "machine": f"{platform.system()} {platform.machine()}",
        "linear algebra": _kernels(),
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


def _kernels() -> str:
    """Return the libraries of linear algebra that are loaded, each with its kernel."""
    found = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"]
    names = [f"{i['internal_api']} {i['version']} {i.get('architecture', '')}" for i in found]
    return ", ".join(dict.fromkeys(name.strip() for name in names)) or "none"
