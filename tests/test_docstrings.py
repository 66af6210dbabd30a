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
    "BestDescent",  # what a function returns that is slow, or that shows it
    "BestTraining",
    "CriticalCosine",
    "Diagnosis",
    "Forecast",
    "MessagePassing",
    "ScoreLaw",
    "TokenCheck",
    "VectorizedLinearClassifier",  # used as the other estimators are
    "AttentionRegressor",
    "MaxPooledRegressor",
    "PooledLinearRegressor",
    "AttentionDisplay",  # pictures: the gallery shows them
    "BagLearningCurveDisplay",
    "ScoreDisplay",
}


def test_public_functions_and_classes_have_examples():
    """But for those of `WITHOUT`, whose reasons stand there, and what is raised or warned of."""
    found = {
        name
        for module in map(importlib.import_module, PUBLIC)
        for name in module.__all__
        if inspect.isfunction(one := getattr(module, name))
        or (inspect.isclass(one) and not issubclass(one, Exception))
        if ">>> " not in (inspect.getdoc(one) or "")
    }
    assert found == WITHOUT
