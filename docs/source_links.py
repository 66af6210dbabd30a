"""Links from the pages to lines of the source, found when the site is built.

The Markdown names files of the package and equations, as `theory/capacity.py` or `learned-error`,
and stays as it is. Here each name becomes a link to a page with that file, at the line where its
function begins. So no line number is written down that could go stale, and no network is needed.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[1] / "src" / "sparsetoken"
EQUATION = re.compile(r"Equation:\s+([a-z0-9]+(?:-[a-z0-9]+)*)")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?<!`)`([\w/]+\.py)`(?:, `(\w+(?:\.\w+)?)`)?(?!`)")
WORD = re.compile(r"(?<!`)`([a-z0-9-]+)`(?!`)")
THEORY = ("theorists", "equations")  # pages in which the name of an equation means nothing else
LINKED: set[str] = set()  # files that get a page
SCOPES = (ast.FunctionDef, ast.ClassDef)


@functools.cache
def definitions(name: str) -> dict[str, tuple[int, str]]:
    """Return line and docstring of each function and class of a file, by its qualified name."""
    found: dict[str, tuple[int, str]] = {}

    def walk(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = outer
            if isinstance(child, SCOPES):
                inner = f"{outer}.{child.name}" if outer else child.name
                found.setdefault(inner, (child.lineno, ast.get_docstring(child) or ""))
            walk(child, inner)

    walk(ast.parse((HOME / name).read_text(encoding="utf-8")), "")
    return found


@functools.cache
def equations() -> dict[str, tuple[str, int]]:
    """Return file and line of the function that computes each equation."""
    return {
        equation: (name, line)
        for name in (path.relative_to(HOME).as_posix() for path in sorted(HOME.rglob("*.py")))
        for line, text in definitions(name).values()
        for equation in EQUATION.findall(text)
    }


def linked(text: str, page: str) -> str:
    """Return Markdown in which names of files and equations outside of code blocks are links.

    Raises
    ------
    KeyError
        If a file has no such function.
    """

    def link(place: tuple[str, int], *words: str) -> str:
        LINKED.add(place[0])
        # Markdown reads what is between tags: the underscores of __init__ would make it bold.
        code = ", ".join(f"<code>{word}</code>".replace("_", "&#95;") for word in words)
        up = "../" * page.count("/")
        return f'<a href="{up}code/{place[0][:-3]}.html#line-{place[1]}">{code}</a>'

    def to_file(match: re.Match[str]) -> str:
        name, function = match.groups()
        if not (HOME / name).is_file():
            return match[0]
        if function is None:
            return link((name, 1), name)
        return link((name, definitions(name)[function][0]), name, function)

    def to_equation(match: re.Match[str]) -> str:
        return link(equations()[match[1]], match[1]) if match[1] in equations() else match[0]

    parts = FENCED.split(text)
    for i in range(0, len(parts), 2):
        if page in THEORY:
            parts[i] = WORD.sub(to_equation, parts[i])
        parts[i] = FILE.sub(to_file, parts[i])
    return "".join(parts)


def _read(app: Any, page: str, source: list[str]) -> None:
    if str(app.env.doc2path(page)).endswith(".md"):
        source[0] = linked(source[0], page)


def _outdated(app: Any, env: Any, *_: Any) -> list[str]:
    """Name all pages that are written by hand: lines move though the pages do not change."""
    return [page for page in env.found_docs if "/" not in page]


def _pages(app: Any) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a page for each file that a link leads to, with an anchor at each line."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    formatter = HtmlFormatter(lineanchors="line", linenos="inline")
    for name in sorted(LINKED):
        source = (HOME / name).read_text(encoding="utf-8")
        code = highlight(source, PythonLexer(stripnl=False), formatter)
        body = f"<h1>{name}</h1>\n{code}"
        yield f"code/{name[:-3]}", {"title": name, "body": body}, "page.html"


def setup(app: Any) -> dict[str, bool]:
    """Connect to the build."""
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _read)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": False}
