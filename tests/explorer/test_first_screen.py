"""The bag beside the curves."""

import re

import numpy as np
import pytest

from explorer.browsers import INSTALL, chromium
from sparsetoken import SparseTokenProblem, TwoSteps
from sparsetoken.model.architectures.weights import softmax_weights
from sparsetoken.theory import align

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.skipif(chromium() is None, reason=f"no browser: {INSTALL}")
expect.set_options(timeout=60_000)  # a busy machine; nothing is judged by time


def tokens(page):
    """Return the scores and weights of the bag, and the informative tokens."""
    titles = page.locator("#tokens rect title").all_text_contents()
    found = [re.fullmatch(r"token (\d+)(, informative)?: (\w+) (.*)", title) for title in titles]
    scores, weights = (
        np.array([float(m[4]) for m in found if m[3] == kind]) for kind in ("score", "weight")
    )
    return scores, weights, {int(m[1]) for m in found if m[2]}


def test_one_bag_is_on_the_first_screen_and_moves_with_the_sliders(browser, address):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(address)
    expect(page.locator("#found")).to_contain_text("cosine 0.88")
    for place in ("#verdict", "#plot canvas", "#tokens svg", "#found"):
        expect(page.locator(place)).to_be_in_viewport(ratio=0.95)
    scores, weights, places = tokens(page)
    query = align(SparseTokenProblem(), TwoSteps(alpha0=1.0)).query
    # Scores and weights are shown to 0.005 and 0.0005, and a weight is at most sharp by 0.005 k.
    assert softmax_weights(query.sharpness * scores[None])[0] == pytest.approx(weights, abs=6e-3)
    assert weights.argmax() + 1 in places
    expect(page.locator("#found")).to_contain_text("found")

    page.locator("#p-strength").fill("4")  # the same noise, and a weaker signal
    (place,) = places
    expect(page.locator("#tokens rect title").nth(2 * place - 2)).not_to_have_text(
        f"token {place}, informative: score {scores[place - 1]:.2f}"
    )
    assert tokens(page)[2] == places
    page.locator("#p-strength").fill("5")
    page.locator("#p-alpha0").fill("0.05")
    expect(page.locator("#found")).to_contain_text("cosine 0.14")
    expect(page.locator("#found")).to_contain_text("missed")
    page.locator("#redraw").click()
    expect(page.locator("#found")).to_contain_text("Most weight")
    assert tokens(page)[0] != pytest.approx(scores, abs=0.5)
    page.locator("#kind").click()
    expect(page.locator("#found")).to_contain_text("In a negative bag there is nothing to find")
    assert tokens(page)[2] == set()
    page.close()
