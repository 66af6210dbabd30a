"""What pyright sees of the package; mypy checks the same programs in `make lint`."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("user_program.py")
MISSPELT = Path(__file__).with_name("misspelt.py")


def test_a_right_program_passes_and_each_misspelt_name_is_an_error(tmp_path):
    lines = MISSPELT.read_text().splitlines()
    marked = {i for i, line in enumerate(lines, 1) if "# type: ignore" in line}
    (tmp_path / "right.py").write_text(PROGRAM.read_text())
    (tmp_path / "wrong.py").write_text("\n".join(line.partition("  #")[0] for line in lines))
    command = [sys.executable, "-m", "basedpyright", "--level", "error"]
    command += ["--pythonpath", sys.executable, "right.py", "wrong.py"]
    # In a folder of its own, so that no settings of the project count.
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    places = re.findall(r"(\w+)\.py:(\d+).*error", found.stdout)
    assert len(marked) == 4
    assert {(name, int(line)) for name, line in places} == {("wrong", i) for i in marked}


def test_the_program_runs(capsys):
    runpy.run_path(str(PROGRAM))
    assert capsys.readouterr().err == ""
