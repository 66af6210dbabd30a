"""Where the system's Chromium is."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = "apt-get install chromium, or set CHROMIUM to the path of a browser"
LAUNCH = ["--no-sandbox", "--disable-gpu"]
"""Containers run as root, where Chromium has no sandbox."""


def chromium() -> str | None:
    """Return the path of a Chromium, None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
