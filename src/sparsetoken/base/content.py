"""Values as canonical text: equal text means equal content, of functions and classes as well."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path, PurePath
from typing import Any, TypeVar

import numpy as np

from sparsetoken.base.validation import InvalidInput

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = __name__.partition(".")[0]
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_MADE = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__slots__"}
_MADE |= {"__match_args__", "__dataclass_fields__", "__dataclass_params__", "__abstractmethods__"}
_MADE |= {"_abc_impl", "__parameters__", "__orig_bases__", "__hash__"}
"""Entries of a class that Python makes."""

_PARTS: dict[Any, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    types.MethodType: ("__self__", "__func__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset"),
    functools.cached_property: ("func",),
}
"""What counts of wrapped functions."""


def canonical_text(value: Any) -> str:
    """Return a value as text that is equal where the content is.

    Numbers, words, arrays and collections are told apart by what they hold, values of this package
    by their class and fields. Functions and classes of one's own are told apart by their compiled
    code, the values that it refers to, and theirs in turn; what has an attribute ``version`` counts
    by its name, its fields and that. Code of installed packages counts by name.

    Raises
    ------
    InvalidInput
        If there is something whose content is not known.
    """
    return json.dumps(_Content().of(value), sort_keys=True, separators=(",", ":"))


_RESULTS: list[Any] = []
"""The caches of `cached_by_code`."""
_FIRST: dict[Any, str] = {}
"""Functions and what holds them, with their canonical text at the first use."""
_MOST = 512  # of them: more than a cache has entries


def cached_by_code(size: int) -> Callable[[Function], Function]:
    """Return a decorator like `functools.lru_cache`, for what is made from functions of a user.

    A function is found by its identity. `forget_changed` empties the caches where it is no longer
    what it was.
    """

    def decorated(function: Function) -> Function:
        _RESULTS.append(functools.lru_cache(maxsize=size)(function))
        return _RESULTS[-1]

    return decorated


def forget_changed(value: Any) -> None:
    """Empty the caches if functions in a value have other content than at their first use.

    A notebook changes a function by a name that it refers to: a helper that is defined again, a
    number, an array. A value without a canonical text is taken for unchanged.
    """
    try:
        text = canonical_text(value)
    except (InvalidInput, RecursionError):
        return
    if _FIRST.setdefault(value, text) != text or len(_FIRST) > _MOST:
        for results in _RESULTS:
            results.cache_clear()
        _FIRST.clear()
        _FIRST[value] = text


class _Content:
    """Turns values into JSON; code that is met again is the number of its first place."""

    def __init__(self) -> None:
        self._code: dict[int, int] = {}
        self._within: list[int] = []

    def of(self, value: Any) -> Any:
        """Return a value as JSON."""
        if value is None or (isinstance(value, (bool, int, str)) and not isinstance(value, Enum)):
            return value
        if isinstance(value, float):
            return ["float", (value + 0.0).hex()]  # the sum turns -0.0 into 0.0
        if isinstance(value, (type, types.FunctionType)):
            return self._of_code(value)
        if id(value) in self._within:
            return ["circle", self._within.index(id(value))]
        self._within.append(id(value))
        try:
            return self._of_collection(value)
        finally:
            self._within.pop()

    def _of_collection(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            return self.of(value.item())
        if isinstance(value, (bytes, complex, PurePath)):
            return [type(value).__name__, repr(value)]
        if isinstance(value, (list, tuple)):
            return ["list", *map(self.of, value)]
        if isinstance(value, (set, frozenset)):
            return ["set", *map(self.of, sorted(value, key=repr))]
        if isinstance(value, Mapping):
            names = sorted(value, key=lambda name: json.dumps(self.of(name)))
            return ["dict", *([self.of(name), self.of(value[name])] for name in names)]
        if hasattr(value, "__array__"):
            array = np.ascontiguousarray(value)
            if array.dtype.hasobject:
                return ["array", list(array.shape), *map(self.of, array.ravel().tolist())]
            return ["array", array.dtype.str, list(array.shape), _digest(array.tobytes())]
        return self._of_object(value)

    def _of_object(self, value: Any) -> Any:
        """Return a value by its class and fields, or as a part of code."""
        kind = type(value)
        for text in ("label", "digest"):  # of a loss, and of a covariance
            if _of_package(kind.__module__) and isinstance(getattr(value, text, None), str):
                return [_name(kind), getattr(value, text)]
        if isinstance(value, Enum):
            return [_name(kind), value.name]
        if isinstance(value, types.ModuleType):
            return _of_module(value)
        if isinstance(value, types.CodeType):
            named = (value.co_names, value.co_varnames, value.co_freevars)
            return ["code", value.co_code.hex(), self.of(value.co_consts), *map(list, named)]
        if kind in _PARTS:
            return [kind.__name__, *(self.of(getattr(value, part)) for part in _PARTS[kind])]
        if dataclasses.is_dataclass(value):
            fields = [[f.name, self.of(getattr(value, f.name))] for f in dataclasses.fields(value)]
            return [self.of(kind), fields]
        if callable(value) and hasattr(value, "__wrapped__"):  # such as a function under jax.jit
            return ["wrapped", self.of(value.__wrapped__)]
        if hasattr(value, "__dict__") and (
            _of_package(kind.__module__) or not _is_installed(kind.__module__)
        ):
            return [self.of(kind), self.of(vars(value))]
        if hasattr(value, "__qualname__") and _is_installed(str(value.__module__)):
            return ["named", _name(value)]
        if (version := getattr(value, "version", None)) is not None:
            return ["version", _name(kind), self.of(version)]
        legal = "given with values that are known by their content"
        remedy = (
            "Give the function or class an attribute `version` that changes with its code, or call "
            "without keep."
        )
        raise InvalidInput("keep", legal, value, remedy)

    def _of_code(self, value: Any) -> Any:
        """Return a function or class: by name, or by its code and what that refers to."""
        if _is_installed(str(value.__module__)) and "<" not in value.__qualname__:
            return ["named", _name(value)]
        if (version := vars(value).get("version")) is not None:
            return ["version", _name(value), self.of(version)]
        if id(value) in self._code:
            return ["again", self._code[id(value)]]
        self._code[id(value)] = len(self._code)
        if isinstance(value, type):
            own = {name: entry for name, entry in vars(value).items() if name not in _MADE}
            return ["class", value.__name__, self.of(value.__bases__), self.of(own)]
        code, scope = value.__code__, value.__globals__
        cells = [_inside(cell) for cell in value.__closure__ or ()]
        names = sorted(_names(code))
        used = [[name, self._of_used(scope[name], names)] for name in names if name in scope]
        parts = (code, value.__defaults__, value.__kwdefaults__, cells)
        return ["function", *map(self.of, parts), used]

    def _of_used(self, value: Any, names: list[str]) -> Any:
        """Return what code refers to: of a module of one's own, also what it may take from it."""
        if not isinstance(value, types.ModuleType) or _is_installed(value.__name__):
            return self.of(value)
        if id(value) in self._within:
            return ["circle", self._within.index(id(value))]
        self._within.append(id(value))
        try:
            inside = [n for n in names if n in vars(value)]
            taken = [[name, self._of_used(vars(value)[name], names)] for name in inside]
        finally:
            self._within.pop()
        return [*_of_module(value), taken]


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _of_package(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


def _is_installed(module: str) -> bool:
    """Return whether code counts by name: that of this package, or of an installed one."""
    if _of_package(module) or module in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and file.startswith(_INSTALLED)


def _of_module(module: types.ModuleType) -> Any:
    """Return a module by its name, one's own also by the content of its file."""
    name, file = module.__name__, getattr(module, "__file__", None)
    if _is_installed(name) or file is None:
        return ["module", name]
    return ["module", name, _digest(Path(file).read_bytes())]


def _names(code: types.CodeType) -> set[str]:
    """Return the names that code refers to, that of functions within it included."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return {*code.co_names}.union(*map(_names, inner))


def _inside(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty: a name that is not yet bound
        return None
