"""The page of a report in a real browser: figures, a phone, the filter, comparisons."""

import pytest

from explorer.browsers import INSTALL, chromium
from sparsetoken.studies.report import reproduce

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
    expect(images).to_have_count(3)
    for image in images.all():
        assert image.evaluate("image => image.naturalWidth") > 400
        assert image.get_attribute("alt")
    expect(page.locator("#found figure figcaption")).to_contain_text("Figure 1. A <i>line")


def test_a_page_is_light_before_anything_is_opened(page):
    assert page.locator("table.claims").count() == 0
    assert page.evaluate("document.querySelectorAll('*').length") < 1000


def test_the_page_is_no_wider_than_the_screen(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    menu = page.locator("details.menu")
    folded = page.viewport_size["width"] == PHONE["width"]
    assert menu.evaluate("menu => menu.open") is not folded
    expect(page.locator(".verdict").first).to_be_visible()


def test_the_filter_leaves_the_claims_of_a_source(page):
    rows, shown = page.locator("tr[data-source]"), page.locator("tr[data-source]:visible")
    expect(shown).to_have_count(3)
    page.locator("#filter").select_option("Theorem")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("A <i>claim")
    page.locator("#filter").select_option("")
    expect(shown).to_have_count(rows.count())


def test_a_link_to_a_claim_opens_its_comparisons(page):
    details = page.locator("details#claim-made-up")
    page.locator("table.statements a", has_text="made-up").click()
    expect(details).to_have_attribute("open", "")
    expect(details.locator("tbody tr")).to_have_count(4)
    expect(details.locator("tbody tr").first).to_contain_text("holds")
    page.evaluate("location.hash = ''; location.hash = 'claim-made-up'")
    expect(details.locator("table")).to_have_count(1)
