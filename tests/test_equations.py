"""Every equation has a name, one implementation, a test, and a section in docs/equations.md."""

import ast
import functools
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import sparsetoken
from sparsetoken.studies import STUDIES

HOME = Path(sparsetoken.__file__).parent
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NAME = re.compile(r"Equation:\s+([a-z0-9]+(?:-[a-z0-9]+)*)")
CODE = re.compile(r"^\*Code:\* `([\w/.]+)`, `(\w+(?:\.\w+)?)`\.$", re.MULTILINE)
CHECKED = re.compile(r"^\*Checked by:\* (.+)", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r"\[([a-z0-9-]+)\]\(#claim-([a-z0-9-]+)\)")
EQUATION_LINK = re.compile(r"equations\.md#([a-z0-9-]+)|\{eq\}`([a-z0-9-]+)`")
SCOPES = (ast.FunctionDef, ast.ClassDef)

needs_docs = pytest.mark.skipif(not DOCS.exists(), reason="installed without the documentation")


def _docstrings(tree: ast.AST, outer: str = "") -> list[tuple[str, str]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        name = outer
        if isinstance(node, SCOPES):
            name = f"{outer}.{node.name}" if outer else node.name
            found.append((name, ast.get_docstring(node) or ""))
        found += _docstrings(node, name)
    return found


@functools.cache
def _implementations() -> list[tuple[str, str, str]]:
    """Return (equation, file, function) for each name in a docstring."""
    return [
        (equation, path.relative_to(HOME).as_posix(), function)
        for path in sorted(HOME.rglob("*.py"))
        for function, text in _docstrings(ast.parse(path.read_text(encoding="utf-8")))
        for equation in NAME.findall(text)
    ]


def _sections() -> dict[str, str]:
    """Return the text of each section of the page that has the code of an equation."""
    page = (DOCS / "equations.md").read_text(encoding="utf-8")
    parts = re.split(r"^##+ (.+)\n", page, flags=re.MULTILINE)[1:]
    titles = parts[::2]
    assert len(titles) == len(set(titles))
    pairs = zip(titles, parts[1::2], strict=True)
    return {title: text for title, text in pairs if "*Code:*" in text}


@functools.cache
def _tested() -> dict[str, set[str]]:
    """Return the equations that each file of tests says it tests."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        lists = re.findall(r"^Equations: ([^.]*)\.", path.read_text(encoding="utf-8"), re.MULTILINE)
        names = {name for text in lists for name in re.split(r",\s+", text)}
        found[path.relative_to(ROOT).as_posix()] = names
    return found


def test_each_name_has_one_implementation() -> None:
    counts = Counter(name for name, _, _ in _implementations())
    assert counts
    assert [name for name, n in counts.items() if n > 1] == []


@needs_docs
def test_the_page_says_where_each_equation_lives() -> None:
    listed = [(name, *at) for name, text in _sections().items() for at in CODE.findall(text)]
    assert sorted(listed) == sorted(_implementations())


@needs_docs
def test_each_section_has_a_numbered_equation_of_its_name() -> None:
    for name, text in _sections().items():
        labels = re.findall(r"^\$\$ \((.+)\)$", text, re.MULTILINE)
        assert labels == [name]
        assert len(re.findall(r"^\$\$", text, re.MULTILINE)) % 2 == 0


@needs_docs
def test_what_checks_an_equation_exists() -> None:
    claims = {claim.name for one in STUDIES.values() for claim in one.claims}
    tested = _tested()
    for name, text in _sections().items():
        (checks,) = CHECKED.findall(text)
        named = CLAIM.findall(checks)
        assert all(word == target for word, target in named), name
        assert {word for word, _ in named} <= claims, name
        tests = re.findall(r"`(tests/[\w/]+\.py)`", checks)
        assert named or tests, name
        assert [path for path in tests if name not in tested.get(path, ())] == []


@needs_docs
@pytest.mark.parametrize("page", ["derivations", "notation", "scope"])
def test_other_pages_name_equations_and_claims_that_exist(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    equations = (DOCS / "equations.md").read_text(encoding="utf-8")
    titles = re.findall(r"^##+ (.+)$", equations, re.MULTILINE)
    known = {title.lower().replace(" ", "-") for title in titles}
    links = {heading or label for heading, label in EQUATION_LINK.findall(text)}
    assert links
    assert links <= known
    claims = {claim.name for one in STUDIES.values() for claim in one.claims}
    assert {target for _, target in CLAIM.findall(text)} <= claims


def test_each_equation_has_a_mutant() -> None:
    """A change of the source that its tests must see."""
    table = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    named = {name.split(":")[0] for name in table}
    assert {equation for equation, *_ in _implementations()} <= named


def test_each_equation_has_a_test() -> None:
    named = set().union(*_tested().values())
    assert {equation for equation, *_ in _implementations()} <= named
