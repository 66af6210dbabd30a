"""Text that is equal where the content is, of values, functions and classes."""

import dataclasses
import functools
import math
import operator
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.content import canonical_text
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model import networks

scale = 2.0


def helper(x):
    return scale * x


def uses_helper(x):
    return [helper(one) for one in x]


def takes_from_mine(x):
    return mine.size * x**mine.inner.power


def power(n):
    return lambda x: x**n


@dataclasses.dataclass(frozen=True)
class Mine:
    size: float = 1.0

    def __call__(self, x):
        return self.size * x


class Plain:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return self.size * x


COVARIANCE = st.TokenCovariance(np.eye(4), signal=np.eye(4)[0])

EQUAL = [
    (lambda: 1.0),
    (lambda: np.float64(0.1) * np.arange(3)),
    (lambda: {"b": 1, "a": (2, 3.0)}),
    (lambda: {3, 1, 2}),
    (lambda: power(2)),
    (lambda: Mine(3.0)),
    (lambda: Plain(3.0)),
    (lambda: functools.partial(helper, x=2)),
    (lambda: jax.jit(helper)),
    (lambda: [st.SparseTokenProblem(), st.Attention(), st.Readout(alpha1=math.inf)]),
    (lambda: st.Descent(networks.Gated(hidden=2))),
    (lambda: dataclasses.replace(COVARIANCE)),
    (lambda: st.tasks.position()),
]


@pytest.mark.parametrize("made", EQUAL)
def test_equal_content_is_equal_text(made):
    assert canonical_text(made()) == canonical_text(made())


DIFFERENT = [
    (1, 1.0),
    (True, 1),
    ("1", 1),
    (0.1, np.nextafter(0.1, 1)),
    (math.inf, -math.inf),
    ([1, 2], [2, 1]),
    ([[1], 2], [1, [2]]),
    (np.arange(3), np.arange(3.0)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (power(2), power(3)),
    (lambda x: x, lambda x: 2 * x),
    (lambda x: np.sin(x), lambda x: np.cos(x)),
    (lambda x, n=1: x, lambda x, n=2: x),
    (np.sin, np.cos),
    (jnp.sin, jnp.cos),
    (operator.add, operator.mul),
    (Mine(1.0), Mine(2.0)),
    (Plain(1.0), Plain(2.0)),
    (Mine(1.0), Plain(1.0)),
    (functools.partial(helper, 1), functools.partial(helper, 2)),
    (st.SparseTokenProblem(10), st.SparseTokenProblem(11)),
    (st.Readout("logistic"), st.Readout("hinge")),
    (COVARIANCE, dataclasses.replace(COVARIANCE, within=2 * np.eye(4))),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_content_is_other_text(one, other):
    assert canonical_text(one) != canonical_text(other)


def test_what_a_function_refers_to_counts_however_deep(monkeypatch):
    before = canonical_text(uses_helper)
    monkeypatch.setitem(globals(), "scale", 3.0)
    changed = canonical_text(uses_helper)
    assert changed != before
    monkeypatch.setitem(globals(), "scale", 2.0)
    assert canonical_text(uses_helper) == before
    monkeypatch.setitem(globals(), "helper", lambda x: scale * x + 0)
    assert canonical_text(uses_helper) != before


def test_what_code_takes_from_a_module_of_ones_own_counts(monkeypatch):
    """Also where it was changed at run time, and the file was not."""
    mine, inner = types.ModuleType("mine"), types.ModuleType("mine.inner")
    mine.size, mine.unused, mine.inner, inner.mine, inner.power = 3.0, 1.0, inner, mine, 2
    monkeypatch.setitem(globals(), "mine", mine)
    before = canonical_text(takes_from_mine)
    mine.unused = 2.0
    assert canonical_text(takes_from_mine) == before
    mine.size = 0.1
    changed = canonical_text(takes_from_mine)
    assert changed != before
    inner.power = 3
    assert canonical_text(takes_from_mine) != changed


def test_code_that_calls_itself_has_an_end():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n > 0 and even(n - 1)

    assert canonical_text(even) != canonical_text(odd)


def test_a_version_stands_for_the_code():
    def one(x):
        return x

    def other(x):
        return 2 * x

    one.version = other.version = 1
    other.__qualname__ = one.__qualname__
    assert canonical_text(one) == canonical_text(other)
    other.version = 2
    assert canonical_text(one) != canonical_text(other)


def test_slots_are_refused_and_code_without_a_module_is_read():
    class Slotted:
        __slots__ = ("size",)

    with pytest.raises(InvalidInput, match="an attribute `version`"):
        canonical_text(Slotted())
    scope = {"__name__": None}
    exec("def made(x):\n    return 2 * x", scope)
    assert '"code"' in canonical_text(scope["made"])


def test_what_has_no_known_content_is_refused_with_the_remedy():
    with pytest.raises(InvalidInput, match="an attribute `version`"):
        canonical_text([iter([1])])
