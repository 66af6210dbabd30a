"""Names in the pages lead to the lines of the functions that they name."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="installed without the documentation")


@pytest.fixture(scope="module")
def links():
    spec = importlib.util.spec_from_file_location("source_links", DOCS / "source_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_equation_leads_to_the_line_of_its_function(links):
    from sparsetoken.theory import ridgeless

    _, line = inspect.getsourcelines(ridgeless.ridgeless_stage)
    found = links.linked("see `interpolation-threshold`.", "theorists")
    assert f'<a href="code/theory/ridgeless.html#line-{line}">' in found


def test_a_file_with_a_function_leads_there_and_code_blocks_stay(links):
    text = "| `theory/readout/means.py`, `LossMeans.at` |\n```\n`capacity`\n```\n"
    found = links.linked(text, "reference/x")
    line, _ = links.definitions("theory/readout/means.py")["LossMeans.at"]
    assert f'"../code/theory/readout/means.html#line-{line}"' in found
    assert "```\n`capacity`\n```" in found
    with pytest.raises(KeyError):
        links.linked("`theory/readout/means.py`, `nothing`", "x")


def test_underscores_of_a_link_are_not_markdown(links):
    found = links.linked("`theory/laws/__init__.py`, `feature_law`", "equations")
    text = re.sub("<[^>]*>", "", found)
    assert text == "theory/laws/&#95;&#95;init&#95;&#95;.py, feature&#95;law"


@pytest.mark.parametrize("page", ["theorists", "equations"])
def test_the_pages_of_the_theory_have_links(links, page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(r'href="code/([\w/]+)\.html#line-(\d+)"', links.linked(text, page))
    assert len(found) >= 10
    for name, line in found:
        if line == "1":  # the file as a whole
            continue
        source = (links.HOME / f"{name}.py").read_text(encoding="utf-8").splitlines()
        assert re.match(r"\s*(def|class) ", source[int(line) - 1])
