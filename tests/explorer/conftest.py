"""A server, a page without one, a browser, and pages in which no script may fail."""

import pytest

from explorer.browsers import end, start
from explorer.small_site import small_site


@pytest.fixture(scope="package")
def address():
    server, url = start()
    yield url
    end(server)


@pytest.fixture(scope="package")
def site(tmp_path_factory):
    return small_site(tmp_path_factory.mktemp("site") / "new")


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    found = context.new_page()
    errors = []
    found.on("pageerror", lambda error: errors.append(error))
    yield found
    context.close()
    assert not errors
