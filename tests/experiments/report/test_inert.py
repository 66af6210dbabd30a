"""Texts that people bring into a report are shown as they are, and run nothing in a browser."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from broken_files import MEMBERS, write_npz
from command_line import invoke
from explorer.browsers import INSTALL, chromium
from sparsetoken.experiments import EXPERIMENTS, forecasts
from sparsetoken.experiments.core.experiment import piece
from sparsetoken.experiments.core.rows import Row

sync_api = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")

SCRIPT = "<script>window.ran = 1</script>"
IMAGE = "\"'><img src=x onerror=window.ran=1>{{7*7}}"  # as the name of a file may be


def _given(name):
    """Return made-up forecasts and measurements of a set of this name."""
    for model in forecasts.CLASSIFIERS:
        for n in (60, 120):
            at = {"set": name, "given": False, "model": model, "bags": n}
            yield Row("simulated", "test_error", 0.1, 0.005, at, "tensors", 5, 4)
            at |= {"pilot_bags": 60, "pilot": 0, "low": 0.05, "high": 0.15}
            yield Row("forecast", "test_error", 0.1, at=at)


def _forecast(bags, number, *_):
    """Do the first of the pilots of a given set alone."""
    return () if number else _given(bags.name)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of hostile files of bags, by the command line."""
    home = tmp_path_factory.mktemp("home")
    sets = home / "sets"
    sets.mkdir()
    write_npz(sets / f"broken{IMAGE}.npz", **MEMBERS["open bracket"][0])
    write_npz(sets / f"other{IMAGE}.npz").with_name("bytes\udcff.npz").write_bytes(b"junk")
    labels = np.array([SCRIPT, IMAGE, "c"] * 4)
    np.savez(sets / f"labels{IMAGE}.npz", X=np.zeros((12, 2, 2)), y=labels)
    columns = {"X": np.zeros((12, 2)), SCRIPT.replace("/", ""): labels, "y": labels}
    np.savez(sets / "columns.npz", **columns)
    rng, y = np.random.default_rng(0), np.arange(100) % 2
    np.savez(sets / f"good{IMAGE}.npz", X=rng.standard_normal((100, 2, 2)), y=y)
    out = home / f"out{IMAGE}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecasts, "forecast_pilot", _forecast)
        patch.setattr(forecasts, "measure_errors", lambda *_: ())
        fake = dataclasses.replace(
            forecasts.EXPERIMENT,
            work=lambda *_: [piece(_given, "drawn")],
            page=Path(forecasts.__file__).with_suffix(".md"),
        )
        patch.setitem(EXPERIMENTS, "forecasts", fake)
        result = invoke("reproduce", "forecasts", "--bags", sets, "--out", out, "--workers", 1)
    assert (out / "report.html").exists(), result.stderr
    assert result.stderr.count("Skipped: ") == 5
    assert "bytes\\udcff.npz" in result.stderr
    assert str(sets) not in result.stderr
    return out / "report.html"


@pytest.fixture
def page(browser):
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()


def test_the_texts_would_run_if_they_were_let(page):
    for text in (SCRIPT, f'<p title="{IMAGE}'):
        page.goto("about:blank")
        page.set_content(text)
        page.wait_for_function("window.ran === 1")


def test_no_text_runs_and_all_are_shown(page, report):
    page.goto(report.as_uri())
    for details in page.locator("details").all():
        details.evaluate("details => { details.open = true; }")  # tables are drawn then
    page.wait_for_function("document.querySelectorAll('table.claims').length >= 2")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.ran") is None
    assert page.locator("[onerror], [src=x], a[href^=javascript]").count() == 0
    assert page.locator("script").count() == 1  # that of the page
    shown = page.locator("body").inner_text()
    for name in ("good", "broken", "other", "labels"):
        assert f"{name}{IMAGE}.npz" in shown
    assert f"with the array bag; got 'arrays X, {SCRIPT.replace('/', '')}, y'" in shown
    assert "bytes\\udcff.npz" in shown
