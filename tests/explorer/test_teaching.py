"""The questions for a class: their links, and the answers that they show."""

import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from sparsetoken.explorer.export import LOADS
from sparsetoken.explorer.settings import PRESETS

PAGE = (Path(__file__).parents[2] / "docs/explorer.md").read_text(encoding="utf-8")
TEXT = PAGE.partition("\n## Questions for a class\n")[2].partition("\n## ")[0]
LINKS = re.findall(r'explorer/index\.html#([^"]+)">[^<]*</a>:?((?:[,\s]*“[^”]+”)*)', TEXT)
STORIES = {story["name"]: story for story in PRESETS}


def test_there_are_five_questions_and_each_has_a_link_and_an_answer():
    questions = TEXT.split("\n### ")[1:]
    assert len(questions) == 5
    for question in questions:
        assert re.search(r"#[^\"]+\">Open it</a>: “", question)
        assert "<summary>Answer</summary>" in question


@pytest.mark.parametrize(("address", "_"), LINKS)
def test_each_link_lies_on_the_grid_of_the_page_without_a_server(address, _):
    state = dict(parse_qsl(address))
    axes = {"alpha1": LOADS, **STORIES[state.pop("story", "default")]["grid"]}
    for name, value in state.items():
        assert float(value) in axes[name]
