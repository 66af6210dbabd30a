"""The experiment of docs/extending.md, in files of its own, outside the package."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import invoke

DOCS = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture
def folder(tmp_path):
    """Its two files as they stand in the documentation."""
    section = DOCS.read_text("utf-8").partition("## An experiment\n")[2]
    code, page = re.findall(r"^```{code-block} \w+\n(.*?)^```", section, re.M | re.S)
    (tmp_path / "lengths.py").write_text(code, "utf-8")
    (tmp_path / "lengths.md").write_text(page, "utf-8")
    return tmp_path


def test_it_is_short_and_its_claim_holds(folder):
    lines = sum(len((folder / name).read_text("utf-8").splitlines()) for name in ("lengths.py",))
    assert lines <= 60
    command = [sys.executable, "-m", "sparsetoken", "reproduce", "lengths.py", "--out", "results"]
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    report = (folder / "results" / "report.html").read_text("utf-8")
    assert "With 8 tokens the measured test error is" in report
    assert ">1 holds<" in report
    assert (folder / "results" / "lengths.webp").exists()


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("none.py", None, "there"),
        ("empty_one.py", "x = 1\n", "register_experiment"),
        ("broken_one.py", "x = \n", "SyntaxError"),
        ("json.py", "x = 1\n", "no other module"),
    ],
)
def test_a_file_that_is_no_experiment_is_one_message(tmp_path, monkeypatch, name, content, word):
    monkeypatch.setattr(sys, "path", [*sys.path])
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8")
    result = invoke("reproduce", str(tmp_path / name), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert word in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
