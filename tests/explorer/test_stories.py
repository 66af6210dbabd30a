"""The stories, step by step, on a page without a server."""

import functools
import itertools
import re

import pytest

from sparsetoken.explorer.export import LOADS, export
from sparsetoken.explorer.settings import PRESETS, Settings
from sparsetoken.theory import descend

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
expect.set_options(timeout=60_000)  # a busy machine; nothing is judged by time

FEW_LOADS = (1.0, 2.0, 4.0)


@functools.cache
def rough(problem, trained, **_):
    return descend(problem, trained, replicas=2, tolerance=0.05)


def walk(story):
    """Yield each step with the settings after it, which add up."""
    settings = {**PRESETS[0]["settings"], **story["settings"]}
    for step in story["steps"]:
        settings = {**settings, **step["set"]}
        yield step, settings


def values_of(story):
    """Return the grid of a story with no more than the values that its steps need."""
    used = [Settings(settings) for _, settings in walk(story)]
    names = {name for step in story["steps"] for name in step["set"]}
    if story["view"] not in ("descent", "networks"):
        names -= {"alpha1"}  # the grid of every point
    elif not names:
        names = {"alpha1"}
    return {name: tuple(sorted({settings[name] for settings in used})) for name in sorted(names)}


@pytest.mark.parametrize("story", PRESETS, ids=lambda story: story["name"])
def test_every_step_lies_on_the_grid_of_its_story(story):
    axes = {"alpha1": LOADS, **story["grid"]}
    start = Settings({**PRESETS[0]["settings"], **story["settings"]})
    assert story["steps"]
    for _, settings in walk(story):
        values = Settings(settings).values
        for name, value in values.items():
            assert value in axes.get(name, (start[name],)), name


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    grids = {story["name"]: values_of(story) for story in PRESETS}
    with pytest.MonkeyPatch.context() as patch:
        # No step looks at capacities or other loads, and rough results know what the steps say.
        patch.setattr("sparsetoken.explorer.export.capacity", lambda settings: [])
        patch.setattr("sparsetoken.explorer.export.LOADS", FEW_LOADS)
        patch.setattr("sparsetoken.explorer.export.TOLERANCE", 1e-2)
        patch.setattr("sparsetoken.explorer.views.descend", rough)
        path = export(tmp_path_factory.mktemp("site"), grids)
    found, errors = browser.new_page(viewport={"width": 1400, "height": 900}), []
    found.on("pageerror", lambda error: errors.append(error))
    found.goto(path.as_uri())
    yield found
    found.close()
    assert not errors


@pytest.mark.parametrize("story", PRESETS, ids=lambda story: story["name"])
def test_the_page_says_what_each_step_says(page, story):
    """Each step by hand, and then by its button, from the step before and from the last."""
    page.locator(f"#preset-{story['name']}").click()
    steps = page.locator("#steps li")
    expect(steps).to_have_count(len(story["steps"]))
    for i, (step, settings) in enumerate(walk(story)):
        for name in step["set"]:
            page.locator(f"#p-{name}").fill(f"{settings[name]:g}")
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


def test_a_view_of_another_story_leads_there(page):
    page.locator("#preset-default").click()
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
