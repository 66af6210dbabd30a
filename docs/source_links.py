"""Links from the pages to the source and to the reference, found when the site is built.

The Markdown names files of the package, equations and public names, as `theory/capacity.py`,
`learned-error` or `st.predict`, and stays as it is. Here a name of a file or an equation becomes a
link to a page with that file, at the line where its function begins, and a public name a link to
its page of the reference; the pages of the reference link to the source in the same way. So no
line number is written down that could go stale, and no network is needed.
"""

import ast
import functools
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[1] / "src" / "sparsetoken"
EQUATION = re.compile(r"Equation:\s+([a-z0-9]+(?:-[a-z0-9]+)*)")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?<!`)`([\w/]+\.py)`(?:, `(\w+(?:\.\w+)?)`)?(?!`)")
WORD = re.compile(r"(?<!`)`([a-z0-9-]+)`(?!`)")
THEORY = ("theorists", "equations")  # pages in which the name of an equation means nothing else
BUILT = {  # pages that a bare clone lacks, by the files that they are made of
    re.compile(r"\]\(gallery/README\.rst\)"): "](examples/index.rst)",
    re.compile(r"\]\(gallery/(\w+)\.py\)"): r"](examples/\1.rst)",
    re.compile(r"\]\(\.\./src/sparsetoken\)"): "](reference/index.md)",
}
NAME = re.compile(r"(?<!`)`((?:st\.)?([A-Za-z_][\w.]*)(?:\([^`]*\))?)`(?!`)")
NO_TEXT = re.compile(r"(^#+ .*$|!?\[[^\]]*\]\([^)]*\))", re.MULTILINE)  # headings, links, pictures
METHODS = ("to_frame", "to_xarray")  # of results, besides the functions of these names
LINKED: set[str] = set()  # files that get a page
PUBLIC: dict[str, str] = {}  # public names, and the names under which the reference has them
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


def reference_of(name: str) -> str | None:
    """Return the entry of the reference for a name in the text, or None.

    It may lack the first modules, and name a part of what has the entry. A single word in lower
    case is no name: it may be a command, or a word of English.
    """
    parts = name.removeprefix("sparsetoken.").split(".")
    for count in range(len(parts), 0, -1):
        first = ".".join(parts[:count])
        top = PUBLIC.get(f"sparsetoken.{first}")
        entries = {entry for full, entry in PUBLIC.items() if full.endswith(f".{first}")}
        if top is None and len(entries) != 1:
            continue
        if first in METHODS or (first.isalpha() and first.islower()):
            continue
        return top or entries.pop()
    return None


def linked(text: str, page: str) -> str:
    """Return Markdown in which names outside of code blocks are links.

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

    def to_reference(match: re.Match[str]) -> str:
        at_top = PUBLIC.get(f"sparsetoken.{match[2]}") if match[1].startswith("st.") else None
        entry = at_top or reference_of(match[2])
        return match[0] if entry is None else f"{{py:obj}}`{match[1]} <{entry}>`"

    parts = FENCED.split(text)
    for i in range(0, len(parts), 2):
        if page in THEORY:
            parts[i] = WORD.sub(to_equation, parts[i])
        parts[i] = FILE.sub(to_file, parts[i])
        for link_to_file, link_to_page in BUILT.items():
            parts[i] = link_to_file.sub(link_to_page, parts[i])
        prose = NO_TEXT.split(parts[i])
        prose[::2] = [NAME.sub(to_reference, part) for part in prose[::2]]
        parts[i] = "".join(prose)
    return "".join(parts)


def source_of(domain: str, info: dict[str, str]) -> str | None:
    """Return the link from a page of the reference to the line of a class, function or method."""
    found: Any = importlib.import_module(info["module"])
    for part in info["fullname"].split("."):
        found = getattr(found, part, None)
    found = getattr(found, "fget", None) or getattr(found, "func", None) or found
    module = getattr(found, "__module__", None) or ""
    if not module.startswith("sparsetoken"):
        return None  # inherited from another package, or a value
    file, package = (Path(sys.modules[name].__file__ or "") for name in (module, "sparsetoken"))
    name = file.relative_to(package.parent).as_posix()
    if getattr(found, "__qualname__", None) not in definitions(name):
        return None
    LINKED.add(name)
    return f"../../code/{name[:-3]}.html#line-{definitions(name)[found.__qualname__][0]}"


def _read(app: Any, page: str, source: list[str]) -> None:
    if str(app.env.doc2path(page)).endswith(".md"):
        source[0] = linked(source[0], page)


def _outdated(app: Any, env: Any, *_: Any) -> list[str]:
    """Name all pages that link to the source, whose lines move though the pages stay."""
    return [page for page in env.found_docs if not page.startswith("examples/")]


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
