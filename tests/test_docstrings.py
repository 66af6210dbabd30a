"""The examples in docstrings do what they say."""

import doctest
import importlib
import inspect
import pkgutil
import warnings
from pathlib import Path

import pytest

import sparsetoken

HOME = Path(sparsetoken.__file__).parent
WITH_EXAMPLES = [
    name
    for _, name, _ in pkgutil.walk_packages([str(HOME)], "sparsetoken.")
    for path in [HOME.parent.joinpath(*name.split(".")).with_suffix(".py")]
    if path.exists() and ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.unchecked
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_print_what_they_show(name, few_fits):
    module = importlib.import_module(name)
    with warnings.catch_warnings():
        found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0


PUBLIC = (
    "sparsetoken",
    "sparsetoken.theory",
    "sparsetoken.theory.oracle",
    "sparsetoken.theory.tuning",
    "sparsetoken.simulation",
    "sparsetoken.problem",
    "sparsetoken.bags",
    "sparsetoken.estimators",
    "sparsetoken.forecasting",
    "sparsetoken.displays",
    "sparsetoken.sweep",
)
WITHOUT = {
    "best_descent",  # minutes
    "best_training",
    "align_point",  # what `align`, `capacity`, `descend`, `predict` and `simulate` do at one point
    "capacity_point",
    "descend_point",
    "predict_point",
    "simulate_point",
    "sampled_law",  # nodes of a law, for `feature_law`
    "two_nodes",
    "export_table",  # files: docs/sweeps.md shows them
    "read_parquet",
    "read_spec",
    "summaries",
    "to_xarray",
}


def test_public_functions_have_examples():
    """Those of `WITHOUT` have none for a reason; no other one is left out."""
    found = {
        name
        for module in map(importlib.import_module, PUBLIC)
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
        and ">>> " not in (inspect.getdoc(getattr(module, name)) or "")
    }
    assert found == WITHOUT
