"""What a user's type checker sees of the package."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("user_program.py")
CHECKERS = {
    "mypy": ["mypy", "--strict"],
    "pyright": ["basedpyright", "--level", "error", "--pythonpath", sys.executable],
}
MISSPELT = """import sparsetoken as st

st.predikt(st.SparseTokenProblem())
st.oracle.bayes(st.SparseTokenProblem())
st.Readout(los="square")
st.capacity(st.SparseTokenProblem()).capacty
"""


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_right_program_passes_and_each_misspelt_name_is_an_error(checker, tmp_path):
    (tmp_path / "right.py").write_text(PROGRAM.read_text())
    (tmp_path / "wrong.py").write_text(MISSPELT)
    command = [sys.executable, "-m", *CHECKERS[checker], "right.py", "wrong.py"]
    # In a folder of its own, so that no settings of the project count.
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    places = re.findall(r"(\w+)\.py:(\d+).*error", found.stdout)
    assert {(name, int(line)) for name, line in places} == {("wrong", i) for i in (3, 4, 5, 6)}


def test_the_program_runs(capsys):
    runpy.run_path(str(PROGRAM))
    assert capsys.readouterr().err == ""
