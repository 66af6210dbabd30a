"""The public names, their signatures and annotations are those written down beside this file.

A change of them is seen in ``public_surface.txt``, which this file writes when it is run:
``python tests/test_public_surface.py``.
"""

import importlib
import inspect
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

WRITTEN = Path(__file__).with_name("public_surface.txt")
MODULES = (
    "sparsetoken",
    "sparsetoken.theory",
    "sparsetoken.theory.oracle",
    "sparsetoken.theory.tuning",
    "sparsetoken.simulation",
    "sparsetoken.model",
    "sparsetoken.results",
    "sparsetoken.bags",
    "sparsetoken.forecasting",
)
OTHERS = (  # whose signatures are not written down
    "base.validation",
    "estimators",
    "explorer",
    "figures",
    "losses",
    "model.networks",
    "model.presets",
    "model.tasks",
)


def functions() -> Iterator[tuple[str, typing.Any]]:
    for module in map(importlib.import_module, MODULES):
        for name in sorted(module.__all__):
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                yield f"{module.__name__}.{name}", found


def surface() -> str:
    lines = []
    for name, found in functions():
        kind = "class" if inspect.isclass(found) else "def"
        signature = "" if issubclass_of_str(found) else inspect.signature(found)
        lines.append(f"{kind} {name}{signature}")
    return "\n".join(lines) + "\n"


def issubclass_of_str(found: typing.Any) -> bool:
    """Whether a class is a word, which has no signature of its own."""
    return inspect.isclass(found) and issubclass(found, (str, Exception))


@pytest.mark.parametrize("module", [*MODULES, *map("sparsetoken.{}".format, OTHERS)])
def test_a_public_module_shows_its_public_names_alone(module: str) -> None:
    page = importlib.import_module(module)
    assert dir(page) == sorted(page.__all__)


def test_the_public_surface_is_the_one_written_down() -> None:
    assert surface() == WRITTEN.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "found"), [(name, one) for name, one in functions() if inspect.isfunction(one)]
)
def test_every_parameter_and_result_has_an_annotation(name: str, found: typing.Any) -> None:
    signature = inspect.signature(found)
    assert signature.return_annotation is not inspect.Signature.empty, name
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty, (name, parameter.name)


if __name__ == "__main__":
    WRITTEN.write_text(surface(), "utf-8")
