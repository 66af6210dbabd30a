"""The page of a report in a real browser: values under the pointer, a phone, the filter."""

import json

import pytest

from explorer.browsers import INSTALL, chromium
from sparsetoken.experiments.report import reproduce

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")
DESK, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def address(tmp_path_factory, fake_experiments):
    found = reproduce(["alignment", "made-up"], out=tmp_path_factory.mktemp("results"))
    return found.report.as_uri()


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser, request, address):
    context = browser.new_context(viewport=request.param, offline=True)
    found, errors = context.new_page(), []
    found.on("pageerror", lambda error: errors.append(error))
    found.goto(address)
    yield found
    context.close()
    assert not errors


FIGURE = '[data-figure="alignment"]'


def _known(page):
    """Return the points of the figure as (series, point)."""
    known = json.loads(page.locator("#data").text_content())["alignment"]
    return [(series, point) for series in known for point in series["points"]]


def _on_screen(page, drawing, point):
    """Return where a point of a figure is on the screen, after scrolling it into view."""
    drawing.evaluate(
        """(drawing, [x]) => {
            drawing.scrollIntoView({block: "center", behavior: "instant"});
            const image = drawing.querySelector("img");
            const scale = image.clientWidth / image.getAttribute("width");
            drawing.scrollLeft = x * scale - drawing.clientWidth / 2;
        }""",
        point[:2],
    )
    image = drawing.locator("img")
    box, width = image.bounding_box(), float(image.get_attribute("width"))
    scale = box["width"] / width
    return box["x"] + point[0] * scale, box["y"] + point[1] * scale


def test_the_pointer_finds_every_measured_value_of_a_figure(page):
    drawing, tip = page.locator(FIGURE).first, page.locator("#tip")
    measured = [point for series, point in _known(page) if series["mark"] == "point"]
    # Three loads of the reduced engine with two cosines each; real tensors share the last place.
    assert len(measured) >= 6
    expect(tip).to_be_hidden()
    for point in measured:
        page.mouse.move(*_on_screen(page, drawing, point))
        expect(tip).to_be_visible()
        expect(tip).to_contain_text(f"± {point[4]}")
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]
    page.mouse.move(2, 2)
    expect(tip).to_be_hidden()


def test_the_keyboard_goes_from_value_to_value(page):
    drawing, tip = page.locator(FIGURE).first, page.locator("#tip")
    points = [(series, p) for series, p in _known(page) if series["mark"] == "point"]
    drawing.focus()
    for series, point in points[:3]:
        page.keyboard.press("ArrowRight")
        expect(tip).to_contain_text(f"{series['x']} = {point[2]:g}")
        expect(tip).to_contain_text(f"± {point[4]}")
    page.keyboard.press("ArrowLeft")
    expect(tip).to_contain_text(f"= {points[1][1][3]}")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_a_line_says_what_it_predicts(page):
    drawing, tip = page.locator(FIGURE).first, page.locator("#tip")
    x, y = _on_screen(page, drawing, next(p for s, p in _known(page) if s["mark"] == "line"))
    page.mouse.move(x, y)
    expect(tip).to_contain_text("α₀ = n₀ / d = ")


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
    rows = page.locator("tr[data-kinds]")
    everything = rows.count()
    page.locator("#filter").select_option("Corollary")
    assert 0 <= page.locator("tr[data-kinds]:visible").count() < everything
    page.locator("#filter").select_option("")
    assert page.locator("tr[data-kinds]:visible").count() == everything


def test_a_link_to_a_claim_opens_its_comparisons(page):
    page.evaluate("location.hash = 'claim-query-alignment'")
    details = page.locator("details#claim-query-alignment")
    expect(details).to_have_attribute("open", "")
    expect(details.locator("tbody tr")).to_have_count(8)
    expect(details.locator("tbody tr").first).to_contain_text("holds")
    page.evaluate("location.hash = ''; location.hash = 'claim-query-alignment'")
    expect(details.locator("table")).to_have_count(1)
