"""What a keyboard, a screen reader, a phone and a hostile address find on the page."""

import re

import pytest

from explorer.browsers import INSTALL, chromium, drawn
from sparsetoken.explorer import PARAMETERS

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")
expect.set_options(timeout=60_000)  # a busy machine; nothing is judged by time

FOCUSABLE = """() => [...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((e) => e.checkVisibility() && e.tabIndex >= 0)
  .map((e) => e.id || e.outerHTML.slice(0, 80))"""
FOCUSED = "() => document.activeElement.id || document.activeElement.outerHTML.slice(0, 80)"


def test_tab_reaches_every_control(page, address):
    page.goto(address)
    drawn(page)
    for box in page.locator("details > summary").all():
        box.click()
    page.locator("[data-copy=csv]").click()  # shows a field of text
    page.locator("h1").click()
    page.evaluate("document.activeElement.blur()")
    expect(page.locator("#halt")).to_be_hidden()  # it is there while a solution is computed
    wanted = set(page.evaluate(FOCUSABLE))
    reached = []
    for _ in range(len(wanted) + 1):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    assert set(reached) >= wanted
    fields = {f"p-{p.name}" for p in PARAMETERS} - set(reached)
    assert {name for name in fields if not re.search("descent|network|task", name)} == {
        "p-cosine",
        "p-sharpness",
    }
    page.locator("#tab-curves").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-phase")).to_be_focused()
    expect(page.locator("#tab-phase")).to_have_attribute("aria-selected", "true")


def test_the_result_is_one_key_away_and_the_settings_stay(page, address):
    page.goto(f"{address}#strength=2&view=alignment")
    drawn(page)
    before = page.url
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#stay")).to_be_focused()
    assert page.url == before
    expect(page.locator("#p-strength")).to_have_value("2")


@pytest.mark.parametrize("view", ["curves", "phase", "descent"])
def test_a_screen_reader_hears_a_name_of_everything(page, address, view):
    page.goto(f"{address}#view={view}&length=3&descent_steps=2")
    drawn(page)
    for box in page.locator("details > summary").all():
        box.click()
    page.evaluate(
        "for (const id of ['caption', 'found']) document.getElementById(id).innerHTML = ''"
    )
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    seen, nameless = 0, []
    for node in tree:
        marks = {p["name"]: p["value"].get("value") for p in node.get("properties", [])}
        roles = ("image", "progressbar", "tablist", "group", "region", "list")
        named = marks.get("focusable") or node.get("role", {}).get("value") in roles
        if node["ignored"] or not named or node["role"]["value"] in ("RootWebArea", "group"):
            continue
        seen += 1
        if not node["name"]["value"].strip():
            nameless.append(node["role"]["value"])
    assert nameless == []
    assert seen > len(PARAMETERS)


def test_the_verdict_is_read_aloud_when_a_key_moves_a_slider(page, address):
    page.goto(address)
    expect(page.locator("#verdict")).to_contain_text("attention wins")
    assert page.locator("#verdict").get_attribute("aria-live") == "polite"
    page.evaluate("""() => {
      window.heard = [];
      const tell = () => window.heard.push(document.getElementById("verdict").textContent);
      new MutationObserver(tell).observe(document.getElementById("verdict"), { childList: true });
    }""")
    page.locator("#p-alpha0-slider").focus()
    page.keyboard.press("Home")
    expect(page.locator("#verdict")).to_contain_text("mean pooling wins")
    expect(page.locator("#progress")).to_have_text("")
    expect(page.locator("#verdict")).not_to_contain_text("quick")
    expect(page.locator("#p-alpha0-slider")).to_be_focused()
    assert page.locator("#p-alpha0-slider").get_attribute("aria-valuetext") == "0.05"
    heard = page.evaluate("window.heard")
    assert len(heard) == len(set(heard))  # nothing twice


def test_verdict_and_plot_stay_in_view_on_a_phone(browser, address):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}#descent_steps=1")
    drawn(page)
    for name in ("length", "alpha0", "beta"):
        page.locator(f"#p-{name}-slider").focus()
        for place in ("#verdict", "#plot canvas", f"#p-{name}-slider"):
            expect(page.locator(place)).to_be_in_viewport(ratio=0.99)
        hit = "e => { const b = e.getBoundingClientRect(); return e === document.elementFromPoint("
        hit += "b.x + b.width / 2, b.y + b.height / 2); }"
        assert page.locator(f"#p-{name}-slider").evaluate(hit)  # not under the plot
    page.locator("#p-alpha0-slider").focus()
    page.keyboard.press("Home")
    expect(page.locator("#verdict")).to_contain_text("mean pooling wins")
    order = ["#tab-curves", "#redraw", "#p-length", "#run"]  # the result before the form
    heights = [page.locator(place).evaluate("e => e.getBoundingClientRect().y") for place in order]
    assert heights == sorted(heights)
    page.locator("#tab-curves").focus()
    reached = []
    while "run" not in reached:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    found = [reached.index(place[1:]) for place in order[1:]]
    assert found == sorted(found)
    for view in ("curves", "descent"):
        page.locator(f"#tab-{view}").click()
        drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390  # nothing is cut off
    page.close()


SCRIPTS = (
    "<img src=x onerror=window.hit=1>",
    "\"><script>window.hit=1</script><svg onload='window.hit=1'>",
    "javascript:window.hit=1",
    "constructor",
    "__proto__",
)


def test_scripts_in_every_field_and_in_the_address_do_nothing(page, address):
    names = ["story", "view", "axis", "quantity", *(p.name for p in PARAMETERS)]
    opened = page.context.new_page()  # to which only the addresses are given
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    for script in SCRIPTS:
        quoted = "&".join(f"{name}={script}" for name in [*names, script])
        encoded = re.sub(r"[<>\"' ]", lambda c: f"%{ord(c[0]):02x}", quoted)
        for hostile in {quoted, encoded} if script == SCRIPTS[0] else {encoded}:
            opened.goto("about:blank")
            opened.goto(f"{address}#{hostile}")
            drawn(opened)
            assert opened.evaluate("window.hit") is None
    page.goto(address)
    drawn(page)
    for script in SCRIPTS[:2]:
        for field in page.locator("input[type=number]:visible").all():
            field.focus()
            page.keyboard.press("Control+A")
            page.keyboard.insert_text(script)
            field.dispatch_event("input")
        for field in page.locator("select:visible").all():
            field.evaluate(
                """(list, script) => {
              list.append(new Option(script, script, true, true));
              list.dispatchEvent(new Event("change"));
            }""",
                script,
            )  # what the page does not offer
    page.locator("#run").click()
    expect(page.locator("#simulated")).not_to_have_text("")
    expect(page.locator("[data-copy=python]")).to_be_disabled()  # of what the server refused
    page.locator("[data-copy=csv]").click()
    page.wait_for_timeout(500)  # for a picture that is not there
    assert page.evaluate("window.hit") is None
    assert page.locator("img, script[src], #result script").count() == 0


def test_what_a_server_answers_is_text(page, address):
    """Messages, whatever they hold, are never read as HTML."""
    answer = '{"error": "<img src=x onerror=window.hit=1>"}'
    page.route("**/api/**", lambda route: route.fulfill(status=400, body=answer))
    page.goto(address)
    expect(page.locator("#notes")).to_contain_text("<img src=x")
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
