"""Files about the project agree: version, date, citation, versions of Python, and the sdist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def _read(name):
    return (ROOT / name).read_text("utf-8")


def test_citation_readme_and_changelog_have_the_version_and_its_date():
    cited, version = _read("CITATION.cff"), PROJECT["version"]
    assert re.findall(r"^ *version: (.+)$", cited, re.MULTILINE) == [version, version]
    (date,) = re.findall(r"^date-released: (.+)$", cited, re.MULTILINE)
    newest = re.search(r"^## (.+) \((.+)\)$", _read("CHANGELOG.md"), re.MULTILINE).groups()
    assert newest == (version, date)
    (entry,) = re.findall(r"^@software\{.*?^```", _read("README.md"), re.MULTILINE | re.DOTALL)
    assert f"version = {{{version}}}" in entry
    assert f"year = {{{date[:4]}}}" in entry


def test_times_in_the_readme_stand_in_the_benchmarks():
    times = re.findall(r"\d+ min \d+ s", _read("README.md"))
    assert len(times) == 2
    assert [time for time in times if time not in _read("docs/benchmarks.md")] == []


def test_bibtex_has_the_titles_of_the_citation():
    titles = re.findall(r"^ +title: \"?(.+?)\"?$", _read("CITATION.cff"), re.MULTILINE)
    (block,) = re.findall(r"```bibtex\n(.*?)```", _read("README.md"), re.DOTALL)
    assert re.findall(r"title = \{(.+?)\}[,}]", block.replace("booktitle", "in")) == titles


def test_the_workflow_has_the_versions_of_python_that_are_declared():
    (listed,) = re.findall(r"python: \[(.+)\]", _read(".github/workflows/test.yml"))
    declared = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert re.findall(r"[\d.]+", listed) == declared


@pytest.mark.parametrize("command", ["ruff check .", "ruff format --check .", "mypy"])
def test_the_workflow_runs_what_make_test_runs(command):
    assert re.search(rf"^\s+run: {re.escape(command)}$", _read(".github/workflows/test.yml"), re.M)
    assert f"$(BIN)/{command}" in _read("Makefile")


def test_no_page_installs_a_package_that_is_on_no_index():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages += sorted((ROOT / "docs" / "gallery").glob("*.py"))
    found = [
        page.name
        for page in pages
        if re.search(r"install\s+.?sparsetoken\b", page.read_text("utf-8"))
    ]
    assert found == []


def test_what_make_docs_builds_is_not_in_the_sdist():
    ignored = {line.strip("/") for line in _read(".gitignore").splitlines()}
    built = {line for line in ignored if line.startswith("docs/")}
    rules = re.findall(r"^(?:prune|exclude) (.+)$", _read("MANIFEST.in"), re.MULTILINE)
    assert built <= set(rules)
