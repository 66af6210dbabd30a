"""The system's Chromium, and the server that it opens."""

import json
import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = "apt-get install chromium, or set CHROMIUM to the path of a browser"
LAUNCH = ["--no-sandbox", "--disable-gpu"]
"""Containers run as root, where Chromium has no sandbox."""


def chromium() -> str | None:
    """Return the path of a Chromium, None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


COARSER = """
import functools
from sparsetoken.cli import main
from sparsetoken.explorer import training, views
views.LOADS, views.BAYES_LOADS = views.LOADS[::10], views.LOADS[10:11]
views.MODELS = "attention", "pooled"
views.PHASE_LOADS, views.BAYES_POINTS, training.BAYES_POINTS = views.PHASE_LOADS[::3], 64, 64
views.PHASE_AXES = {name: values[::3] for name, values in views.PHASE_AXES.items()}
views.VIEWS["descent"] = functools.partial(training.descent, replicas=(2,))
main()
"""
"""The explorer with a tenth of its exact results, so that a page has settled soon."""


def start():
    """Return a server and its address."""
    command = [sys.executable, "-c", COARSER, "explore", "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text = ""
    while not text.rstrip().endswith("}"):
        text += server.stdout.readline()
    return server, json.loads(text)["url"]


def end(server):
    """Stop a server."""
    server.terminate()
    server.communicate()


def drawn(page):
    """Wait until the headline is that of the present settings, quick or exact."""
    page.locator("#verdict:not(.stale)").wait_for(timeout=60_000)  # a busy machine
