"""The page in a real browser: every control, every view, and what can go wrong."""

import csv
import re
import threading
from xml.etree import ElementTree

import pytest

import sparsetoken as st
from explorer.browsers import INSTALL, chromium, drawn
from sparsetoken.explorer import PARAMETERS

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")
expect.set_options(timeout=60_000)  # a busy machine; nothing is judged by time

SETTLED = """document.addEventListener("explorer:settled", (event) => {
  document.documentElement.dataset.settled = event.detail.view; })"""


MOVED = """(state) => new Promise((done) => {
  addEventListener("hashchange", () => done(), { once: true });
  location.hash = state;
})"""


def opened(page, view):
    """Open a view by its tab, and wait until all that it shows is exact."""
    page.evaluate("delete document.documentElement.dataset.settled")
    page.locator(f"#tab-{view}").click()
    page.locator(f"html[data-settled={view}]").wait_for(timeout=60_000)  # a busy machine
    drawn(page)
    return page.locator("#verdict").inner_text()


def table(page):
    """Return the rows of what is shown."""
    page.locator("[data-copy=csv]").click()
    return list(csv.DictReader(page.locator("#text").input_value().splitlines()))


def test_a_newcomer_finds_when_attention_beats_pooling(page, address):
    """The path of docs/explorer.md."""
    page.goto(address)
    expect(page.locator("#verdict")).to_contain_text("attention wins")
    page.locator("#p-alpha0").fill("0.05")
    expect(page.locator("#verdict")).to_contain_text("mean pooling wins")
    told = "With 2 labelled bags per dimension for the readout, and 0.05 more for its query, att"
    expect(page.locator("#verdict")).to_contain_text(told)
    page.locator("#p-alpha0").fill("3")
    expect(page.locator("#verdict")).to_contain_text("attention wins")
    page.locator("#preset-loses").click()
    expect(page.locator("#summary")).to_contain_text("mean pooling")
    expect(page.locator("#plot rect").first).to_be_visible()
    expect(page.locator("h1")).to_have_text("Where does which model win?")


def test_every_control_changes_the_address_and_a_reload_keeps_it(page, address):
    page.goto(f"{address}#query=given")
    drawn(page)
    page.locator("details.group > summary").first.click()
    moved = set()
    heads, gated = "view=descent&network=heads", "view=descent&network=gated&task=majority"
    for state in ("query=given&else=1", heads, gated, "view=descent&network=self_attention"):
        page.evaluate(MOVED, state)
        drawn(page)
        for parameter in PARAMETERS:
            name, field = parameter.name, page.locator(f"#p-{parameter.name}")
            if name in moved or name in ("query", "network", "task") or not field.is_visible():
                continue
            moved.add(name)
            if parameter.choices:
                field.select_option(parameter.choices[1])
            else:
                page.locator(f"#p-{name}-slider").focus()
                page.keyboard.press("ArrowRight")
                value = float(field.input_value())
                assert parameter.default < value < parameter.range.most
            expect(page).to_have_url(re.compile(f"[#&]{name}="))
    chosen = {"query", "network", "task"}
    steps = {"alpha0", "eta_w", "eta_b", "eta_q"}  # a given query needs none
    assert moved == {p.name for p in PARAMETERS} - chosen - steps
    page.locator("#tab-alignment").click()
    page.locator("#p-query").select_option("given")
    # The view is of a query that steps find, whatever is given.
    for name in steps | {"cosine", "sharpness"}:
        expect(page.locator(f"#p-{name}")).to_be_visible()
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
        expect(page.locator("#old")).to_contain_text("last legal settings")
        for place in ("#verdict", "#plot", "#bag"):
            dim = page.locator(place).evaluate("e => Number(getComputedStyle(e).opacity)")
            assert dim < 0.5
        page.locator(f"#p-{name}").fill({"strength": "5", "length": "10", "informative": "1"}[name])
        expect(page.locator(f"#p-{name}-error")).to_be_empty()
        expect(page.locator("#old")).to_have_text("")
    assert page.locator("#bag").evaluate("e => Number(getComputedStyle(e).opacity)") == 1
    page.goto(f"{address}#strength=-3&loss=nothing&view=none&length=1e9&else=1&$a$=1")
    expect(page.locator("#verdict")).to_have_text(re.compile(re.escape(before[:40])))
    for told in (
        "This link is not shown as it is written.",
        "The view “none” is not known; “Learning curves” is used.",
        "Signal strength θ = “-3”: a number from 0 to 12 is needed; 5 is used.",
        "Tokens in a bag L = “1e9”: a whole number from 2 to 100 is needed; 10 is used.",
        "Loss ℓ = “nothing”: one of logistic, square, squared hinge, hinge is needed; “logistic”",
        "Not known, and left out: “else”, “＄a＄”.",
    ):
        expect(page.locator("#link")).to_contain_text(told)
    page.locator("#p-strength").fill("4")
    expect(page.locator("#link")).to_be_hidden()


def test_a_link_with_fewer_tokens_than_its_story_has_informative_ones_says_so(page, address):
    page.goto(f"{address}#story=away&view=curves&length=2")
    expect(page.locator("#link")).to_contain_text("more than L = 2; 1 is used")
    expect(page.locator("#p-informative")).to_have_value("1")
    page.goto(f"{address}#story=away&view=curves&length=2&informative=2")
    expect(page.locator("#p-informative")).to_have_value("2")
    expect(page.locator("#link")).to_be_hidden()


def test_a_small_ridge_is_shown_whole(page, address):
    page.goto(f"{address}#story=paper&length=3")
    expect(page.locator("#p-ridge")).to_have_value("1e-5")
    page.locator("#p-ridge").fill("0.00002")
    expect(page).to_have_url(re.compile("ridge=0.00002"))
    page.locator("#p-strength").fill("4")
    expect(page.locator("#p-ridge")).to_have_value("2e-5")


def test_advice_has_symbols_and_words(page, address):
    page.goto(f"{address}#story=away")
    advice = page.locator("#query .advice")
    told = "a larger ηb (step size of the bias), π (rate of positives) or strength"
    expect(advice).to_contain_text(told)
    expect(advice.locator("sub")).to_have_text("b")


def test_the_exact_solution_can_be_stopped_and_solved_again(page, address):
    left = threading.Event()
    page.goto(f"{address}#length=3")
    drawn(page)
    expect(page.locator("#halt")).to_be_hidden()
    page.on("requestfailed", lambda request: left.set())
    page.route("**/api/view/**", lambda route: None)  # never answered
    page.locator("#p-strength").fill("4")
    page.locator("#halt").click()
    expect(page.locator("#progress")).to_contain_text("Stopped: what is dashed is approximate")
    expect(page.locator("#halt")).to_be_hidden()
    expect(page.locator("#solving")).to_be_hidden()
    page.wait_for_timeout(0)  # events of the page are handled
    assert left.is_set()
    page.unroute("**/api/view/**")
    expect(page.locator("#verdict")).to_contain_text("(quick)")
    page.locator("#again").click()
    expect(page.locator("#progress")).to_have_text("")
    expect(page.locator("#again")).to_be_hidden()
    expect(page.locator("#verdict")).not_to_contain_text("quick")


def test_a_loss_that_a_descent_does_not_take_is_named_in_words(page, address):
    page.goto(f"{address}#view=descent&loss=hinge&length=3")
    expect(page.locator("#verdict")).to_have_text(
        "There is no result at these settings; the note below says why."
    )
    expect(page.locator("#notes")).to_contain_text("use squared hinge or logistic")
    page.locator("[data-save=png]").click()
    expect(page.locator("#copied")).to_have_text("There is no picture yet.")


def told_of_curves(page, said):
    assert "for the readout and a given query, attention" in said
    assert {row["model"] for row in table(page)} == {"attention", "pooled", "bayes"}


def told_of_phase(page, said):
    total, *counts = map(int, re.findall(r"\d+", page.locator("#summary").inner_text()))
    assert total == sum(counts) == 16
    models = ("attention", "mean pooling", "concatenated tokens")
    errors = {m: float(re.search(rf"{m}(?: misclassifies)? ([\d.]+)%", said)[1]) for m in models}
    assert f"{min(errors, key=errors.get)} wins." in said
    assert "quick" not in said


def told_of_alignment(page, said):
    last = table(page)[-1]
    assert f"up to {float(last['alpha0']):.3g} labelled bags" in said or "reaches" in said


def told_of_capacity(page, said):
    assert "the training set is separable for mean pooling" in said
    assert "A readout with ridge 0.83 can still make mistakes on it." in said


def told_of_descent(page, said):
    assert "all weights trained together on 1 labelled bag per dimension:" in said
    rows = table(page)
    assert {row["network"] for row in rows} == {"softmax", "pooled"}
    errors = [float(row["test_error"]) for row in rows if row["network"] == "softmax"]
    pooled = [float(row["test_error"]) for row in rows if row["network"] == "pooled"]
    best = int(re.search(r"least after step (\d+)", said)[1])
    assert errors[best] == min(errors)
    shown = [float(number) for number in re.findall(r"([\d.]+)%", said)]
    expected = [100 * errors[best], 100 * errors[-1], 100 * min(pooled)]
    if len(shown) == 2:  # the last step is the best
        del expected[1]
    assert shown == pytest.approx(expected, rel=0.06)  # two digits
    expect(page.locator("#query")).to_be_hidden()  # its query is another
    assert "Bayes-optimal error" in page.locator(".legend").inner_text()


def test_every_view_has_its_headline_and_shows_its_numbers_as_text_too(page, address):
    page.add_init_script(SETTLED)
    small = "length=3&alpha1=1&loss=square&ridge=0.83&descent_steps=3&query=given&network_heads=1"
    page.goto(f"{address}#{small}")
    drawn(page)
    page.locator("#numbers summary").click()
    questions = set()
    for view, told in {
        "phase": told_of_phase,
        "curves": told_of_curves,
        "alignment": told_of_alignment,
        "capacity": told_of_capacity,
        "descent": told_of_descent,
    }.items():
        said = opened(page, view)
        questions.add(page.locator("h1").inner_text())
        expect(page.locator("#progress")).to_have_text("")
        expect(page.locator("#plot canvas, #plot svg").first).to_be_visible()
        told(page, said)
        assert len(table(page)) + 1 == page.locator("#table tr").count() > 3
        with page.expect_download() as download:
            page.locator("[data-save=png]").click()
        assert download.value.path().read_bytes().startswith(b"\x89PNG")
        with page.expect_download() as download:
            page.locator("[data-save=svg]").click()
        (*words,) = ElementTree.parse(download.value.path()).getroot().itertext()
        kept = "".join(words)
        assert "L\u00a0=\u00a03" in kept
        assert f"sparsetoken {st.__version__}" in kept
        for entry in page.locator("#plot .legend span").all():
            assert entry.inner_text() in words
    assert len(questions) == 5
    titles = page.locator("#presets button").all_text_contents()
    assert not re.search(r"\b(two|three|four|five)\b", " ".join(titles), re.IGNORECASE)


def test_another_task_has_its_own_settings_errors_and_overlaps(page, address):
    page.goto(f"{address}#view=descent&descent_steps=3&alpha1=1&task=single_location_regression")
    expect(page.locator("#verdict")).to_contain_text("Single-location regression")
    expect(page.locator("#progress")).to_have_text("")
    for name, visible in {"strength": False, "loss": False, "descent_overlap": True}.items():
        assert page.locator(f"#p-{name}").is_visible() == visible
    errors = [float(row["test_error"]) for row in table(page) if row["network"] == "softmax"]
    said = page.locator("#verdict").inner_text()
    least = float(re.search(r"least after step \d, ([\d.]+)", said)[1])
    assert least == pytest.approx(min(errors), abs=6e-3)  # as rounded
    page.locator("#quantity").select_option("overlaps")
    expect(page.locator(".legend")).to_contain_text("q · place")
    expect(page.locator("#summary")).to_contain_text("the query has its largest overlap with place")


def test_the_code_of_the_server_is_copied(page, address):
    page.goto(f"{address}#length=3")
    for view, call in {"alignment": "st.align(", "descent": "st.descend("}.items():
        page.locator(f"#tab-{view}").click()
        expect(page.locator("[data-copy=python]")).to_be_enabled()
        page.locator("[data-copy=python]").click()
        code = page.locator("#text").input_value()
        assert "problem = st.SparseTokenProblem(length=3)" in code
        assert call in code


def test_a_bag_in_training_plays_and_can_be_paused(page, address):
    page.goto(f"{address}#view=descent&length=3&descent_steps=3")
    at, button = page.locator("#at"), page.locator("#play")
    expect(at).to_have_text("step 3 of 3")  # it has played
    expect(button).to_have_text("Play")
    last = page.locator("#tokens rect title").all_text_contents()
    button.click()
    button.click()
    expect(button).to_have_text("Play")
    before = at.inner_text()
    assert before != "step 3 of 3"
    page.wait_for_timeout(1500)  # more than two steps
    expect(at).to_have_text(before)
    page.locator("#step").fill("3")
    expect(page.locator("#tokens rect title")).to_have_text(last)
    page.locator("#redraw").click()
    expect(page.locator("#tokens rect title")).not_to_have_text(last)


def test_there_is_nothing_to_play_before_the_first_trajectory(page, address):
    page.goto(f"{address}#view=descent&length=3&descent_steps=3")
    expect(page.locator("#at")).to_have_text("step 3 of 3")
    page.route("**/api/view/**", lambda route: None)  # never answered
    page.locator("#p-network").select_option("gated")
    expect(page.locator("#found")).to_contain_text("as soon as the first trajectory is known")
    expect(page.locator("#play")).to_be_disabled()
    expect(page.locator("#step")).to_be_disabled()


def test_nothing_moves_for_those_who_ask_for_that(browser, address):
    page = browser.new_page(reduced_motion="reduce")
    page.add_init_script("""window.plays = 0;
      const repeat = window.setInterval;
      window.setInterval = (...given) => { window.plays += 1; return repeat(...given); };""")
    page.goto(f"{address}#view=descent&length=3&descent_steps=3")
    page.locator("#tokens rect").first.wait_for()
    expect(page.locator("#at")).to_have_text("step 3 of 3")
    assert page.evaluate("window.plays") == 0
    page.locator("#play").click()
    assert page.evaluate("window.plays") == 1
    page.close()


def test_many_quick_moves_end_with_the_last(page, address):
    page.goto(address)
    drawn(page)
    expect(page.locator("#verdict")).not_to_contain_text("quick")
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


def test_what_was_copied_and_simulated_goes_with_a_move_and_another_view(page, address):
    for move in (
        lambda: page.locator("#p-strength").fill("4"),
        lambda: page.locator("#tab-alignment").click(),
        lambda: page.locator("#preset-bags").click(),
    ):
        page.goto(f"{address}#length=3")
        page.reload()
        drawn(page)
        page.locator("#trials").fill("2")
        page.locator("#dimension").fill("20")
        page.locator("#run").click()
        expect(page.locator("#simulated")).to_contain_text("16 of 16 trials")
        page.locator("[data-copy=csv]").click()
        expect(page.locator("#copied")).not_to_have_text("")
        move()
        expect(page.locator("#text")).to_be_hidden()
        for place in ("#copied", "#simulated"):
            expect(page.locator(place)).to_have_text("")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_a_step_of_a_story_brings_its_curve_and_its_slider_into_view(
    browser, address, width, height
):
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(address)
    for story, step, names in (
        ("default", 2, ["alpha0"]),
        ("loses", 3, ["strength", "alpha0"]),
        ("away", 3, ["eta_b"]),
        ("bags", 2, ["bag_effect"]),
        ("overfit", 2, ["alpha1"]),
    ):
        page.evaluate("scrollTo(0, 0)")
        page.locator(f"#preset-{story}").click()
        page.locator("#steps button").nth(step - 1).click()
        drawn(page)
        for place in ("#steps [aria-current]", "#verdict", *(f"#p-{n}-slider" for n in names)):
            expect(page.locator(place)).to_be_in_viewport(ratio=0.9)
        expect(page.locator("#plot canvas, #plot svg").first).to_be_in_viewport(ratio=0.9)
        for name in names:  # not under the plot
            hit = "e => { const b = e.getBoundingClientRect(); return e === "
            hit += "document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2); }"
            assert page.locator(f"#p-{name}-slider").evaluate(hit)
        shown = page.locator(".control.named input[type=range]").evaluate_all(
            "l => l.map(e => e.id)"
        )
        assert {f"p-{name}-slider" for name in names} <= set(shown)
    page.close()


def test_a_server_that_stops_is_told_and_one_that_is_back_goes_on(page, address):
    page.goto(address)
    drawn(page)
    before = page.locator("#verdict").inner_text()
    page.route("**/api/**", lambda route: route.abort())
    page.locator("#p-strength").fill("1")
    expect(page.locator("#notes")).to_contain_text("The server does not answer.")
    expect(page.locator("#notes")).to_have_attribute("role", "alert")
    page.route("**/api/view/**", lambda route: route.fulfill(body='{"kind": "working"}\n'))
    page.unroute("**/api/**")
    expect(page.locator("#notes")).to_contain_text("The server stopped in the middle.")
    page.unroute("**/api/view/**")
    expect(page.locator("#notes")).to_have_text("")  # without a move
    expect(page.locator("#verdict")).not_to_have_text(before)
    expect(page.locator("#verdict")).not_to_contain_text("quick")
