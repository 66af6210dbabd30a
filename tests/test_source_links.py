"""Names in the pages lead to the lines of the functions that they name."""

import importlib.util
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


def test_a_file_with_a_function_leads_there_and_code_blocks_stay(links):
    text = "| `theory/readout/means.py`, `LossMeans.at` |\n```\n`capacity`\n```\n"
    found = links.linked(text, "reference/x")
    line, _ = links.definitions("theory/readout/means.py")["LossMeans.at"]
    assert f'"../code/theory/readout/means.html#line-{line}"' in found
    assert "```\n`capacity`\n```" in found
    with pytest.raises(KeyError):
        links.linked("`theory/readout/means.py`, `nothing`", "x")


@pytest.mark.parametrize(
    ("file", "page"),
    [
        ("gallery/plot_01_learning_curve.py", "examples/plot_01_learning_curve.rst"),
        ("gallery/README.rst", "examples/index.rst"),
        ("../src/sparsetoken", "reference/index.md"),
    ],
)
def test_a_file_of_the_clone_leads_to_the_page_made_of_it(links, file, page):
    assert links.linked(f"[here]({file})", "start") == f"[here]({page})"
    assert (DOCS / file).exists()


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


@pytest.fixture
def names(links, monkeypatch):
    public = {
        "sparsetoken.predict": "sparsetoken.predict",
        "sparsetoken.theory.predict": "sparsetoken.predict",
        "sparsetoken.Pooled": "sparsetoken.Pooled",
        "sparsetoken.model.networks.Pooled": "sparsetoken.model.networks.Pooled",
        "sparsetoken.model.networks.Gated": "sparsetoken.model.networks.Gated",
        "sparsetoken.theory.oracle.bayes_error": "sparsetoken.theory.oracle.bayes_error",
    }
    monkeypatch.setattr(links, "PUBLIC", public)
    return links


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("st.predict(problem)", "predict"),
        ("theory.predict", "predict"),
        ("Pooled", "Pooled"),
        ("networks.Pooled()", "model.networks.Pooled"),
        ("Gated.hidden", "model.networks.Gated"),
        ("st.oracle.bayes_error", "theory.oracle.bayes_error"),
    ],
)
def test_a_public_name_leads_to_the_reference(names, name, entry):
    assert names.linked(f"see `{name}`.", "faq") == f"see {{py:obj}}`{name} <sparsetoken.{entry}>`."


@pytest.mark.parametrize("text", ["`predict`", "## `Pooled`", "[`Pooled`](x.md)", "`to_frame()`"])
def test_words_headings_and_links_stay(names, text):
    assert names.linked(text, "faq") == text


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("sparsetoken", "predict", "def predict"),
        ("sparsetoken", "SparseTokenProblem", "class SparseTokenProblem"),
        ("sparsetoken.results", "Alignment.query", "def query"),
        ("sparsetoken.theory", "FeatureLaw.featureless", "def featureless"),
        ("sparsetoken.figures", "AttentionDisplay.from_predictions", "def from_predictions"),
    ],
)
def test_an_entry_of_the_reference_leads_to_its_source(links, module, name, words):
    found = links.source_of("py", {"module": module, "fullname": name})
    file, line = re.fullmatch(r"\.\./\.\./code/([\w/]+)\.html#line-(\d+)", found).groups()
    source = (links.HOME / f"{file}.py").read_text(encoding="utf-8").splitlines()
    assert words in source[int(line) - 1]


def test_what_is_inherited_from_elsewhere_has_no_source(links):
    info = {"module": "sparsetoken", "fullname": "BagClassifier.get_params"}
    assert links.source_of("py", info) is None
