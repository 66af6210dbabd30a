"""The contract of the command line: keys, exit codes, and what goes to which stream."""

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line import invoke as run
from sparsetoken import Attention, Pooled, Readout, SparseTokenProblem, predict, simulate, theory
from sparsetoken.cli import options
from sparsetoken.cli.app import COMMANDS, GROUPS, cache_folder, use_compilation_cache
from sparsetoken.model.models import MODELS
from sparsetoken.results import Status, StatusCode
from sparsetoken.simulation.setting import dimension_of

TASK = ["--length", "4", "--informative", "1", "--strength", "2"]
SMALL = [*TASK, "--dimension", "20", "--trials", "2", "--alpha1", "1.5"]


def strict_json(text):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_align_keys():
    found = run("align", *TASK, "--json")
    assert found.exit_code == 0
    keys = ["cosine", "overlap", "norm", "sharpness", "readout_cosine", "status"]
    assert list(strict_json(found.stdout)) == keys
    assert strict_json(found.stdout)["status"] == "converged"


def test_steps_beside_a_query_that_is_given_are_told_to_have_no_effect():
    query = [*TASK, "--cosine", 0.9, "--sharpness", 1, "--json"]
    alone, beside = (
        run("predict", "attention", *query),
        run("predict", "attention", *query, "--alpha0", 5, "--eta-q", 3),
    )
    assert alone.stdout == beside.stdout
    assert "No effect" not in alone.stderr
    assert "No effect: --alpha0, --eta-q." in beside.stderr


RARE_TASK = ["--positive-rate", "0.05", "--strength", "1"]
RARE = [*RARE_TASK, "--eta-b", "0"]
SMALLEST = ["--dimension", "60", "--trials", "2", "--alpha1", "2"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["align"],
        ["predict", "attention"],
        ["predict", "elementwise"],
        ["capacity", "attention"],
        ["simulate", "attention", *SMALLEST],
    ],
)
def test_a_query_that_turns_away_gets_a_warning(arguments):
    found = run(*arguments, *RARE, "--json")
    assert found.exit_code == 0
    assert strict_json(found.stdout)["status"] == "converged"
    assert "turns away" in found.stderr
    assert "--eta-b" in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "pooled", *RARE],
        ["predict", "attention", *RARE_TASK, "--cosine", "-0.5", "--sharpness", "1"],
        ["predict", "attention"],
    ],
)
def test_no_warning_where_the_training_sets_no_query_or_a_good_one(arguments):
    found = run(*arguments, "--json")
    assert found.exit_code == 0
    assert found.stderr == ""


def test_predict_keys_and_values():
    found = run("predict", "pooled", *TASK, "--alpha1", 3, "--ridge", 0.1, "--json")
    values = strict_json(found.stdout)
    expected = predict(SparseTokenProblem(4, 1, 2.0), Pooled(), Readout(ridge=0.1, alpha1=3.0))
    assert found.exit_code == 0
    assert list(values) == [
        "test_error",
        "training_loss",
        "training_error",
        "auc",
        "overlaps",
        "numerical_error",
        "status",
    ]
    assert list(values["overlaps"]) == ["query", "orthogonal", "noise", "bias"]
    assert values["test_error"] == pytest.approx(expected.test_error, rel=1e-9)


def test_the_defaults_are_those_of_the_library(monkeypatch):
    seen = []

    def recorded(*values, tolerance):
        seen.append(values)
        return predict(*values, tolerance=tolerance)

    monkeypatch.setattr(theory, "predict", recorded)
    assert run("predict", "attention").exit_code == 0
    assert seen == [(SparseTokenProblem(), Attention(), Readout())]
    parameters = inspect.signature(simulate).parameters
    assert parameters["dimension"].default is None
    assert dimension_of(SparseTokenProblem(), None) == options.DEFAULT_DIMENSION
    assert parameters["trials"].default == options.DEFAULT_TRIALS


def test_capacity_meets_the_reference_point():
    found = run("capacity", "pooled", *TASK, "--json")
    assert list(strict_json(found.stdout)) == ["capacity", "numerical_error", "status"]
    assert strict_json(found.stdout)["capacity"] == pytest.approx(2.341, abs=1e-3)


@pytest.mark.parametrize("model", ["attention", "pooled"])
def test_simulate_keys(model):
    found = run("simulate", model, *SMALL, "--json")
    values = strict_json(found.stdout)
    assert found.exit_code == 0
    assert values.pop("status") == "converged"
    overlaps = values.pop("overlaps")
    assert list(overlaps) == ["query", "orthogonal", "noise", "bias"]
    assert list(values) == [
        "test_error",
        "training_loss",
        "training_error",
        "auc",
        "cosine",
        "sharpness",
        "readout_cosine",
    ]
    for pair in [*values.values(), *overlaps.values()]:
        assert list(pair) == ["mean", "standard_error"]


def test_one_trial_has_no_standard_error():
    found = run("simulate", "pooled", *SMALL[:-4], "--trials", 1, "--json")
    assert strict_json(found.stdout)["test_error"]["standard_error"] is None


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["align"], "readout cosine"),
        (["capacity", "pooled"], "capacity"),
        (["predict", "pooled"], "test error"),
        (["simulate", "pooled", "--dimension", "20", "--trials", "2"], "standard error"),
    ],
)
def test_without_json_a_table(arguments, name):
    found = run(*arguments, *TASK)
    assert found.exit_code == 0
    assert name in found.stdout
    assert "converged" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["align", "--length", "3", "--informative", "4"], "informative"),
        (["predict", "median"], "median"),
        (["predict", "attention", "--cosine", "0.5"], "given together"),
        (["simulate", "pooled", "--trials", "0"], "trials"),
        (["simulate", "pooled", "--workers", "0"], "workers"),
        (["simulate", "pooled", "--alpha1", "inf"], "--alpha1 (n1/d)"),
        (["reproduce", "everything"], "everything"),
        (["reproduce", "--profile", "slow"], "profile"),
        (["reproduce", "--out", ""], "--out"),
        (["reproduce", "--out", __file__], "--out"),
        (["align", "--device", "abacus"], "device"),
        (["simulate", "pooled", "--device", "abacus"], "device"),
        (["align", "--colour", "red"], "--colour"),
        (["predict"], "MODEL"),
        (["forecast"], "forecast"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(arguments, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(*arguments)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert word in found.stderr
    assert "Traceback" not in found.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [["align"], ["predict", "pooled"], ["capacity", "pooled"], ["simulate", "pooled", *SMALL]],
)
def test_a_device_that_is_not_there_is_refused_with_the_remedy(command, monkeypatch):
    def absent(backend):
        raise RuntimeError(f"Unknown backend {backend}")

    monkeypatch.setattr("jax.local_devices", absent)
    found = run(*command, "--device", "gpu")
    assert found.exit_code == 2
    assert found.stdout == ""
    assert 'pip install "jax[cuda12]"' in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [["align"], ["predict", "pooled"], ["capacity", "pooled"]])
def test_theory_runs_on_the_device(command, monkeypatch):
    import jax

    original, seen = getattr(theory, command[0]), []

    def recorded(*arguments, **options):
        seen.append(jax.config.jax_default_device)
        return original(*arguments, **options)

    monkeypatch.setattr(theory, command[0], recorded)
    plain = run(*command, *TASK, "--json")
    chosen = run(*command, *TASK, "--json", "--device", "cpu")
    assert seen == [None, jax.devices("cpu")[0]]
    assert chosen.exit_code == 0
    assert strict_json(chosen.stdout).keys() == strict_json(plain.stdout).keys()
    assert jax.config.jax_default_device is None


def test_a_result_short_of_convergence_is_printed_with_exit_code_1(monkeypatch):
    import dataclasses

    fallen = Status(StatusCode.MAX_ITERATIONS, "Raise the ridge.")
    result = dataclasses.replace(theory.capacity(SparseTokenProblem(4, 1, 2.0), Pooled()))
    result = dataclasses.replace(result, status=fallen, capacity=float("nan"))
    monkeypatch.setattr(theory, "capacity", lambda *a, **k: result)
    found = run("capacity", "pooled", "--json")
    assert found.exit_code == 1
    assert strict_json(found.stdout) == {
        "capacity": None,
        "numerical_error": 0.0,
        "status": "max_iterations",
    }
    assert "Raise the ridge." in found.stderr


# A shell starts background jobs with SIGINT ignored, and children inherit that.
LISTENING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from sparsetoken.cli import main; main()"
)


def test_a_signal_ends_a_real_process_and_leaves_nothing_behind(tmp_path):
    command = [sys.executable, "-c", LISTENING, "reproduce", "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "out").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert out == b""
    told = [line for line in err.decode().splitlines() if line and "left" not in line]
    assert told == ["Terminated."]  # no warning of semaphores; lines of progress apart
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"work"}


def test_version():
    found = run("--version")
    assert found.exit_code == 0
    assert found.stdout.startswith("sparsetoken ")


@pytest.mark.parametrize("command", ["align", "predict", "capacity", "simulate", "reproduce"])
def test_help_has_an_example(command):
    found = run(command, "--help")
    assert found.exit_code == 0
    assert f"sparsetoken {command}" in found.stdout


def test_help_does_not_load_the_heavy_packages():
    code = (
        "import sys; from sparsetoken.cli.app import execute; execute(['predict', '--help']); "
        "sys.exit(any(m in sys.modules for m in ('jax', 'scipy', 'matplotlib')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


HEAVY = ("jax", "scipy", "pandas", "sklearn")


MISTYPED = {
    "predict?": ["predikt", "attention"],
    "attention?": ["predict", "atention"],
    "--strength?": ["predict", "attention", "--strenght", "2"],
    "--strength? ": ["predict", "attention", "--theta", "2"],
    "--informative?": ["simulate", "pooled", "-R", "2"],
    "--eta-w or --eta-b or --eta-q?": ["align", "--eta=2"],
    "--ridge?": ["predict", "pooled", "--lambda=0.1"],
}


def test_a_mistyped_word_is_one_line_before_anything_heavy_is_loaded():
    code = (
        "import sys; from sparsetoken.cli.app import execute; "
        f"print([execute(words) for words in {list(MISTYPED.values())}]); "
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"{[2] * len(MISTYPED)}\n[]\n"
    for meant, line in zip(MISTYPED, done.stderr.splitlines(), strict=True):
        assert f"Did you mean {meant}" in line


def test_help_groups_the_commands_and_names_the_models(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = run("--help").stdout
    for word in (*GROUPS, *COMMANDS, *MODELS, "Predict errors, loss, AUC and overlaps"):
        assert word in shown
    shown = run("predict", "--help").stdout
    for word in ("Task", "Two gradient steps", "Query", "Readout", *MODELS, "[default: 10]"):
        assert word in shown


def test_cache_folder_follows_the_user():
    assert cache_folder({"XDG_CACHE_HOME": "/there"}) == Path("/there/sparsetoken/jax")
    assert cache_folder({}).parts[-3:] == (".cache", "sparsetoken", "jax")


def test_cache_settings_leave_the_user_his_choice(tmp_path):
    own = {"JAX_COMPILATION_CACHE_DIR": "mine", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "9"}
    environ = {**own, "XDG_CACHE_HOME": str(tmp_path)}
    use_compilation_cache(environ)
    assert own.items() <= environ.items()
    assert list(tmp_path.iterdir()) == []


def test_the_cache_serves_the_next_run(tmp_path):
    environ = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    environ["XDG_CACHE_HOME"] = str(tmp_path)
    arguments = ["descend", "--steps", "1", "--tolerance", "0.2", "--json"]
    command = [sys.executable, "-m", "sparsetoken", *arguments]
    first = subprocess.run(command, env=environ, capture_output=True, check=True)
    made = sorted(p.name for p in cache_folder(environ).iterdir() if p.name.endswith("-cache"))
    second = subprocess.run(command, env=environ, capture_output=True, check=True)
    again = sorted(p.name for p in cache_folder(environ).iterdir() if p.name.endswith("-cache"))
    assert made
    assert made == again
    assert first.stdout == second.stdout
    assert second.stderr.startswith(b"Numerical error")
    assert second.stderr.count(b"\n") == 1
