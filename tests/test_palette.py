"""All figures take their colours from one palette."""

import re
from pathlib import Path

import sparsetoken

SOURCE = Path(sparsetoken.__file__).parent
GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
HEX = re.compile(r"""["']#[0-9A-Fa-f]{3,8}["']""")


def test_hex_colours_stand_in_the_palette_alone():
    files = [*SOURCE.rglob("*.py"), *GALLERY.glob("*.py")]
    spelt = {path.name for path in files if HEX.search(path.read_text(encoding="utf-8"))}
    assert spelt == {"palette.py"}
