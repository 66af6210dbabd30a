"""What tests share."""

import jaxtyping
import pytest

from explorer.browsers import INSTALL, LAUNCH, chromium

_SLOW = {"browser", "dask"}  # fixtures of tests that only `make test-all` runs


def pytest_collection_modifyitems(items):
    for item in items:
        if _SLOW & set(item.fixturenames):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def browser():
    """One for all pages: a second Playwright cannot start beside it in the same process."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if chromium() is None:
        pytest.skip(f"no browser: {INSTALL}")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=LAUNCH)
        yield found
        found.close()


@pytest.fixture(autouse=True)
def _annotations_are_executed(request):
    """Check arguments against annotations, but not where a test passes what they forbid.

    Those tests expect `InvalidInput`, or have the marker `unchecked`. The annotations of
    `sparsetoken.estimators.fitting` are executed in its own tests, and `make test-shapes` executes
    all in all tests: they double the time of a small fit.
    """
    everywhere = "sparsetoken.numerics" in request.config.getoption("jaxtyping_packages")
    fits = request.path.parent.name == "fitting"
    expected = "InvalidInput" in request.function.__code__.co_names
    free = expected or request.node.get_closest_marker("unchecked") is not None
    jaxtyping.config.update("jaxtyping_disable", free or not (fits or everywhere))
    yield
    jaxtyping.config.update("jaxtyping_disable", not everywhere)


@pytest.fixture
def few_fits(monkeypatch):
    """Forecasts with two thirds of their fits, where only their form is tested."""
    rounds = ((2, 1), (3, 1))
    monkeypatch.setattr("sparsetoken.forecasting.pilot._ROUNDS", rounds)
