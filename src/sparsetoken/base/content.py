"""Values as canonical text: equal text means equal values, of the same version of their code."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.base.validation import InvalidInput, one_line

_PACKAGE = __name__.partition(".")[0]
_MAKERS = ("builtins", "functools", "numpy", "jax", "jaxlib")
_WHAT = "code whose results are kept"


def canonical_text(value: Any) -> str:
    """Return a value as text that is equal where the value is.

    Numbers, words, arrays and collections are told apart by what they hold, values of this package
    by their class and fields, and its functions and classes by their names. What anybody else has
    written has a version, and counts by its name, that version and its fields. A version stands
    for all code inside of the value that has it.

    Raises
    ------
    InvalidInput
        If a function, class or value of other code has no version, or cannot be pickled.
    """
    return _json(_Content().of(value))


@functools.cache
def digest_of_source() -> str:
    """Return a hash of the source files of this package, by their places in it and contents."""
    return digest_of_files(Path(__file__).parents[1])


def digest_of_files(folder: Path) -> str:
    """Return a hash of the Python files in a folder, by their places in it and contents."""
    text = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        text.update(f"{path.relative_to(folder).as_posix()} {len(content)} ".encode() + content)
    return text.hexdigest()


def code_version(given: Any) -> str | int:
    """Return the version of a user's code, "" where there is none; or raise `InvalidInput`."""
    if type(given) not in (str, int):
        raise InvalidInput("version", "a text or a whole number", given)
    version: str | int = given
    return version


def name_of(value: Any) -> str:
    """Return the qualified name of a function, class or module, or of the class of a value."""
    code = value if _is_code(value) else type(value)
    name = getattr(code, "__qualname__", code.__name__)
    return f"{getattr(code, '__module__', '')}.{name}"


class _Content:
    """Turns values into JSON; a value within itself is the number of its place."""

    def __init__(self) -> None:
        self._within: list[int] = []

    def of(self, value: Any, versioned: bool = False) -> Any:
        """Return a value as JSON; a value around it may have a version, which stands for it too."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return ["float", (value + 0.0).hex()]  # the sum turns -0.0 into 0.0
        if id(value) in self._within:
            return ["circle", self._within.index(id(value))]
        self._within.append(id(value))
        try:
            return self._of_collection(value, versioned)
        finally:
            self._within.pop()

    def _of_collection(self, value: Any, versioned: bool) -> Any:
        kind = type(value)
        if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
            return self.of(value.item())
        if kind in (complex, bytes, range):
            return [kind.__name__, repr(value)]
        if kind in (list, tuple):
            return ["list", *(self.of(entry, versioned) for entry in value)]
        if kind in (set, frozenset):
            return ["set", *sorted((self.of(entry, versioned) for entry in value), key=_json)]
        if kind is dict:
            pairs = ([self.of(n, versioned), self.of(x, versioned)] for n, x in value.items())
            return ["dict", *sorted(pairs, key=_json)]
        if kind is np.ndarray:
            if value.dtype.hasobject:
                return ["array", list(value.shape), self.of(value.ravel().tolist(), versioned)]
            content = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16)
            return ["array", repr(value.dtype), list(value.shape), content.hexdigest()]
        if kind is functools.partial:
            versioned = versioned or _version(value) is not None
            parts = [_version(value), value.func, value.args, value.keywords]
            return ["partial", *(self.of(part, versioned) for part in parts)]
        if kind is types.MethodType:
            function = value.__func__
            inherited = getattr(type(value.__self__), function.__name__, None) is function
            code = name_of(function) if inherited else self.of(function, versioned)
            return ["method", code, self.of(value.__self__, versioned)]
        return self._of_code(value, versioned)

    def _of_code(self, value: Any, versioned: bool) -> Any:
        """Return a function or class by its name, any other value by its class and content."""
        named = _is_code(value)
        version, ours = _version(value), _is_ours(value if named else type(value))
        versioned = versioned or version is not None
        if not (versioned or ours):
            remedy = (
                'Write f.version = "1" below a function f, version = "1" in the body of a class, '
                'or version="1" among the arguments of a Task, a Network or a CustomLoss for all '
                "functions in it, and change it whenever their code changes; or call without keep."
            )
            raise InvalidInput(_WHAT, "given a version", name_of(value), remedy)
        if named:
            return ["named", name_of(value), version]
        if dataclasses.is_dataclass(value) and ours:
            fields = dataclasses.fields(value)
            content: Any = {field.name: getattr(value, field.name) for field in fields}
        else:
            content = _content(value)
        return ["value", name_of(value), version, self.of(content, versioned)]


def _version(value: Any) -> str | int | None:
    """Return the version of a value itself, or of its class and not of a parent; None without."""
    for owner in (value, type(value)):
        version = getattr(owner, "__dict__", {}).get("version")
        # functools.wraps copies it, and jax.jit and jax.vmap do: it is that of other code.
        copied = version == getattr(getattr(owner, "__wrapped__", None), "version", None)
        if type(version) in (str, int) and version != "" and not copied:
            return version
    return None


def _is_code(value: Any) -> bool:
    """Return whether a value is a class or module, or what Python, NumPy or JAX make of functions.

    All that it is has its name. Other callable values have fields.
    """
    made_by = type(value).__module__.partition(".")[0]
    return isinstance(value, type) or (hasattr(value, "__name__") and made_by in _MAKERS)


def _is_ours(code: Any) -> bool:
    """Return whether code is of this package: its name leads to it.

    Functions that `functools.wraps` has made have names of others.
    """
    module = str(getattr(code, "__module__", ""))
    if module.partition(".")[0] != _PACKAGE:
        return False
    found: Any = sys.modules.get(module)
    for name in code.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is code


def _content(value: Any) -> Any:
    """Return what a pickle has of a value, but for what is computed from the rest."""
    try:
        reduced = value.__reduce_ex__(4)
    except Exception as error:
        got = f"{name_of(value)} ({one_line(error)})"
        raise InvalidInput(_WHAT, "that of values that can be pickled", got) from error
    if isinstance(reduced, str):
        return reduced
    _, given, state, *items = (*reduced, None, None, None)[:5]
    if isinstance(state, dict):
        made = {n: inspect.getattr_static(type(value), n, None) for n in state}
        kept = functools.cached_property
        state = {n: x for n, x in state.items() if not isinstance(made[n], kept)}
    return [given, state, *(None if some is None else list(some) for some in items)]


def _json(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))
