"""The page in a real browser: every control, every view, and what can go wrong."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import sparsetoken as st
from explorer.browsers import INSTALL, chromium, drawn, end, start
from sparsetoken.explorer import PARAMETERS

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")
expect.set_options(timeout=60_000)  # a busy machine; nothing is judged by time


def test_a_newcomer_finds_when_attention_beats_pooling(page, address):
    """The path of docs/explorer.md."""
    page.goto(address)
    expect(page.locator("#verdict")).to_contain_text("attention wins")
    page.locator("#p-alpha0").fill("0.05")
    expect(page.locator("#verdict")).to_contain_text("mean pooling wins")
    page.locator("#p-alpha0").fill("3")
    expect(page.locator("#verdict")).to_contain_text("attention wins")
    page.locator("#preset-loses").click()
    expect(page.locator("#summary")).to_contain_text("mean pooling")
    expect(page.locator("#plot rect").first).to_be_visible()
    page.locator("#tab-bag").click()
    expect(page.locator("#verdict")).to_contain_text("of the weight")


def test_every_control_changes_the_address_and_a_reload_keeps_it(page, address):
    page.goto(f"{address}#query=given")
    drawn(page)
    for box in page.locator("details.group > summary").all():
        box.click()
    hidden = {"alpha0", "eta_w", "eta_b", "eta_q"}  # a given query needs no steps
    for parameter in PARAMETERS:
        name = parameter.name
        if name in hidden or name == "query":
            continue
        if parameter.choices:
            page.locator(f"#p-{name}").select_option(parameter.choices[1])
        else:
            page.locator(f"#p-{name}-slider").focus()
            page.keyboard.press("ArrowRight")
            value = float(page.locator(f"#p-{name}").input_value())
            assert parameter.default < value < parameter.range.most
        expect(page).to_have_url(re.compile(f"[#&]{name}="))
    values = [page.locator(f"#p-{p.name}").input_value() for p in PARAMETERS]
    page.reload()
    drawn(page)
    assert [page.locator(f"#p-{p.name}").input_value() for p in PARAMETERS] == values


def test_wrong_input_is_told_and_changes_nothing(page, address):
    page.goto(address)
    drawn(page)
    before = page.locator("#verdict").inner_text()
    for name, wrong in (
        ("strength", "-3"),
        ("strength", ""),
        ("length", "2.5"),
        ("informative", "11"),
    ):
        page.locator(f"#p-{name}").fill(wrong)
        expect(page.locator(f"#p-{name}-error")).not_to_be_empty()
        expect(page.locator(f"#p-{name}")).to_have_attribute("aria-invalid", "true")
        page.locator(f"#p-{name}").fill({"strength": "5", "length": "10", "informative": "1"}[name])
        expect(page.locator(f"#p-{name}-error")).to_be_empty()
    page.goto(f"{address}#strength=-3&loss=nothing&view=none&length=1e9&else=1")
    expect(page.locator("#verdict")).to_have_text(re.compile(re.escape(before[:40])))


@pytest.mark.parametrize(
    "view", ["curves", "phase", "alignment", "capacity", "descent", "networks", "bag"]
)
def test_every_view_shows_its_numbers_as_text_too(page, address, view):
    small = "length=3&alpha1=1&loss=square&descent_steps=3&query=given"
    page.goto(f"{address}#{small}")
    drawn(page)
    page.locator(f"#tab-{view}").click()
    page.locator("#numbers summary").click()
    expect(page.locator("#table tr").nth(3)).to_be_visible()  # the view before is gone
    expect(page.locator("#progress")).to_have_text("")
    expect(page.locator("#verdict:not(.stale)")).not_to_be_empty()
    expect(page.locator("#plot canvas, #plot svg").first).to_be_visible()
    page.locator("[data-copy=csv]").click()
    lines = page.locator("#text").input_value().splitlines()
    assert len(lines) == page.locator("#table tr").count()
    for kind in ("svg", "png"):
        with page.expect_download() as download:
            page.locator(f"[data-save={kind}]").click()
        start_of_file = download.value.path().read_bytes()[:8]
        assert start_of_file.startswith(b"<svg" if kind == "svg" else b"\x89PNG")


SETTLED = """document.addEventListener("explorer:settled", () => {
  document.documentElement.dataset.settled = "yes"; })"""


def settled(page, address):
    """Open an address and wait until all that it shows is exact."""
    page.add_init_script(SETTLED)
    page.goto("about:blank")  # the next page is a new one
    page.goto(address)
    page.locator("html[data-settled]").wait_for(timeout=60_000)  # a busy machine
    drawn(page)


def test_headlines_say_what_their_view_shows(page, address):
    def opened(state):
        settled(page, f"{address}#length=3&alpha1=1&{state}")
        return page.locator("#verdict").inner_text()

    def table():
        page.locator("[data-copy=csv]").click()
        return [line.split(",") for line in page.locator("#text").input_value().splitlines()[1:]]

    said = opened("view=descent&descent_steps=12")
    assert said.startswith("With all weights trained together on 1 labelled bag per dimension,")
    errors = [float(row[1]) for row in table()]
    best = int(re.search(r"least after step (\d+)", said)[1])
    shown = [float(number) for number in re.findall(r"([\d.]+)%", said)]
    expected = [errors[best], errors[-1]][: len(shown)]
    assert errors[best] == min(errors)
    assert shown == pytest.approx([100 * error for error in expected], rel=0.06)  # two digits
    assert len(shown) == 1 or shown[0] < shown[1]
    expect(page.locator("#query")).to_be_hidden()  # its query is another
    expect(page.locator("#bag")).to_be_hidden()

    said = opened("view=capacity&ridge=0.83&query=given")
    assert "the training set is separable for mean pooling" in said
    assert "A readout with ridge 0.83 can still make mistakes on it." in said

    said = opened("view=networks&descent_steps=2&network_heads=1")
    shown = {row[0] for row in table()}
    assert shown == {"softmax", "gated", "self_attention"}
    assert said.count("%") == len(shown)
    titles = page.locator("#presets button").all_text_contents()
    assert not re.search(r"\b(two|three|four|five)\b", " ".join(titles), re.IGNORECASE)


def test_the_labels_of_the_query_are_counted_too(page, address):
    page.goto(f"{address}#alpha0=0.5")
    told = (
        "With 2 labelled bags per dimension for the readout, and 0.5 more for its query, attention"
    )
    expect(page.locator("#verdict")).to_contain_text(told)
    page.goto(f"{address}#query=given")
    expect(page.locator("#verdict")).to_contain_text("for the readout and a given query, attention")


def test_the_winner_and_the_ties_of_the_map_are_counted(page, address):
    settled(page, f"{address}#view=phase&length=3&query=given&loss=square")
    total, *counts = map(int, re.findall(r"\d+", page.locator("#summary").inner_text()))
    assert total == sum(counts) == 36
    said = page.locator("#verdict").inner_text()
    models = ("attention", "mean pooling", "concatenated tokens")
    errors = {m: float(re.search(rf"{m}(?: misclassifies)? ([\d.]+)%", said)[1]) for m in models}
    assert f"{min(errors, key=errors.get)} wins." in said


@pytest.mark.parametrize(
    "state",
    [
        "",
        "#query=given&loss=square",
        "#bag_effect=1&spectrum=0.5",
        "#view=alignment",
        "#view=networks&length=3&descent_steps=1",
    ],
)
def test_copied_python_says_what_the_page_says(page, address, state, monkeypatch):
    course = SimpleNamespace(test_error=0.1, best_step=0)  # which is slow to find
    monkeypatch.setattr(st, "descend", lambda problem, descent, **_: course)
    page.goto(address + state)
    drawn(page)
    page.locator("[data-copy=python]").click()
    source = page.locator("#text").input_value()
    names = {}
    exec(source.replace("np.geomspace(0.25, 10, 21)", "2.0"), names)
    if "bag_effect" in state:  # the theory of which takes long
        assert names["problem"].tokens.between is not None
    elif "readout" in names:
        error = st.predict(
            names["problem"], st.Attention(names["query"]), names["readout"]
        ).test_error
        expect(page.locator("#verdict")).not_to_contain_text("quick")
        text = page.locator("#verdict").inner_text()
        said = float(re.search(r"attention misclassifies ([\d.]+)%", text)[1])
        assert said == pytest.approx(100 * error, rel=0.06)  # two digits are shown
    page.locator("[data-copy=command]").click()
    assert page.locator("#text").input_value().startswith(("sparsetoken ", "# Tokens"))


def test_many_quick_moves_end_with_the_last(page, address):
    page.goto(address)
    drawn(page)
    first = page.locator("#verdict").inner_text()
    last = page.evaluate("""async () => {
      const slider = document.getElementById("p-strength-slider");
      for (let i = 0; i < 30; i += 1) {
        slider.value = 40 + i;
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return document.getElementById("p-strength").value;
    }""")
    assert float(last) == pytest.approx(69 * 12 / 200, abs=0.01)
    expect(page.locator("#verdict")).not_to_have_text(first)
    expect(page.locator("#verdict")).not_to_contain_text("quick")
    said = page.locator("#verdict").inner_text()
    page.goto(f"{address}#strength={last}")
    page.reload()
    expect(page.locator("#verdict")).to_have_text(said)


def test_a_simulation_streams_and_can_be_stopped(page, address):
    page.goto(f"{address}#length=3")
    drawn(page)
    page.locator("#trials").fill("1")
    page.locator("#run").click()
    expect(page.locator("#simulated")).to_contain_text("whole number")
    page.locator("#trials").fill("64")
    page.locator("#dimension").fill("60")
    page.locator("#run").click()
    expect(page.locator("#simulated")).to_contain_text("of 512 trials")
    page.locator("#stop").click()
    expect(page.locator("#simulated")).to_contain_text("Stopped")
    expect(page.locator("#run")).to_be_visible()
    page.locator("#trials").fill("2")
    page.locator("#run").click()
    expect(page.locator("#simulated")).to_contain_text("16 of 16 trials")


def test_a_server_that_stops_is_told_and_one_that_is_back_goes_on(browser):
    server, url = start()
    page = browser.new_page()
    page.goto(url)
    drawn(page)
    end(server)
    page.locator("#p-strength").fill("1")
    expect(page.locator("#notes")).to_contain_text("server")
    expect(page.locator("#notes")).to_have_attribute("role", "alert")
    before = page.locator("#verdict").inner_text()
    server, again = start(url.rstrip("/").rpartition(":")[2])
    assert again == url
    expect(page.locator("#notes")).to_have_text("")  # without a move
    expect(page.locator("#verdict")).not_to_have_text(before)
    drawn(page)
    end(server)
    page.close()


def test_weights_of_a_bag_are_those_of_the_library(page, address):
    from sparsetoken.model.architectures.weights import softmax_weights

    page.goto(f"{address}#view=bag&query=given&cosine=0.7&sharpness=1.5")
    drawn(page)
    page.locator("[data-copy=csv]").click()
    rows = [line.split(",") for line in page.locator("#text").input_value().splitlines()[1:]]
    scores, weights = np.array([[float(row[2]), float(row[3])] for row in rows]).T
    assert softmax_weights(1.5 * scores[None])[0] == pytest.approx(weights)
    page.locator("#turn-cosine").fill("-0.5")
    expect(page).to_have_url(re.compile("cosine=-0.5"))
    expect(page.locator("#caption")).to_contain_text("-0.50")
    first = page.locator("#plot title").first
    before = first.text_content()
    page.locator("#another").click()
    expect(first).not_to_have_text(before)
    page.locator("#kind").click()
    expect(page.locator("#caption")).to_contain_text("negative")


def test_the_exported_page_works_from_a_file(page, tmp_path):
    from sparsetoken.explorer.export import export

    grids = {"default": {"length": (3, 6)}}
    page.goto(export(tmp_path, grids).as_uri())
    expect(page.locator("#verdict")).to_contain_text("attention wins")
    before = page.locator("#verdict").inner_text()
    page.locator("#p-length-slider").fill("0")
    expect(page.locator("#verdict")).not_to_have_text(before)
    for view in ("phase", "alignment", "capacity", "bag"):
        page.locator(f"#tab-{view}").click()
        drawn(page)
        expect(page.locator("#plot canvas, #plot svg").first).to_be_visible()
    page.locator("#numbers summary").click()
    page.locator("[data-copy=csv]").click()
    assert len(page.locator("#text").input_value().splitlines()) == 1 + 3  # tokens
    page.locator("#tab-descent").click()  # of which this page holds no results
    expect(page.locator("#tab-curves")).to_have_attribute("aria-selected", "true")
