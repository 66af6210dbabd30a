"""The documentation site: Markdown pages, an executed gallery, the reference from docstrings."""

import importlib
import os
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
sys.path.insert(0, str(HERE))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(HERE.parent / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

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
    "source_links",
]
exclude_patterns = ["_build", "gallery/README.rst", "gallery/*.py"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

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
html_sidebars = {page: [] for page in ("start", "theorists", "practitioners", "explorer")}
html_show_sphinx = False
copyright = "the sparsetoken maintainers, MIT licence"

autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


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
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "capture_repr": (),  # what is shown is printed or drawn
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

MODULES = {
    "sparsetoken": "The names at the top.",
    "sparsetoken.theory": "Predictions and what they are made of.",
    "sparsetoken.theory.oracle": "What the best learner could do.",
    "sparsetoken.theory.tuning": "The best split of the labels and the best temperature.",
    "sparsetoken.simulation": "Experiments at finite dimension.",
    "sparsetoken.models": "The classifiers as values.",
    "sparsetoken.stages": "How weights are found.",
    "sparsetoken.networks": "Networks of any form, whose weights descend together.",
    "sparsetoken.problem": "The task and the law of its tokens.",
    "sparsetoken.presets": "The settings of the paper's figures.",
    "sparsetoken.losses": "Losses, built in and of your own.",
    "sparsetoken.results": "What comes back.",
    "sparsetoken.bags": "Bags in every form people have them.",
    "sparsetoken.estimators": "Classifiers for scikit-learn.",
    "sparsetoken.forecasting": "From a pilot to learning curves and advice.",
    "sparsetoken.displays": "Pictures.",
    "sparsetoken.sweep": "Grids of predictions and simulations.",
    "sparsetoken.validation": "Errors.",
    "sparsetoken.explorer": "The interactive page.",
}


def _write_reference() -> None:
    """Write a page for each public module, with a table of its public names."""
    folder, seen = HERE / "reference", set()
    folder.mkdir(exist_ok=True)
    lines = ["# Reference", "", "```{toctree}", ":maxdepth: 1", ""]
    for name, summary in MODULES.items():
        module = importlib.import_module(name)
        members = [m for m in sorted(module.__all__) if _is_documented(module, m)]
        members = [m for m in members if getattr(module, m) not in seen]
        seen |= {getattr(module, m) for m in members}
        text = f"{name}\n{'=' * len(name)}\n\n{summary}\n\n.. currentmodule:: {name}\n\n"
        text += ".. autosummary::\n   :toctree: generated\n\n" + "".join(
            f"   {member}\n" for member in members
        )
        _keep(folder / f"{name}.rst", text)
        lines.append(name)
    _write_claims(folder)
    _keep(folder / "index.md", "\n".join([*lines, "```", ""]))


def _write_claims(folder: Path) -> None:
    """Write the claims that ``sparsetoken reproduce`` compares with simulations."""
    from sparsetoken.experiments import EXPERIMENTS

    lines = ["# The claims", "", "What `sparsetoken reproduce NAME` compares with simulations."]
    for experiment in EXPERIMENTS.values():
        lines += [
            "",
            f"## {experiment.title}",
            "",
            f"`sparsetoken reproduce {experiment.name}`",
            "",
        ]
        for claim in experiment.claims:
            text = re.sub(r"([_*|])", r"\\\1", claim.text)
            text += " *(open: by experiment)*" if claim.open else ""
            # The target of links such as [capacity](#claim-capacity) on other pages.
            lines += [f"- (claim-{claim.name})=", f"  **{claim.name}**: {text}"]
    _keep(folder / "claims.md", "\n".join([*lines, ""]))


def _is_documented(module: object, name: str) -> bool:
    """Whether a name is a class or a function that says what it does: no module, no constant."""
    member = getattr(module, name)
    return callable(member) and bool(member.__doc__)


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
    places = [lines.index(title) for title in ("Raises", "Examples") if title in lines]
    at = min(places, default=len(lines))
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    lines[at:at] = ["", "Returns", "-------", text, ""]


def setup(app) -> None:
    """Prepare docstrings before numpydoc reads them."""
    app.connect("autodoc-process-docstring", _add_returns, priority=300)
    app.connect("autodoc-process-docstring", _escape, priority=400)
