"""Faults of the built site are found."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "check_site.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="installed without the documentation")

GOOD = """<link rel="stylesheet" href="style.css"><h1 id="top">One</h1>
<a href="two.html#here">two</a> <a href="#top">up</a> <a href="https://arxiv.org">paper</a>
<a href="explorer/index.html#alpha0=0.1">explorer</a> <img src="a.png" alt="A line falls.">"""


@pytest.fixture
def faults(tmp_path):
    spec = importlib.util.spec_from_file_location("check_site", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "explorer").mkdir()
    (tmp_path / "explorer" / "index.html").write_text("<p>Sliders</p>")
    (tmp_path / "two.html").write_text('<p id="here">Two</p>')
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "style.css").write_text("p { background: url(a.png); }")

    def of(page, style=""):
        (tmp_path / "one.html").write_text(page)
        (tmp_path / "style.css").write_text(style)
        return list(module.faults(tmp_path))

    return of


def test_a_good_site_has_none(faults):
    assert faults(GOOD) == []


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("two.html#here", "three.html", "which is no file"),
        ("two.html#here", "two.html#there", "no place of that page"),
        ("#top", "#bottom", "no place of that page"),
        ("a.png", "b.png", "which is no file"),
        ("A line falls.", " ", "has no text for a.png"),
        ('href="style.css"', 'href="https://fonts.org/x.css"', "loads https://fonts.org/x.css"),
        ('src="a.png"', 'src="//other.org/a.png"', "loads //other.org/a.png"),
    ],
)
def test_a_fault_is_told(faults, good, bad, words):
    (found,) = faults(GOOD.replace(good, bad))
    assert found.startswith("one.html ")
    assert words in found


def test_what_a_style_sheet_loads_is_seen(faults):
    assert faults(GOOD, '@import "https://fonts.org/x.css";') == [
        "style.css loads https://fonts.org/x.css"
    ]
