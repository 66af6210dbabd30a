"""The documentation site: Markdown pages, an executed gallery, the reference from docstrings."""

import importlib
import os
import re
import sys
import tomllib
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(HERE.parent / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

from docutils.nodes import image, literal, reference, title  # noqa: E402
from sphinx.util.nodes import make_refnode  # noqa: E402
from sphinx_gallery.directives import imgsgnode  # noqa: E402

import sparsetoken  # noqa: E402

project = "sparsetoken"
author = "the sparsetoken maintainers"
version = release = sparsetoken.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/README.rst", "gallery/*.py"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]
linkcheck_ignore = ["explorer/"]  # built beside the pages

# The browser needs no network: MathJax is a file of this site.
mathjax_path = "mathjax/tex-svg.js"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme = "pydata_sphinx_theme"
html_title = "sparsetoken"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
# Pages without pages below them need no navigation at their side.
html_sidebars = {page.stem: [] for page in HERE.glob("*.md")} | {"reference/claims": []}
html_show_sphinx = False
copyright = "the sparsetoken maintainers, MIT licence"

autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"
default_role = "py:obj"  # a name in a docstring leads to its page


def _house_style(gallery_conf, fname) -> None:
    """Give examples the look of the figures of the package."""
    import matplotlib

    from sparsetoken.figures.style import STYLE

    matplotlib.rcParams.update(STYLE)


sphinx_gallery_conf = {
    "reset_modules": ("matplotlib", _house_style),
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "capture_repr": (),  # what is shown is printed or drawn
}
ALT_TEXTS = tomllib.loads((HERE / "gallery" / "alt_texts.toml").read_text(encoding="utf-8"))
warnings.filterwarnings("error", category=UserWarning, module="sparsetoken|__main__")
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

MODULES = {
    "sparsetoken": "The main names.",
    "sparsetoken.theory": "Predictions in the limit of high dimension.",
    "sparsetoken.theory.oracle": "Bayes-optimal errors, and the best weights of each model.",
    "sparsetoken.theory.tuning": "The best split, step sizes, sharpness and ridge.",
    "sparsetoken.simulation": "Experiments at finite dimension.",
    "sparsetoken.model": "Tasks, tokens, classifiers and the stages of training.",
    "sparsetoken.model.networks": "Networks for descent on all weights.",
    "sparsetoken.model.tasks": "st.tasks: published tasks for descent on all weights.",
    "sparsetoken.model.presets": "The settings of the paper's figures.",
    "sparsetoken.losses": "Built-in losses, and losses of your own.",
    "sparsetoken.results": "Results: named arrays with a status.",
    "sparsetoken.bags": "Bags: conversion, reading and writing.",
    "sparsetoken.estimators": "Classifiers, regressors and transformers for scikit-learn.",
    "sparsetoken.estimators.saving": "Fitted models in files.",
    "sparsetoken.forecasting": "Cross-validation, and forecasts of learning curves from a pilot.",
    "sparsetoken.figures": "Plots of attention along bags.",
    "sparsetoken.base.validation": "Errors that are raised, and checks of values.",
    "sparsetoken.explorer": "Settings of the interactive page.",
}

PUBLIC: dict[str, str] = {}
"""Public names, and the names under which the reference has them."""


def _write_reference() -> None:
    """Write a page for each public module, with a table of its public names."""
    folder, entries = HERE / "reference", {}
    folder.mkdir(exist_ok=True)
    rows = []
    for name, summary in MODULES.items():
        module = importlib.import_module(name)
        members = [m for m in sorted(module.__all__) if _is_documented(module, m)]
        for member in members:
            entry = entries.setdefault(getattr(module, member), f"{name}.{member}")
            PUBLIC[f"{name}.{member}"] = entry
        own = [member for member in members if PUBLIC[f"{name}.{member}"] == f"{name}.{member}"]
        text = f"{name}\n{'=' * len(name)}\n\n{summary}\n\n.. currentmodule:: {name}\n\n"
        text += ".. autosummary::\n   :toctree: generated\n\n" + "".join(
            f"   {member}\n" for member in own
        )
        _keep(folder / f"{name}.rst", text)
        rows.append(f"| [{name}]({name}.rst) | {summary} |")
    _write_claims(folder)
    head = ["# Reference", "", "| module | contents |", "| --- | --- |"]
    tree = ["", "```{toctree}", ":hidden:", "", *MODULES, "```", ""]
    _keep(folder / "index.md", "\n".join([*head, *rows, *tree]))


def _write_claims(folder: Path) -> None:
    """Write the claims that ``sparsetoken reproduce`` compares with simulations."""
    from sparsetoken.studies import STUDIES
    from sparsetoken.studies.report import maths

    lines = ["# The claims", "", "What `sparsetoken reproduce NAME` compares with simulations."]
    for study in STUDIES.values():
        lines += [
            "",
            f"## {study.title}",
            "",
            f"`sparsetoken reproduce {study.name}`",
            "",
        ]
        for claim in study.claims:
            text = re.sub(r"([_*|])", r"\\\1", maths(claim.text))
            # The target of links such as [capacity](#claim-capacity) on other pages.
            lines += [f"- (claim-{claim.name})=", f"  **{claim.name}**: {text}"]
    _keep(folder / "claims.md", "\n".join([*lines, ""]))


def _is_documented(module: object, name: str) -> bool:
    """Whether a name is a class or a function that says what it does: no module, no constant."""
    member = getattr(module, name)
    own = getattr(member, "__module__", "").startswith("sparsetoken")  # and no alias, as of Any
    return own and callable(member) and bool(member.__doc__)


def _keep(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


_write_reference()

_QUOTED = re.compile(r"(``.*?``|`.*?`_?)")


def _escape(app, what, name, obj, options, lines) -> None:
    """Let bars and underscores of formulas in docstrings stand for themselves."""
    for i, line in enumerate(lines):
        parts = _QUOTED.split(line)
        parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", p).replace("|", r"\|") for p in parts[::2]]
        lines[i] = "".join(parts)


def _add_returns(app, what, name, obj, options, lines) -> None:
    """Say what comes back where the first sentence alone says it, from the annotation."""
    kind = getattr(obj, "__annotations__", {}).get("return")
    if what not in ("function", "method") or kind in (None, "None") or "Returns" in lines:
        return
    if "Yields" in lines:
        return
    titles = ("Raises", "See Also", "Examples")
    places = [lines.index(title) for title in titles if title in lines]
    at = min(places, default=len(lines))
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    lines[at:at] = ["", "Returns", "-------", text, ""]


METHODS = ("to_frame", "to_xarray")  # of results, besides the functions of these names


def _entry(name: str) -> str | None:
    """Return the entry of the reference for a name in the text, or None.

    It may lack the first modules, and name a part of what has the entry. A single word in lower
    case is no name: it may be a command, or a word of English.
    """
    if name.startswith("st.") and f"sparsetoken.{name[3:]}" in PUBLIC:
        return PUBLIC[f"sparsetoken.{name[3:]}"]
    parts = name.removeprefix("st.").removeprefix("sparsetoken.").split(".")
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


def _link(app, page, name, content):
    """Return a link from a page to the entry of a public name, or None."""
    objects, entry = app.env.get_domain("py").objects, _entry(name)
    if entry not in objects:
        return None
    return make_refnode(app.builder, page, objects[entry].docname, entry, content)


def _find_name(app, env, node, contnode):
    """Return a link for a public name in a docstring that stands in another module."""
    target = node.get("reftarget", "") if node.get("reftype") == "obj" else ""
    return _link(app, node["refdoc"], target, contnode)


def _link_names(app, doctree, page) -> None:
    """Link the public names in the text of a Markdown page to the reference."""
    if not str(app.env.doc2path(page)).endswith(".md"):
        return
    for node in list(doctree.findall(literal)):
        link = _link(app, page, node.astext().partition("(")[0], node.deepcopy())
        if link is not None and not isinstance(node.parent, (title, reference)):
            node.replace_self(link)


BUILT = {  # pages that a bare clone lacks, by the files that they are made of
    re.compile(r"\]\(gallery/README\.rst\)"): "](examples/index.rst)",
    re.compile(r"\]\(gallery/(\w+)\.py\)"): r"](examples/\1.rst)",
    re.compile(r"\]\(\.\./CHANGELOG\.md\)"): "](changelog.md)",
    re.compile(r"\]\((\.\./src/[\w/]+\.py)#L\d+\)"): r"](\1)",  # files have no lines there
    re.compile(r"\]\(\.\./CONTRIBUTING\.md\)"): "](path:../CONTRIBUTING.md)",  # as a file
}
FROM_README = re.compile(r"\]\((?!https?://|#)")  # links to files


def _to_built_pages(app, page, source) -> None:
    """Put the README on the first page, and lead links to files to the pages made of them."""
    if page == "index":
        readme = (HERE.parent / "README.md").read_text(encoding="utf-8")
        source[0] = FROM_README.sub("](../", readme).replace("](../docs/", "](") + source[0]
    for file, built in BUILT.items():
        source[0] = file.sub(built, source[0])


def _describe_pictures(app, doctree) -> None:
    """Give the pictures of the examples their texts, also where they are thumbnails."""
    for node in doctree.findall(lambda node: isinstance(node, (image, imgsgnode))):
        found = re.search(r"sphx_glr_(plot_\d+)_\w+_(\d+|thumb)\.", node["uri"])
        if found:
            texts, number = ALT_TEXTS[found[1]], 1 if found[2] == "thumb" else int(found[2])
            node["alt"] = texts if isinstance(texts, str) else texts[number - 1]


def setup(app) -> None:
    """Prepare docstrings before numpydoc reads them, and what is read before it is written."""
    app.connect("source-read", _to_built_pages)
    app.connect("doctree-read", _describe_pictures)
    app.connect("doctree-resolved", _link_names)
    app.connect("missing-reference", _find_name)
    app.connect("autodoc-process-docstring", _add_returns, priority=300)
    app.connect("autodoc-process-docstring", _escape, priority=400)
