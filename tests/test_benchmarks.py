"""The benchmarks run: they are scripts of their own, which no other test calls."""

import subprocess
import sys
from pathlib import Path

import pytest

import sparsetoken as st

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="installed without the benchmarks"),
]


@pytest.mark.parametrize(
    "command",
    [
        ("agreement.py", "readouts", "networks", "convergence", "stated"),
        ("bags.py", "--sets", "made", "model", "tokens"),
        ("real_tokens.py",),
        ("sensitivities.py",),
        ("depth.py", "--hops", "1"),
        ("speed.py", "theory_point", "trial_attention_logistic", "estimator_fit"),
    ],
    ids=lambda command: command[0],
)
def test_a_benchmark_runs_to_its_end(command, tmp_path):
    script, *given = command
    call = [sys.executable, BENCHMARKS / script, *given, "--quick"]
    found = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.strip()


def test_theory_takes_all_settings_that_are_compared_with_simulations(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from agreement import COMPARED
    from agreement_settings import static

    for index in range(COMPARED["readouts"][1]):
        assert 0 < st.predict(*static(index), tolerance=0.5).test_error < 1, index
