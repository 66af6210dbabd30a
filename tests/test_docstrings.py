"""Public names have examples that do what they say, and name their neighbours."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import typing
import warnings
from pathlib import Path

import pytest

import sparsetoken
from sparsetoken.results import Record

HOME = Path(sparsetoken.__file__).parent
WITH_EXAMPLES = [
    name
    for _, name, _ in pkgutil.walk_packages([str(HOME)], "sparsetoken.")
    for path in [HOME.parent.joinpath(*name.split(".")).with_suffix(".py")]
    if path.exists() and ">>> " in path.read_text(encoding="utf-8")
]


COSTLY = {"sparsetoken.theory.dynamics.descend"}  # descents that nothing else compiles


@pytest.mark.unchecked
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in COSTLY else ())
        for name in WITH_EXAMPLES
    ],
)
def test_examples_in_docstrings_print_what_they_show(name, few_fits):
    module = importlib.import_module(name)
    with warnings.catch_warnings():
        found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0


CONF = Path(__file__).parents[1] / "docs" / "conf.py"
SEE_ALSO = re.compile(r"^See Also\n-+\n(.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)


def reference():
    """Return the classes and functions of the reference, by the page and their name."""
    assigned = re.search(r"^MODULES = (.*?^})", CONF.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    found = {}
    for page in ast.literal_eval(assigned[1]):
        module = importlib.import_module(page)
        for name in module.__all__:
            one = getattr(module, name)
            kind = (inspect.isclass(one) or inspect.isfunction(one)) and one is not typing.Any
            if kind and one not in found.values():
                found[page, name] = one
    return found


@pytest.fixture(scope="module")
def public():
    if not CONF.exists():
        pytest.skip("installed without the documentation")
    return reference()


def of_results(public):
    """Return warnings, and classes of what functions return, which have the examples."""
    calls = [one for one in public.values() if inspect.isfunction(one)]
    given = " ".join(str(one.__annotations__.get("return")) for one in calls)
    kinds = {key: one for key, one in public.items() if inspect.isclass(one)}
    names = set(re.findall(r"\w+", given))
    return {
        k for k, one in kinds.items() if k[1] in names or issubclass(one, (Record, Warning, tuple))
    }


def test_public_names_have_examples(public):
    lacking = {key for key, one in public.items() if ">>> " not in (one.__doc__ or "")}
    assert lacking - of_results(public) == set()


def test_public_names_name_their_neighbours_in_the_reference(public):
    lacking, unknown = [], []
    for (page, name), one in public.items():
        section = SEE_ALSO.search(inspect.cleandoc(one.__doc__ or ""))
        if section is None:
            lacking.append((page, name))
            continue
        for line in section[1].splitlines():
            other = line.split(" : ")[0]
            if (page, other) not in public and tuple(other.rsplit(".", 1)) not in public:
                unknown.append((page, name, line))
    assert set(lacking) - of_results(public) == set()
    assert unknown == []
