"""Every equation has a name, one implementation, and a line in docs/equations.md."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import sparsetoken

HOME = Path(sparsetoken.__file__).parent
ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "equations.md"
NAME = re.compile(r"Equation:\s+([a-z0-9]+(?:-[a-z0-9]+)*)")
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| `([\w/.]+)`, `(\w+(?:\.\w+)?)` \|", re.MULTILINE)
SCOPES = (ast.FunctionDef, ast.ClassDef)


def _docstrings(tree: ast.AST, outer: str = "") -> list[tuple[str, str]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        name = outer
        if isinstance(node, SCOPES):
            name = f"{outer}.{node.name}" if outer else node.name
            found.append((name, ast.get_docstring(node) or ""))
        found += _docstrings(node, name)
    return found


def _implementations() -> list[tuple[str, str, str]]:
    """Return (equation, file, function) for each name in a docstring."""
    return [
        (equation, path.relative_to(HOME).as_posix(), function)
        for path in sorted(HOME.rglob("*.py"))
        for function, text in _docstrings(ast.parse(path.read_text(encoding="utf-8")))
        for equation in NAME.findall(text)
    ]


def test_each_name_has_one_implementation() -> None:
    counts = Counter(name for name, _, _ in _implementations())
    assert counts
    assert [name for name, n in counts.items() if n > 1] == []


@pytest.mark.skipif(not PAGE.exists(), reason="installed without the documentation")
def test_the_page_says_where_each_equation_lives() -> None:
    listed = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(_implementations())


def test_each_equation_has_a_test():
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    lists = [found for text in tests for found in re.findall(r"^Equations: ([^.]*)\.", text, re.M)]
    named = {name for found in lists for name in re.split(r",\s+", found)}
    assert {equation for equation, *_ in _implementations()} <= named
