"""The page of a report in a real browser: figures, a phone, the filter, comparisons."""

import pytest

from explorer.browsers import INSTALL, chromium
from sparsetoken.studies.reproduction import reproduce

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")
DESK, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def address(tmp_path_factory, made_up_studies):
    return reproduce(out=tmp_path_factory.mktemp("results")).report.as_uri()


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser, request, address):
    context = browser.new_context(viewport=request.param, offline=True)
    tab, errors = context.new_page(), []
    tab.on("pageerror", lambda error: errors.append(error))
    tab.goto(address)
    yield tab
    context.close()
    assert not errors


def test_all_figures_are_shown(page):
    images = page.locator("figure img")
    expect(images).to_have_count(2)
    for image in images.all():
        assert image.evaluate("image => image.naturalWidth") > 400
        assert image.get_attribute("alt")
    expect(page.locator("#found figure figcaption")).to_contain_text("Figure 1. A <i>line")


def test_the_page_is_no_wider_than_the_screen(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    expect(page.locator(".verdict").first).to_be_visible()


def test_the_filter_leaves_the_claims_of_a_kind(page):
    rows, shown = page.locator("tr[data-kind]"), page.locator("tr[data-kind]:visible")
    expect(shown).to_have_count(3)
    page.locator("#filter").select_option("of the paper")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("A <i>claim")
    page.locator("#filter").select_option("")
    expect(shown).to_have_count(rows.count())


def test_a_link_to_a_claim_opens_its_comparisons(page):
    rows = page.locator("tbody#claim-made-up tr:has(td)")
    expect(rows.first).not_to_be_visible()
    page.locator("table.statements a", has_text="made-up").click()
    expect(rows).to_have_count(4)
    expect(rows.first).to_be_visible()
    expect(rows.first).to_contain_text("holds")
