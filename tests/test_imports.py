"""Imports run one way, and theory and simulation stay apart: read from the source."""

import ast
import functools
import graphlib
from pathlib import Path

import pytest

import sparsetoken

HOME = Path(sparsetoken.__file__).parent

# What each room may import, besides itself, from the bottom to the top.
ALLOWED: dict[str, set[str]] = {
    "version": set(),
    "base": set(),
    "numerics": {"base"},
    "losses": {"base", "numerics"},
    "model": {"base", "numerics", "losses"},
    "bags": {"base"},
    "work": {"base", "numerics"},
    "figures": {"base", "model", "bags"},
    "results": {"base", "model", "figures"},
}
CORE = {"base", "numerics", "losses", "model", "results"}
ALLOWED |= {
    "theory": {*CORE, "work"},
    "simulation": {*CORE, "work"},
    "estimators": {*CORE, "bags", "theory", "version"},  # theory for the best split alone
    "forecasting": {*CORE, "bags", "estimators", "figures"},
    "studies": {*CORE, "work", "figures", "theory", "simulation"},
    "explorer": {*CORE, "figures", "theory", "simulation", "version"},
}
ALLOWED["cli"] = set(ALLOWED)
ALLOWED["__main__"] = {"cli"}


def _module(path: Path) -> str:
    parts = path.relative_to(HOME.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {_module(path): path for path in sorted(HOME.rglob("*.py"))}


def _part(module: str) -> str:
    return module.split(".")[1]


@functools.cache
def _names(module: str) -> list[str]:
    """Return the names of the package that a file imports, at its top or inside functions."""
    path, found = SOURCES[module], []
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in nodes:
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.startswith("sparsetoken.")]


def _files(module: str) -> set[str]:
    """Return the modules that a file imports, or imports names from."""
    names = _names(module)
    return {name if name in SOURCES else name.rpartition(".")[0] for name in names} - {module}


INSIDE = [module for module in SOURCES if module != "sparsetoken"]


@pytest.mark.parametrize("module", INSIDE)
def test_imports_run_one_way(module: str) -> None:
    part = _part(module)
    assert part in ALLOWED, f"say in this test what {part} may import"
    assert {_part(name) for name in _names(module)} <= {part, *ALLOWED[part]}


def test_progress_is_light() -> None:
    """It loads what shows progress on first use only."""
    tree = ast.parse(SOURCES["sparsetoken.base.progress"].read_text(encoding="utf-8"))
    top = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert top
    assert not [line for line in top if "tqdm" in line or "numpy" in line]


def test_what_is_allowed_has_an_order() -> None:
    graphlib.TopologicalSorter(ALLOWED).prepare()  # raises CycleError


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = {module: _files(module) for module in INSIDE}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_no_folders_of_the_theory_import_each_other_in_a_circle() -> None:
    """A file that stands in no folder is one by itself."""
    above: dict[str, set[str]] = {}
    for module in INSIDE:
        if _part(module) == "theory":
            files = {file for file in _files(module) if _part(file) == "theory"}
            folders = {_folder(file) for file in files} - {_folder(module), "theory"}
            above.setdefault(_folder(module), set()).update(folders)
    assert {"laws", "query", "saddle", "outcome", "readout"} <= above.keys()
    graphlib.TopologicalSorter(above).prepare()  # raises CycleError, which names the circle


def _folder(module: str) -> str:
    return ".".join(module.split(".")[2:3]) or "theory"


@pytest.mark.parametrize(("one", "other"), [("theory", "simulation"), ("simulation", "theory")])
def test_theory_and_simulation_never_reach_each_other(one: str, other: str) -> None:
    reached = [module for module in INSIDE if _part(module) == one]
    for module in reached:
        reached += sorted(_files(module) - {*reached, "sparsetoken"})
    assert not [module for module in reached if _part(module) == other]


def test_every_public_name_loads() -> None:
    for name in sparsetoken.__all__:
        assert getattr(sparsetoken, name) is not None
    assert set(sparsetoken.__all__) <= set(dir(sparsetoken))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = sparsetoken.nothing


@pytest.mark.parametrize(
    "place", ["model.HardAttention", "theory.sign_margin", "estimators.PooledClassifier"]
)
def test_a_name_of_a_part_is_an_attribute_error_that_says_where_it_is(place: str) -> None:
    with pytest.raises(AttributeError, match=f"st.{place}"):
        getattr(sparsetoken, place.partition(".")[2])


def test_every_folder_of_code_is_a_package():
    """A folder without __init__.py can be imported here, but is not in what is installed."""
    folders = {file.parent for file in HOME.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
