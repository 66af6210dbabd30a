"""Text that is equal where values are: of their fields, and of versions of code of others."""

import dataclasses
import enum
import functools
import inspect
import math
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest
from scipy import special

import sparsetoken as st
from sparsetoken.base.content import canonical_text, digest_of_files, digest_of_source
from sparsetoken.base.validation import InvalidInput

COVARIANCE = st.TokenCovariance(np.eye(4), signal=np.eye(4)[0])
shape = 2.0  # named like an attribute of arrays


def of_version(code, version):
    if version is not None:
        code.version = version
    return code


def power(n, version=None):
    return of_version(lambda x: x**n, version)


def named_tuple(version, size=1.0):
    class Pair(NamedTuple):
        size: float

        def __call__(self, x):
            return self.size * x

    return of_version(Pair, version)(size)


def dataclass(version, size=1.0):
    @dataclasses.dataclass(frozen=True)
    class Scaled:
        size: float
        turned: dataclasses.InitVar[bool] = False

        def __call__(self, x):
            return self.size * x

    return of_version(Scaled, version)(size)


def plain(version, size=1.0):
    class Plain:
        def __init__(self):
            self.size = size

        @functools.cached_property
        def twice(self):
            return 2 * self.size

    return of_version(Plain, version)()


def slotted(version, size=1.0):
    class Slotted:
        __slots__ = ("size",)

    value = of_version(Slotted, version)()
    value.size = size
    return value


def subclass(version, size=1.0):
    class Narrow(st.model.tokens.Isotropic):  # not decorated: it has the fields of its parent
        def __init__(self):
            object.__setattr__(self, "size", size)

    return of_version(Narrow, version)()


def network(version, heads=1):
    class Mine(st.networks.Softmax):
        def weights(self, scores):
            return scores

    return of_version(Mine, version)(heads)


def loss(version, size=1.0):
    class Mine(st.losses.Loss):
        name = "mine"

        def __init__(self):
            self.size = size

        def value(self, y, z):
            return self.size * (z - y) ** 2

        slope = curvature = value

    return of_version(Mine, version)()


def mapping(version, size=1.0):
    class Mine(dict):
        pass

    return of_version(Mine, version)(size=size)


def member(version, name="one"):
    class Mine(enum.Enum):
        one = 1
        two = 2

    return of_version(Mine, version)[name]


def with_import(version):
    def norm(x):
        from numpy.linalg import norm

        return norm(x)

    return of_version(norm, version)


def rule(version):
    straight = jax.custom_jvp(lambda z: z)
    straight.defjvp(lambda at, along: (at[0], 1.0 * along[0]))
    return of_version(straight, version)


def wrapped(version):
    @functools.wraps(with_import)
    def made(x):
        return 2 * x

    return of_version(made, version)


def decorator(version, size=1.0):
    """Return an instance with the name of a function, and with fields."""
    value = plain(version, size)
    return functools.update_wrapper(value, with_import)


def method(version, size=1.0):
    return dataclass(version, size).__call__


KINDS = {
    "function": lambda version: power(2, version),
    "import within": with_import,
    "function under jax.jit": lambda version: of_version(jax.jit(lambda x: x), version),
    "rule of a derivative": rule,
    "function made with wraps": wrapped,
    "partial": lambda version: of_version(functools.partial(np.power, 2), version),
    "partial of a function": lambda version: functools.partial(power(2, version), 2),
    "method": method,
    "NamedTuple": named_tuple,
    "dataclass with InitVar": dataclass,
    "plain class": plain,
    "decorator": decorator,
    "class with slots": slotted,
    "subclass without a decorator": subclass,
    "network": network,
    "loss": loss,
    "dict": mapping,
    "member of an Enum": member,
    "class": lambda version: type(plain(version)),
    # No attribute can be set, or none that stays: the value around it has the version.
    "function of NumPy": lambda version: st.networks.Network(np.sin, 1, version=version or ""),
    "installed function": lambda version: st.losses.CustomLoss(
        "mine", lambda y, z: jax.nn.softplus(-y * z), version=version or ""
    ),
    "functions of a task": lambda version: st.Task(
        3, 1, special.expit, special.ndtr, version=version or ""
    ),
}


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_code_of_others_needs_a_version_and_is_told_apart_by_it(made):
    with pytest.raises(InvalidInput, match="given a version") as raised:
        canonical_text([made(None)])
    assert 'version = "1"' in str(raised.value)
    assert "whenever their code changes" in str(raised.value)
    assert "without keep" in str(raised.value)
    for version, other in [("1", "2"), (1, 2), ("1", 1)]:
        assert canonical_text(made(version)) == canonical_text(made(version))
        assert canonical_text(made(version)) != canonical_text(made(other))


@pytest.mark.parametrize(
    ("made", "other"),
    [
        (method, 2.0),
        (named_tuple, 2.0),
        (dataclass, 2.0),
        (plain, 2.0),
        (decorator, 2.0),
        (slotted, 2.0),
        (subclass, 2.0),
        (network, 2),
        (loss, 2.0),
        (mapping, 2.0),
        (member, "two"),
    ],
)
def test_of_one_version_fields_count(made, other):
    assert canonical_text(made("1")) != canonical_text(made("1", other))


def test_the_version_of_a_parent_is_not_that_of_a_child():
    class Child(type(plain("1"))):
        pass

    with pytest.raises(InvalidInput, match="Child"):
        canonical_text(Child())
    Child.version = "1"
    assert canonical_text(Child()) != canonical_text(plain("1"))


@pytest.mark.parametrize("wrap", [jax.jit, jax.vmap, lambda f: functools.wraps(f)(lambda x: f(-x))])
def test_a_version_that_was_copied_with_the_name_is_none(wrap):
    wrapped = wrap(power(2, "1"))
    assert wrapped.version == "1"
    with pytest.raises(InvalidInput, match="given a version"):
        canonical_text(wrapped)
    wrapped.version = "wrapped, 1"
    assert canonical_text(wrapped) != canonical_text(power(2, "1"))


def test_what_has_the_name_of_a_function_of_this_package_is_not_one():
    wrapped = functools.wraps(st.predict)(lambda *given: None)
    with pytest.raises(InvalidInput, match="given a version"):
        canonical_text(wrapped)
    assert "sparsetoken.theory.predict.predict" in canonical_text(st.predict)


def test_what_cannot_be_part_of_a_value_is_refused():
    for value in (iter([1]), object(), st):
        with pytest.raises(InvalidInput, match="given a version"):
            canonical_text([value])
    with pytest.raises(InvalidInput, match="can be pickled"):
        canonical_text(plain("1", size=threading.Lock()))


@pytest.mark.parametrize("version", [None, 1.0, True, ["1"]])
def test_a_version_is_a_text_or_a_whole_number(version):
    with pytest.raises(InvalidInput, match="version must be a text or a whole number"):
        st.networks.Network(lambda H, c: H[:, 0].sum(), 1, version=version)
    made = of_version(lambda x: x, version)
    with pytest.raises(InvalidInput, match="given a version"):
        canonical_text(made)


def test_one_version_stands_for_all_functions_of_a_value():
    """Whatever they refer to, as an ellipsis or a global that is named like an attribute."""

    def first(H, c):
        return H[..., 0].sum()

    def second(H, c):
        return shape * H.sum() / H.shape[0]

    made = [st.networks.Network(one, 1, version="1") for one in (first, second)]
    assert canonical_text(made[0]) != canonical_text(made[1])
    assert canonical_text(made[0]) == canonical_text(st.networks.Network(first, 1, version="1"))
    task = functools.partial(st.Task, 3, 1, lambda n, rng: None, lambda latent, Z: None)
    assert canonical_text(task(version="1")) != canonical_text(task(version="1", uniforms=1))


EQUAL = [
    (lambda: 1.0),
    (lambda: np.float64(0.1) * np.arange(3)),
    (lambda: {"b": 1, "a": (2, 3.0)}),
    (lambda: {3, 1, 2}),
    (lambda: dataclass("1")),
    (lambda: [st.SparseTokenProblem(), st.Attention(), st.Readout(alpha1=math.inf)]),
    (lambda: st.Descent(st.networks.Gated(hidden=2), rates={"q": 1.0, "w": [1.0, 2.0]}, steps=2)),
    (lambda: dataclasses.replace(COVARIANCE)),
]


@pytest.mark.parametrize("made", EQUAL)
def test_equal_values_are_equal_text(made):
    assert canonical_text(made()) == canonical_text(made())


def test_what_was_computed_from_a_value_is_no_part_of_it():
    used, other = plain("1"), dataclasses.replace(COVARIANCE)
    before = canonical_text([used, other])
    assert (used.twice, hash(other) == hash(COVARIANCE)) == (2.0, True)
    assert canonical_text([used, other]) == before
    assert canonical_text(st.Readout("logistic")) == canonical_text(
        st.Readout(st.losses.get_loss("logistic"))
    )


DIFFERENT = [
    (1, 1.0),
    (True, 1),
    ("1", 1),
    (0.1, np.nextafter(0.1, 1)),
    (math.inf, -math.inf),
    ([1, 2], [2, 1]),
    ([[1], 2], [1, [2]]),
    (range(3), range(4)),
    (np.arange(3), np.arange(3.0)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array([1, "a"], object), np.array([1, "b"], object)),
    (st.SparseTokenProblem(10), st.SparseTokenProblem(11)),
    (st.Readout("logistic"), st.Readout("hinge")),
    (COVARIANCE, dataclasses.replace(COVARIANCE, within=2 * np.eye(4))),
    (st.predict, st.simulate),
    (functools.partial(st.predict, 1), functools.partial(st.predict, 2)),
    (functools.partial(st.predict, 1), functools.partial(st.simulate, 1)),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_values_are_other_text(one, other):
    assert canonical_text(one) != canonical_text(other)


def test_a_value_within_itself_has_an_end():
    value = plain("1")
    value.itself = [value]
    assert "circle" in canonical_text(value)


CHANGES = {
    "tasks": {
        "lookup": ["length=8", "hops=3", "strengths=5.0"],
        "majority": ["length=7", "strength=3.0"],
        "meeting_concepts": ["length=6", "strengths=(5.5, 4.0)"],
        "needle_with_value": ["length=7", "strength=5.0", "value=2.0"],
        "position": ["length=6", "told=2", "strength=4.0", "noise=0.3"],
        "single_location_regression": ["length=7", "strength=4.0", "scale=1.0", "noise=0.2"],
    },
    "networks": {
        "DeepSets": ["hidden=3"],
        "Elementwise": ["activation='tanh'", "beta=2.0"],
        "Gated": ["hidden=3"],
        "Pooled": [],
        "SelfAttention": ["rank=3"],
        "CentredSoftmax": ["heads=2", "beta=2.0"],
        "Softmax": ["heads=2", "beta=2.0"],
        "Transformer": [
            "layers=3",
            "heads=2",
            "beta=2.0",
            "hidden=2",
            "causal=True",
            "last=True",
        ],
    },
}
"""Arguments other than the defaults, by what makes tasks and networks."""

VALUES = [
    f"st.{place}.{name}({given})"
    for place, names in CHANGES.items()
    for name, changes in names.items()
    for given in ("", *changes)
]


@pytest.mark.parametrize(
    ("place", "own"), [("tasks", set()), ("networks", {"Architecture", "Network", "QueryNetwork"})]
)
def test_every_task_and_network_with_every_argument_is_tried(place, own):
    made = getattr(st, place)
    assert set(CHANGES[place]) == set(made.__all__) - own
    for name, changes in CHANGES[place].items():
        known = inspect.signature(getattr(made, name)).parameters
        assert [change.partition("=")[0] for change in changes] == list(known), name


def test_tasks_and_networks_of_this_package_count_by_their_arguments_in_every_process():
    code = (
        "import sys, sparsetoken as st\n"
        "from sparsetoken.base.content import canonical_text\n"
        "for value in sys.argv[1:]:\n"
        "    print(canonical_text(eval(value)))\n"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", code, *VALUES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] == [canonical_text(eval(value)) for value in VALUES]
    assert len(set(texts[0])) == len(VALUES)


def test_the_digest_of_the_source_is_that_of_its_files_wherever_they_are(tmp_path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(Path(st.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert digest_of_files(copy) == digest_of_source()
    (copy / "theory" / "predict.pyc").write_bytes(b"compiled")
    assert digest_of_files(copy) == digest_of_source()
    file = copy / "theory" / "saddle" / "equations.py"
    content = file.read_bytes()
    file.write_bytes(content.replace(b"0", b"1", 1))
    assert digest_of_files(copy) != digest_of_source()
    file.write_bytes(content)
    assert digest_of_files(copy) == digest_of_source()
    file.rename(file.with_name("other.py"))
    assert digest_of_files(copy) != digest_of_source()
