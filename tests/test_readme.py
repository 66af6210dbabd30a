"""The examples of the README and the docs do what they say."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command_line import invoke

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ONE_PROGRAM = {"slides.md"}
"""Pages whose blocks continue one another."""


def _examples(page):
    """Return the programs of a page."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return ["\n".join(blocks)] if page.name in ONE_PROGRAM else blocks


EXAMPLES = [code for page in PAGES for code in _examples(page)]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_make_help_shows_every_target():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)[1].split()
    shown = subprocess.run(["make", "-C", ROOT, "help"], capture_output=True, text=True, check=True)
    found = re.findall(r"^make (\S+)", shown.stdout, re.MULTILINE)
    assert set(found) == set(targets) - {"style"}  # lint is style and types


COSTLY = ("forecast(bags[:200]", "slide_id,case_id", "st.Task(6, [", "def largest(H, c)")
"""Of examples whose calls stand in others, or take longest to compile."""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, marks=pytest.mark.slow if any(c in code for c in COSTLY) else ())
        for code in EXAMPLES
    ],
)
@pytest.mark.usefixtures("few_fits")  # forecasts print what they recommend, no more
def test_a_python_example_prints_its_comments(code, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # some write files
    expected = re.findall(r"\)  # (\S+)$", code, re.MULTILINE)
    assert expected
    exec(code, {"__name__": "__main__"})
    assert [_read(text) for text in capsys.readouterr().out.split()] == [
        pytest.approx(_read(text), abs=1e-4) for text in expected
    ]


def _read(text):
    try:
        return float(text)
    except ValueError:
        return text


def test_the_command_prints_what_the_page_shows(monkeypatch, tmp_path):
    """On the bags that the page writes, up to the dots."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "practitioners.md"
    (code,) = (code for code in _examples(page) if "bags.npz" in code)
    exec(re.sub(r"^(model|print).*$", "", code, flags=re.MULTILINE), {})
    text = page.read_text(encoding="utf-8")
    (block,) = re.findall(r"```console\n(.*?)\.\.\.\n```", text, re.DOTALL)
    *_, command, shown = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    lines = invoke(*command.split()[1:]).stdout.splitlines()[: len(shown.splitlines())]
    # Another kernel of the linear algebra may move a bag of 160 across the threshold.
    for found, expected in zip(lines, shown.splitlines(), strict=True):
        assert _NUMBER.sub("#", found) == _NUMBER.sub("#", expected)
        numbers = [[float(x) for x in _NUMBER.findall(line)] for line in (found, expected)]
        assert numbers[0] == pytest.approx(numbers[1], abs=1 / 160)


_NUMBER = re.compile(r"\d+\.\d+")
