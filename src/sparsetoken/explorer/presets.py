"""Stories of the page, as `stories.toml` tells them."""

import tomllib
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("stories.toml")
PRESETS: list[dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["story"]
"""In the order of the page, which starts with the settings of the first."""
