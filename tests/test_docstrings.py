"""The examples in docstrings do what they say."""

import doctest
import importlib
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


def test_the_main_functions_have_examples():
    main = {"theory.predict", "theory.capacity", "simulation.simulate", "theory.oracle.learning"}
    assert {f"sparsetoken.{name}" for name in main} <= set(WITH_EXAMPLES)
