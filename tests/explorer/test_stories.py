"""The stories, step by step, on a page without a server."""

import itertools
import re

import pytest

from explorer.browsers import drawn
from explorer.small_site import walk
from sparsetoken.explorer.export import LOADS
from sparsetoken.explorer.settings import PRESETS, Settings

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
expect.set_options(timeout=60_000)  # a busy machine; nothing is judged by time


@pytest.mark.parametrize("story", PRESETS, ids=lambda story: story["name"])
def test_every_step_lies_on_the_grid_of_its_story(story):
    axes = {"alpha1": LOADS, **story["grid"]}
    start = Settings({**PRESETS[0]["settings"], **story["settings"]})
    assert story["steps"]
    for _, settings in walk(story):
        values = Settings(settings).values
        for name, value in values.items():
            assert value in axes.get(name, (start[name],)), name
    assert len(re.findall(r"\.(?=\s|$)", story["story"])) == 3  # sentences


@pytest.fixture(scope="module")
def page(browser, site):
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    found, errors = context.new_page(), []
    found.on("pageerror", lambda error: errors.append(error))
    found.goto(site[0].as_uri())
    yield found
    context.close()
    assert not errors


@pytest.mark.parametrize("story", PRESETS, ids=lambda story: story["name"])
def test_the_page_says_what_each_step_says(page, story):
    """Each step by hand, and then by its button, from the step before and from the last."""
    page.locator(f"#preset-{story['name']}").click()
    steps = page.locator("#steps li")
    expect(steps).to_have_count(len(story["steps"]))
    for i, (step, settings) in enumerate(walk(story)):
        for name in step["set"]:
            field = page.locator(f"#p-{name}")
            if isinstance(settings[name], str):
                field.select_option(settings[name])
            else:
                field.fill(f"{settings[name]:g}")
        if "quantity" in step:
            page.locator("#quantity").select_option(step["quantity"])
        told(page, steps, i, step)
    for (i, step), _ in itertools.product(reversed(list(enumerate(story["steps"]))), range(2)):
        steps.nth(i).locator("button").click()
        told(page, steps, i, step)


def told(page, steps, i, step):
    expect(steps.nth(i)).to_have_attribute("aria-current", "step")
    for words in step["see"]:
        expect(page.locator("#result")).to_contain_text(words)
        expect(steps.nth(i)).to_contain_text(words)
    # Of verdict and summary those of this step, not what was drawn before.
    assert not re.search("quick", page.locator("#verdict").inner_text())


def test_every_view_is_there_or_leads_to_a_story_that_holds_it(page):
    page.locator("#preset-default").click()
    for view in ("phase", "alignment", "capacity"):
        page.locator(f"#tab-{view}").click()
        drawn(page)
        expect(page.locator("#plot canvas, #plot svg").first).to_be_visible()
        expect(page.locator("#preset-default")).to_have_attribute("aria-pressed", "true")
    page.locator("#tab-descent").click()
    expect(page.locator("#preset-overfit")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#verdict")).to_contain_text("after step")


def test_the_address_holds_the_story(page):
    page.locator("#preset-away").click()
    page.locator("#p-alpha0").fill("10")
    expect(page).to_have_url(re.compile(r"#story=away&.*alpha0=10$"))
    page.reload()
    expect(page.locator("#query")).to_contain_text("cosine -0.31")
    expect(page.locator("#steps [aria-current]")).to_contain_text("more labels")
