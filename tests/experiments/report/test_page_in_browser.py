"""The page of a report in a real browser: numbers of figures, a phone, the filter."""

import pytest

from explorer.browsers import INSTALL, chromium
from sparsetoken.experiments.report import reproduce

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")
DESK, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def address(tmp_path_factory, fake_experiments):
    reproduction = reproduce(["alignment", "made-up"], out=tmp_path_factory.mktemp("results"))
    return reproduction.report.as_uri()


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser, request, address):
    context = browser.new_context(viewport=request.param, offline=True)
    tab, errors = context.new_page(), []
    tab.on("pageerror", lambda error: errors.append(error))
    tab.goto(address)
    yield tab
    context.close()
    assert not errors


def test_the_numbers_of_a_figure_are_a_table(page, fakes):
    details = page.locator("#numbers-alignment")
    details.locator("summary").click()
    lines = details.locator("tbody tr")
    measured = fakes["alignment"].where("simulated")
    expect(lines).to_have_count(len(measured))
    row = measured.one(quantity="cosine", alpha0=0.25)
    line = lines.filter(has_text="0.25").filter(has_text="query")
    theory = row.value - 0.001
    expect(line).to_contain_text(f"{theory:.4f}{row.value:.4f}{row.error:.4f}")


def test_a_figure_that_stands_twice_has_one_image(page):
    first, second = page.locator('#figure-alignment, [data-same="alignment"]').all()
    expect(second).to_be_visible()
    assert first.get_attribute("src") == second.get_attribute("src")
    assert first.evaluate("image => image.naturalWidth") > 400


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
    rows = page.locator("tr[data-source]")
    everything = rows.count()
    page.locator("#filter").select_option("Theorem")
    expect(page.locator("tr[data-source]:visible")).to_have_count(1)
    expect(page.locator("tr[data-source]:visible")).to_contain_text("query-alignment")
    page.locator("#filter").select_option("")
    assert page.locator("tr[data-source]:visible").count() == everything


def test_a_link_to_a_claim_opens_its_comparisons(page):
    page.evaluate("location.hash = 'claim-query-alignment'")
    details = page.locator("details#claim-query-alignment")
    expect(details).to_have_attribute("open", "")
    expect(details.locator("tbody tr")).to_have_count(8)
    expect(details.locator("tbody tr").first).to_contain_text("holds")
    page.evaluate("location.hash = ''; location.hash = 'claim-query-alignment'")
    expect(details.locator("table")).to_have_count(1)
