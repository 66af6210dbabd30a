"""The page of a report in a real browser: values under the pointer, a phone, the filter."""

import json

import pytest

from explorer.browsers import INSTALL, LAUNCH, chromium
from sparsetoken.report import reproduce

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")
DESK, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def address(tmp_path_factory, fake_experiments):
    found = reproduce(["alignment", "capacity"], out=tmp_path_factory.mktemp("results"))
    return found.report.as_uri()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=LAUNCH)
        yield found
        found.close()


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser, request, address):
    context = browser.new_context(viewport=request.param, offline=True)
    found, errors = context.new_page(), []
    found.on("pageerror", lambda error: errors.append(error))
    found.goto(address)
    yield found
    context.close()
    assert not errors


def _on_screen(page, svg, point):
    """Return where a point of a figure is on the screen, after scrolling it into view."""
    svg.evaluate(
        """(svg, [x]) => {
            svg.scrollIntoView({block: "center", behavior: "instant"});
            const scroll = svg.closest(".scroll"), box = svg.getBoundingClientRect();
            const scale = box.width / svg.viewBox.baseVal.width;
            scroll.scrollLeft = x * scale - scroll.clientWidth / 2;
        }""",
        point[:2],
    )
    box = svg.bounding_box()
    scale = box["width"] / svg.evaluate("svg => svg.viewBox.baseVal.width")
    return box["x"] + point[0] * scale, box["y"] + point[1] * scale


def test_the_pointer_finds_every_measured_value_of_a_figure(page):
    known = json.loads(page.locator("#data").text_content())["alignment"]
    svg, tip = page.locator('svg[data-figure="alignment"]'), page.locator("#tip")
    measured = [point for point in known["points"] if point[8] is not None]
    # Three loads of the reduced engine with two cosines each; real tensors share the last place.
    assert len(measured) >= 6
    expect(tip).to_be_hidden()
    for point in measured:
        page.mouse.move(*_on_screen(page, svg, point))
        expect(tip).to_be_visible()
        expect(tip).to_contain_text(f"± {point[8]}")
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]
    page.mouse.move(2, 2)
    expect(tip).to_be_hidden()


def test_a_line_says_what_it_predicts(page):
    known = json.loads(page.locator("#data").text_content())["alignment"]
    svg, tip = page.locator('svg[data-figure="alignment"]'), page.locator("#tip")
    x, y = _on_screen(page, svg, next(p for p in known["points"] if p[8] is None))
    page.mouse.move(x, y)
    expect(tip).to_contain_text("α₀ = n₀ / d = ")


def test_the_page_is_no_wider_than_the_screen(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    menu = page.locator("details.menu")
    folded = page.viewport_size["width"] == PHONE["width"]
    assert menu.evaluate("menu => menu.open") is not folded
    expect(page.locator(".verdict").first).to_be_visible()


def test_the_filter_leaves_the_claims_of_a_source(page):
    rows = page.locator("tr[data-kinds]")
    everything = rows.count()
    page.locator("#filter").select_option("Corollary")
    assert 0 <= page.locator("tr[data-kinds]:visible").count() < everything
    page.locator("#filter").select_option("")
    assert page.locator("tr[data-kinds]:visible").count() == everything


def test_a_link_to_a_claim_opens_its_comparisons(page):
    page.evaluate("location.hash = 'claim-query-alignment'")
    expect(page.locator("details#claim-query-alignment")).to_have_attribute("open", "")
