"""Numbers in the documentation are those of docs/published.json; pages are written from it."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from sparsetoken.studies import STUDIES

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def published():
    """The script that writes the pages, as a module."""
    spec = importlib.util.spec_from_file_location("published", DOCS / "published.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def numbers(published):
    return json.loads(published.NUMBERS.read_text("utf-8"))


def test_the_pages_say_what_the_numbers_say(published, numbers):
    pages = published.written(numbers)
    names = {file.name for file in pages}
    badges = {f"badge_{name}.svg" for name in ("python", "licence", "claims")}
    assert names == {"benchmarks.md", "equations.md", *badges}
    for file, text in pages.items():
        assert file.read_text("utf-8") == text, f"Run python docs/published.py: {file.name} differs"


def test_the_numbers_are_of_the_claims_of_now(numbers):
    names = {claim.name for study in STUDIES.values() for claim in study.claims}
    assert set(numbers) == {"quick", "speed"}
    assert set(numbers["quick"]["claims"]) <= names, "Take numbers of a new quick report"


def test_a_number_changed_by_hand_is_noticed(published, numbers):
    text = (DOCS / "benchmarks.md").read_text("utf-8")
    drifted = re.sub(r"(?<=comparisons: )\d+", lambda number: str(int(number[0]) + 1), text)
    assert drifted != text
    assert published.with_blocks(drifted, numbers) == text


def test_a_claim_that_fails_shows_on_its_badge(published, numbers):
    claims = dict(numbers["quick"]["claims"])
    claims[next(iter(claims))] = {"verdict": "fails", "kind": "of the paper", "evidence": {}}
    changed = published.badges({"quick": {"claims": claims}})
    assert "1 fails" in changed[DOCS / "images" / "badge_claims.svg"]


@pytest.fixture
def report(tmp_path):
    """A report of one claim, with one comparison of each kind."""
    simulated = {
        "statement": "query-alignment",
        "curve": "query",
        "quantity": "cosine",
        "where": "here",
        "theory": 0.5,
        "measured": 0.52,
        "standard_error": 0.01,
    }
    rows = [
        simulated | {"z": 2.0},
        simulated | {"z": -3.5, "measured": 0.46},
        simulated | {"z": None},
    ]
    statement = {"name": "query-alignment", "verdict": "holds", "kind": "of the paper"}
    statement["evidence"] = {"reduced": 2, "computed": 1}
    document = {"run": {"commit": "abc", "date": "now"}, "statements": [statement], "claims": rows}
    (tmp_path / "claims.json").write_text(json.dumps(document), "utf-8")
    return tmp_path


def test_the_numbers_of_a_report_are_taken_from_it(published, report):
    found = published.taken_from(report)
    assert found["z"] == {"count": 2, "sd": 2.75, "beyond_3": 1}
    assert "1 of the paper. 3 comparisons" in published.reproduction({"quick": found})


def test_results_of_the_paper_lead_to_functions_and_tests(published):
    table = published.of_the_paper({})
    source, line = re.search(
        r"\[`second_step`\]\(\.\./(src/\S+)#L(\d+)\) \| \[test_two_steps\]", table
    ).groups()
    text = (DOCS.parent / source).read_text("utf-8").splitlines()[int(line) - 1]
    assert text == "def second_step("
    rows = table.splitlines()[2:]
    assert len(rows) == sum(map(len, published.PAPER.values()))
    assert [row for row in rows if "(../tests/theory/" not in row] == []
