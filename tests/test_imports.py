"""Imports run one way, and theory and simulation stay apart: read from the source."""

import ast
from pathlib import Path

import pytest

import sparsetoken

HOME = Path(sparsetoken.__file__).parent
SOURCES = sorted(HOME.rglob("*.py"))

# What each part may import, besides itself.
BASE = {"validation", "problem", "training", "results", "losses", "numerics"}
ALLOWED = {
    "validation": set(),
    "numerics": {"validation"},
    "losses": {"validation", "numerics"},
    "problem": {"validation"},
    "training": {"validation", "losses"},
    "results": {"training"},
    "attention": {"validation"},
    "theory": {*BASE, "attention"},
    "simulation": {*BASE, "attention"},
    "bags": {"validation"},
    "estimators": {*BASE, "attention", "theory", "bags"},
    "advice": {*BASE, "theory", "bags", "estimators"},
    "sweep": {*BASE, "attention", "theory", "simulation"},
    "beyond": {*BASE, "attention", "simulation"},
    "experiments": {*BASE, "theory", "simulation", "beyond", "figures"},
    "figures": {"validation", "results", "sweep"},
    "displays": {*BASE, "theory", "bags", "figures", "advice"},
    "report": {*BASE, "experiments", "figures", "sweep"},
    "cli": {
        *BASE,
        "theory",
        "simulation",
        "experiments",
        "report",
        "bags",
        "estimators",
        "advice",
        "sweep",
        "figures",
    },
    "__main__": {"cli"},
}


def _part(path: Path) -> str:
    return path.relative_to(HOME).parts[0].removesuffix(".py")


def _names(path: Path) -> list[str]:
    """Return the names of the package that a file imports, at its top or inside functions."""
    modules = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in modules if name.startswith("sparsetoken.")]


def _imported(path: Path) -> set[str]:
    return {name.split(".")[1] for name in _names(path)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(HOME)))
def test_imports_run_one_way(path: Path) -> None:
    part = _part(path)
    if part == "__init__":
        return
    assert part in ALLOWED, f"say in this test what {part} may import"
    names = {"__version__"} if part == "cli" else set()
    assert _imported(path) - names <= {part, *ALLOWED[part]}


def test_theory_and_simulation_share_no_computation() -> None:
    for path in SOURCES:
        if _part(path) == "simulation":
            assert "theory" not in _imported(path)
        if _part(path) == "theory":
            assert "simulation" not in _imported(path)
            # The functions phi and their range define a model; weights are a computation.
            shared = {name for name in _names(path) if name.startswith("sparsetoken.attention")}
            names = ("ACTIVATIONS", "check_exponent")
            assert shared <= {f"sparsetoken.attention.{name}" for name in names}


def test_every_public_name_loads() -> None:
    for name in sparsetoken.__all__:
        assert getattr(sparsetoken, name) is not None
    assert set(sparsetoken.__all__) <= set(dir(sparsetoken))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sparsetoken.nothing
