"""Measurements stand on the pages of measurements; links and lists of pages are complete."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.glob("*.md"))]
OF_MEASUREMENTS = {"benchmarks", "changelog", "results"}
PROSE = [page for page in PAGES if page.stem not in OF_MEASUREMENTS]
CODE = re.compile(r"^```.*?^```$|\$\$.*?\$\$|<!--.*?-->", re.MULTILINE | re.DOTALL)
WORDS = "half an? |about an? |one |two |three |four |five |six |seven |eight |nine |ten "
TIME = re.compile(
    rf"(?<![\w.])(?:\d+(?:[.,]\d+)*\s?|{WORDS})(?:ms|milliseconds?|s|seconds?|min|minutes?|hours?)(?!\w)"
)
ALLOWED = (
    "five minutes",  # what a newcomer has
    "of one minute",  # a tour
    "about a second at most",  # the size that a piece of work is cut to
    "about seven minutes of one core",  # before an export is started
    "takes two minutes on two cores",  # what a fit to slides costs, in the README, with its link
)
"""What is no measurement, or an order of magnitude beside the link to it."""


def _times(text):
    """Return line and words of each duration in the prose of a page."""
    text = CODE.sub(lambda block: "\n" * block[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        for allowed in ALLOWED:
            line = line.replace(allowed, "")
        for found in TIME.finditer(line):
            yield number, found[0]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_times_stand_on_the_pages_of_measurements(page):
    found = [f"{page.name}:{n}: {words}" for n, words in _times(page.read_text("utf-8"))]
    assert not found, "Link to docs/benchmarks.md: " + "; ".join(found)


def test_a_time_in_prose_is_found():
    text = "It takes 0.3 s.\n```\n20 ms\n```\nOr half a minute, or\n15 seconds."
    assert list(_times(text)) == [(1, "0.3 s"), (5, "half a minute"), (6, "15 seconds")]
    assert not list(_times("In five minutes, d = 10, s = 0.9, 20 samples and a second step."))


def test_answers_of_the_summary_are_measured_below_it():
    text = (DOCS / "benchmarks.md").read_text("utf-8")
    summary, measured = text.split("\n## ", 1)
    answers = [row.split("|")[2] for row in summary.splitlines() if row.startswith("| ")][2:]
    numbers = {n for answer in answers for n in re.findall(r"\d+(?:\.\d+)?", answer)}
    assert len(numbers) > 10
    assert [n for n in sorted(numbers) if not re.search(rf"(?<![\d.]){n}(?![\d])", measured)] == []


def test_the_summary_counts_every_prediction_that_was_measured():
    text = (DOCS / "benchmarks.md").read_text("utf-8")
    row = re.search(r"^\| `predict` \| (\d+) \| (\d+) ", text, re.M)
    answer = f"in {row[2]} of {row[1]} random settings | [Convergence](#where-theory"
    assert answer in text


def test_what_is_said_to_have_no_capacity_has_none():
    text = (DOCS / "start.md").read_text("utf-8")
    assert "**The capacity is `no_limit`.**" in text
    tokens = st.TokenCovariance(np.ones(20), np.ones(20), signal=np.eye(20)[0])
    shared, model = st.SparseTokenProblem(3, tokens=tokens), st.Elementwise(activation="tanh")
    for problem, of in ((shared, st.Attention()), (st.SparseTokenProblem(3), model)):
        assert st.capacity(problem, of).status == "no_limit"
    assert st.predict(shared, st.Attention(), tolerance=0.1).status.converged
    with pytest.raises(InvalidInput, match="whose weights see it"):
        st.predict(shared, model)
    assert st.simulate(shared, model, dimension=20, trials=2).mean.test_error < 0.6


def _anchors(page):
    """Return the anchors of a page, as MyST and GitHub make them of its headings."""
    text = CODE.sub("", page.read_text("utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    named = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {title.strip().replace(" ", "-") for title in plain} | set(named)


def _links(page):
    text = CODE.sub("", page.read_text("utf-8"))
    inline = re.findall(r"\]\(([^)\s]+)\)", text)
    return inline + re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in _links(page):
        name, _, anchor = link.partition("#")
        built = name.startswith("explorer/") and page.parent == DOCS
        if "://" in name or built or link.startswith("#claim-"):
            continue  # of other sites, or made when the site is built
        target = page.parent / name if name else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in _anchors(target), link


def test_the_readme_names_every_page_and_is_short():
    text = README.read_text("utf-8")
    named = {Path(link.partition("#")[0]).name for link in _links(README)}
    pages = {page.name for page in DOCS.glob("*.md")} - {"changelog.md", "index.md", "results.md"}
    assert pages <= named
    labels = re.findall(r"^\[([^\]]+)\]: docs", text, re.MULTILINE)
    assert [label for label in labels if text.lower().count(f"[{label.lower()}]") < 2] == []
    assert len(text.splitlines()) <= 90


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def _with_what_they_include(extras):
    found = set(extras)
    for extra in extras:
        for other in PROJECT["optional-dependencies"][extra]:
            if other.startswith("sparsetoken["):
                found |= _with_what_they_include(other[12:].rstrip("]").split(","))
    return found


def _lacking(text):
    """Yield the commands that need an extra which no line before them installs."""
    installed = set()
    for line in "".join(
        re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.M | re.S)
    ).splitlines():
        line = line.removeprefix("$ ")
        for extras in re.findall(r'pip install "[\w.]*\[([\w,]+)\]"', line):
            installed |= _with_what_they_include(extras.split(","))
        needed = "explore" if line.startswith("sparsetoken explore") else "app"
        if line.startswith("sparsetoken ") and needed not in installed:
            yield line


@pytest.mark.parametrize(
    "page", [README, DOCS / "start.md", DOCS / "explorer.md"], ids=lambda page: page.name
)
def test_no_command_needs_what_was_not_installed_before(page):
    text = page.read_text("utf-8")
    assert "\n$ sparsetoken " in text or "\nsparsetoken " in text
    assert list(_lacking(text)) == []


def test_a_command_without_its_extra_is_found():
    page = '```sh\npip install "x[app]"\nsparsetoken align\nsparsetoken explore\n```\n'
    assert list(_lacking(page)) == ["sparsetoken explore"]
    assert list(_lacking(page.replace("[app]", "[explore]"))) == []
    assert list(_lacking(page.replace("[app]", "[data]"))) == [
        "sparsetoken align",
        "sparsetoken explore",
    ]


def test_every_page_is_in_a_table_of_contents():
    text = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    trees = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    listed = {line.strip() for tree in trees for line in tree.splitlines()}
    assert {page.stem for page in DOCS.glob("*.md")} - listed == {"index"}


def test_every_picture_of_the_gallery_has_a_text():
    texts = tomllib.loads((DOCS / "gallery" / "alt_texts.toml").read_text("utf-8"))
    scripts = {"_".join(path.stem.split("_")[:2]) for path in DOCS.glob("gallery/plot_*.py")}
    assert set(texts) == scripts
    every = [one for some in texts.values() for one in ([some] if isinstance(some, str) else some)]
    assert min(map(len, every)) > 60


@pytest.mark.parametrize("path", sorted(DOCS.glob("gallery/plot_*.py")), ids=lambda path: path.stem)
def test_the_gallery_uses_names_that_exist(path):
    for names in set(re.findall(r"\bst((?:\.\w+)+)", path.read_text("utf-8"))):
        found = st
        for name in names.split(".")[1:]:
            found = getattr(found, name)
            if isinstance(found, type):  # the rest are attributes of its instances
                break
