"""The contract of the command line: keys, exit codes, and what goes to which stream."""

import inspect
import json
import os
import subprocess
import sys

import pytest

from command_line import invoke as run
from sparsetoken import Attention, Pooled, Readout, SparseTokenProblem, predict, simulate, theory
from sparsetoken.cli import theory as commands
from sparsetoken.cli.app import keep_compiled_code
from sparsetoken.cli.application import application
from sparsetoken.cli.commands import BAGS, COMMANDS, GROUPS
from sparsetoken.model.models import MODELS
from sparsetoken.results import Status, StatusCode
from sparsetoken.simulation.setting import dimension_of

TASK = ["--length", "4", "--informative", "1", "--strength", "2"]
SMALL = [*TASK, "--dimension", "20", "--trials", "2", "--alpha1", "1.5"]


def strict_json(text):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


OVERLAPS = ["query", "orthogonal", "noise", "bias"]
OUTCOME = ["test_error", "training_loss", "training_error", "auc"]
KEYS = {
    "align": ["cosine", "overlap", "norm", "sharpness", "readout_cosine"],
    "predict pooled": [*OUTCOME, "overlaps", "numerical_error", "errors"],
    "predict attention": [
        *OUTCOME,
        *("cosine", "sharpness", "overlaps", "numerical_error", "errors"),
    ],
    "capacity pooled": ["capacity", "numerical_error"],
    "simulate pooled": [*OUTCOME, "cosine", "sharpness", "readout_cosine", "overlaps"],
    "simulate attention": [*OUTCOME, "cosine", "sharpness", "readout_cosine", "overlaps"],
}


@pytest.mark.parametrize("command", KEYS)
def test_json_has_the_keys_of_the_contract(command):
    sampled = command.startswith("simulate")
    found = run(*command.split(), *(SMALL if sampled else TASK), "--json")
    assert found.exit_code == 0
    values = strict_json(found.stdout)
    assert list(values) == [*KEYS[command], "status"]
    assert values.pop("status") == "converged"
    errors = values.pop("errors", {})
    assert list(errors) == (
        [*OUTCOME, "overlaps", "susceptibility"] if "predict" in command else []
    )
    overlaps = values.pop("overlaps", {})
    assert list(overlaps) == (OVERLAPS if "overlaps" in KEYS[command] else [])
    if sampled:
        for pair in [*values.values(), *overlaps.values()]:
            assert list(pair) == ["mean", "standard_error"]


@pytest.mark.parametrize("command", ["align", "predict attention", "capacity pooled", "simulate"])
def test_a_table_is_that_of_python(command):
    problem, name = SparseTokenProblem(4, 1, 2.0), command.partition(" ")[0]
    if name == "simulate":
        found = run("simulate", "pooled", *SMALL, "--all")
        readout = Readout(alpha1=1.5)
        expected = simulate(problem, Pooled(), readout, dimension=20, trials=2, engine="reduced")
    else:
        found = run(*command.split(), *TASK, "--all")
        made = {"align": (), "predict": (Attention(),), "capacity": (Pooled(),)}[name]
        expected = getattr(theory, name)(problem, *made)
    assert found.exit_code == 0
    shown, whole = (
        [line.split() for line in text.splitlines()] for text in (found.stdout, repr(expected))
    )
    assert ["status", "converged"] in shown
    assert shown[1:] == whole


def test_a_table_has_the_few_columns_that_a_person_reads():
    found = run("predict", "pooled", *TASK)
    names = [line.split()[0] for line in found.stdout.splitlines()[2:]]
    assert names == ["test", "training", "auc", "status"]


RARE_TASK = ["--positive-rate", "0.05", "--strength", "1"]
RARE = [*RARE_TASK, "--eta-b", "0"]
SMALLEST = ["--dimension", "60", "--trials", "2", "--alpha1", "2"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["align"],
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
    assert "eta_b" in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["predict", "pooled", *RARE], ""),
        (["predict", "attention", *RARE_TASK, "--cosine", "-0.5", "--sharpness", "1"], ""),
        (["predict", "attention"], ""),
    ],
)
def test_no_warning_where_the_training_sets_no_query_or_a_good_one(arguments, advice):
    found = run(*arguments, "--json")
    assert found.exit_code == 0
    assert found.stderr == advice


def test_values_are_those_of_python_and_of_the_reference_point():
    found = run("predict", "pooled", *TASK, "--alpha1", 3, "--ridge", 0.1, "--json")
    expected = predict(SparseTokenProblem(4, 1, 2.0), Pooled(), Readout(ridge=0.1, alpha1=3.0))
    assert strict_json(found.stdout)["test_error"] == expected.test_error
    found = run("capacity", "pooled", *TASK, "--json")
    assert strict_json(found.stdout)["capacity"] == pytest.approx(2.341, abs=1e-3)  # its digits


def test_the_defaults_are_those_of_the_library(monkeypatch):
    seen = []

    def recorded(*values, **more):
        seen.append((values, more))
        return predict(*values, **more)

    monkeypatch.setattr(theory, "predict", recorded)
    assert run("predict").exit_code == 0
    ((values, more),) = seen
    assert values == (SparseTokenProblem(), Attention(), Readout())
    assert more == {"dimension": None, "tolerance": 1e-4, "workers": 1, "keep": None}
    parameters = inspect.signature(simulate).parameters
    assert parameters["dimension"].default is None
    own = inspect.signature(commands.simulate).parameters
    assert own["dimension"].default == dimension_of(SparseTokenProblem(), None)
    assert own["trials"].default == parameters["trials"].default


def test_one_trial_has_no_standard_error():
    found = run("simulate", "pooled", *SMALL[:-4], "--trials", 1, "--json")
    assert strict_json(found.stdout)["test_error"]["standard_error"] is None


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


@pytest.mark.parametrize("command", [*COMMANDS, *(f"bags {name}" for name in BAGS)])
def test_help_has_an_example(command):
    found = run(*command.split(), "--help")
    assert found.exit_code == 0
    assert f"Example: sparsetoken {command}" in found.stdout


@pytest.mark.parametrize("command", [*COMMANDS, *(f"bags {name}" for name in BAGS)])
def test_the_help_of_a_command_shows_all_its_options(monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "200")
    app = application()
    for word in command.split():
        app = app[word]
    shown = run(*command.split(), "--help").stdout
    names = [option.name for option in app.assemble_argument_collection()]
    assert len(names) > 3
    assert [name for name in names if name.startswith("--") and f"{name} " not in shown] == []


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
    "forecast?": ["bags", "forcast"],
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
    assert run("--version").stdout.startswith("sparsetoken ")
    shown = run("--help").stdout
    for word in (*GROUPS, *COMMANDS, *MODELS, "Predict errors, loss, AUC and overlaps"):
        assert word in shown
    shown = run("predict", "--help").stdout
    for word in ("Task", "Two gradient steps", "Query", "Readout", *MODELS, "[default: 10]"):
        assert word in shown


def test_cache_settings_leave_the_user_his_choice(tmp_path, monkeypatch):
    own = {"JAX_COMPILATION_CACHE_DIR": "mine", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "9"}
    for name, value in {**own, "XDG_CACHE_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    keep_compiled_code()
    assert {name: os.environ[name] for name in own} == own
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_of_ones_own_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    keep_compiled_code()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


@pytest.mark.slow
def test_the_cache_serves_the_next_run(tmp_path):
    environ = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    environ["XDG_CACHE_HOME"] = str(tmp_path)
    arguments = ["descend", "--steps", "1", "--tolerance", "0.2", "--json"]
    command = [sys.executable, "-m", "sparsetoken", *arguments]
    first = subprocess.run(command, env=environ, capture_output=True, check=True)
    folder = tmp_path / "sparsetoken" / "jax"
    assert folder.stat().st_mode & 0o777 == 0o700
    made = sorted(p.name for p in folder.iterdir() if p.name.endswith("-cache"))
    second = subprocess.run(command, env=environ, capture_output=True, check=True)
    again = sorted(p.name for p in folder.iterdir() if p.name.endswith("-cache"))
    assert made
    assert made == again
    assert first.stdout == second.stdout
    assert second.stderr == b""
    for entry in folder.glob("*-cache"):
        entry.write_bytes(entry.read_bytes()[:9])  # as while another process writes it
    damaged = subprocess.run(command, env=environ, capture_output=True, check=True)
    assert (damaged.stdout, damaged.stderr) == (second.stdout, second.stderr)


def test_the_query_at_a_dimension_has_a_spread():
    found = run("align", "--dimension", "60,120", "--json")
    assert found.exit_code == 0
    few, many = json.loads(found.stdout)["points"]
    assert (few["dimension"], many["dimension"]) == (60, 120)
    assert few["spread"] > many["spread"] > 0
    assert 0 <= few["anti_aligned"] < 1
    both = run("predict", "attention,pooled", "--dimension", 60, "--tolerance", 0.02, "--json")
    assert both.exit_code == 0
    attention, pooled = json.loads(both.stdout)["points"]
    assert attention["spread"] > 0
    assert "spread" not in pooled
