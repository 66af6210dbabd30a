"""The study that the page on extending shows runs as it stands there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="installed without the documentation")
def test_the_study_of_the_page_runs_and_holds(tmp_path):
    text = PAGE.read_text("utf-8")
    (code,) = re.findall(
        r"```\{code-block\} python\n(.*?)```", text[text.index("## A study") :], re.DOTALL
    )
    (tmp_path / "lengths.py").write_text(code, "utf-8")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "lengths.py"], cwd=tmp_path, env=environ, check=True)
    document = json.loads((tmp_path / "lengths" / "claims.json").read_text("utf-8"))
    assert [(s["name"], s["verdict"]) for s in document["statements"]] == [
        ("pooling-by-length", "holds")
    ]
    assert len(document["claims"]) == 3
