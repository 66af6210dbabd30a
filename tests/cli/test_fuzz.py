"""Whatever a user types or hands over as a file ends in a result or in one message.

`make fuzz` draws many more cases than the tests do: FUZZ_CASES says how many for each command
and each kind of file.
"""

import contextlib
import os
import re
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import invoke
from sparsetoken.cli.application import application
from sparsetoken.cli.commands import BAGS, COMMANDS
from sparsetoken.theory.oracle import strength

CASES = int(os.environ.get("FUZZ_CASES", "8"))
LONGEST = 60  # seconds, after which a command that was let in is stopped: it is no failure

# Arguments with which a command is quick; what is drawn comes after them and wins.
QUICK = {
    "align": [],
    "predict": ["pooled"],
    "capacity": ["pooled"],
    "simulate": ["pooled", "--dimension", "20", "--trials", "2"],
    "descend": ["--steps", "2", "--tolerance", "0.1"],
    "minimize": ["--length", "2", "--tolerance", "0.5"],
    "bayes": [],
    "represent": ["--lengths", "2,4"],
    "reproduce": ["no such study"],
    "bags forecast": ["missing.npz"],
    "bags fit": ["missing.npz"],
    "bags report": ["missing.npz", "--out", "page.html"],
    "bags score": ["missing.skops", "missing.npz"],
    "bags predict": ["missing.skops", "missing.npz"],
    "bags pack": ["missing", "--out", "packed"],
    "bags tokens": ["missing.skops", "missing.npz"],
}

numbers = st.one_of(
    st.sampled_from(
        ["inf", "-inf", "nan", "1e309", "-1e309", "1e-300", "1e-400", "-0.0", "0", "-1", "1e15"]
    ),
    st.sampled_from(["9" * 400, "9" * 5000, "-" + "9" * 5000, "1_0", "٣", "0x10", " 5 ", "1e1e1"]),
    st.floats().map(str),
    st.integers(-3, 40).map(str),
    st.integers().map(str),
)
# "\0" cannot stand in an argument, and surrogates stand for bytes that are no UTF-8.
letters = st.characters(blacklist_characters="\0", blacklist_categories=())
words = st.one_of(
    st.sampled_from(["", ",", "1,2", "2,x", "[/red]", "[b]", "\x1b[31m", "None", "[1]", "{}"]),
    st.sampled_from(
        [":memory:", ".", "..", "/", "/dev/null", "/dev/full", "a/b/c", "~", "x" * 300]
    ),
    st.text(letters, max_size=8),
    numbers,
)
models = st.sampled_from(["attention", "pooled", "vectorized", "elementwise", "hard_attention"])


class TooLong(BaseException):
    """A command was let in and takes long."""


@contextlib.contextmanager
def stopped_in_time():
    def stop(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        yield
    except TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def holds(arguments):
    """Run a command: it prints a result, or one message and nothing on standard output."""
    with stopped_in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        done = invoke(*arguments)
        told = f"{arguments}: {done.exit_code} {done.stderr[-500:]}"
        assert done.exit_code in (0, 1, 2), told
        assert "Traceback" not in done.stdout + done.stderr, told
        assert "\x1b[3" not in done.stdout + done.stderr, told
        if done.exit_code == 2:
            assert done.stdout == "", told
            assert "Error" in done.stderr, told
        if done.exit_code == 0:
            assert done.stdout, told


def options(name):
    """Draw one to three options of a command, with values that may be wrong."""
    drawn = []
    app = application()
    for word in name.split():
        app = app[word]
    for option in app.assemble_argument_collection():
        if not option.name.startswith("--") or option.name in ("--workers", "--keep"):
            continue
        if option.hint is bool:
            drawn.append(st.just([option.name]))
        else:
            drawn.append(words.map(lambda value, given=option.name: [f"{given}={value}"]))
    some = st.lists(st.one_of(drawn), min_size=1, max_size=3)
    return some.map(lambda lists: [part for one in lists for part in one])


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "FUZZ_CASES" not in os.environ:  # the curves that cost little
        names = ("pooled", "attention_fixed", "bayes")
        monkeypatch.setattr(strength, "CURVES", {name: strength.CURVES[name] for name in names})


drawn = settings(
    max_examples=CASES,
    derandomize="FUZZ_CASES" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", sorted(QUICK))
def test_any_option(name):
    @drawn
    @given(st.lists(models | words, max_size=1), options(name))
    def run(more, chosen):
        first = more if more and QUICK[name] and not more[0].startswith("-") else QUICK[name][:1]
        holds([*name.split(), *first, *QUICK[name][1:], *chosen])

    run()


def test_all_commands_are_tried():
    assert {*QUICK, "explore"} == {*COMMANDS, *(f"bags {name}" for name in BAGS)}


# Files of options: a good one, of which some values are replaced.
SPEC = {"length": 4, "strength": [2.0, 3.0], "alpha0": "0.5:4:3:log", "loss": "square"}
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
leaves = st.one_of(
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**18), 30000, 10**7]),
    st.floats(),
    st.sampled_from([1e-300, 1e300]),
    texts,
    st.sampled_from(["[/red]", "../x", "attention", "theory", "inf"]),
    st.dates(),
    st.times(),
)
values = st.recursive(
    leaves, lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(texts, deeper, max_size=3)
)


def toml(value):
    """Write a value as TOML."""
    if isinstance(value, dict):
        pairs = (f"{toml(key)} = {toml(one)}" for key, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(letter):08x}" for letter in value) + '"'
    return str(value)


@drawn
@given(st.dictionaries(st.sampled_from(list(SPEC)) | texts, values, min_size=1, max_size=2))
def test_any_config(changes):
    lines = [f"{toml(key)} = {toml(value)}" for key, value in (SPEC | changes).items()]
    Path("spec.toml").write_text("\n".join(lines), encoding="utf-8")
    holds(["align", "--config", "spec.toml"])


@drawn
@given(st.binary(max_size=60), st.integers(0, 60))
def test_a_damaged_config(noise, place):
    whole = "\n".join(f"{toml(key)} = {toml(value)}" for key, value in SPEC.items()).encode()
    Path("spec.toml").write_bytes(whole[:place] + noise + whole[place:])
    holds(["align", "--config", "spec.toml"])


@pytest.mark.parametrize("depth", [1, 5000])
def test_a_deep_config(depth):
    Path("spec.toml").write_text(f"strength = {'[' * depth}{']' * depth}")
    holds(["align", "--config", "spec.toml"])


# Files of bags.
shapes = st.lists(st.integers(0, 4), max_size=4)
kinds = st.sampled_from(
    ["f8", "f4", "f2", "i8", "u1", "?", "c16", "U3", "S2", "M8[s]", "m8[s]", "V3", "i4,f8", "O"]
)
filled = st.sampled_from([0, 1, "rising", "inf", "nan", "large"])


def array(kind, shape, fill):
    count = int(np.prod(shape))
    if fill == "rising":
        plain = np.arange(count) % 7
    elif isinstance(fill, str):
        plain = np.full(count, {"inf": np.inf, "nan": np.nan, "large": 1e308}[fill])
    else:
        plain = np.full(count, fill)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain.astype(kind).reshape(shape)
    except (TypeError, ValueError):
        return np.zeros(shape, kind)


arrays = st.builds(array, kinds, shapes, filled)
bag_commands = st.sampled_from(["fit", "forecast"])


@drawn
@given(bag_commands, st.dictionaries(st.sampled_from(["X", "y", "bag", "mask", "z"]), arrays))
def test_any_arrays(command, stored):
    np.savez("bags.npz", **stored)
    holds(["bags", command, "bags.npz"])


def good_bags():
    rng = np.random.default_rng(0)
    return {"X": rng.standard_normal((12, 3, 2)), "y": np.arange(12) % 2}


@pytest.mark.slow
@drawn
@given(bag_commands, st.sampled_from(["X", "y"]), kinds, filled, st.booleans())
def test_bags_with_one_odd_array(command, name, kind, fill, as_long):
    stored = good_bags()
    if as_long:
        stored = {"X": stored["X"].reshape(36, 2), "y": stored["y"], "bag": np.repeat(range(12), 3)}
    stored[name] = array(kind, stored[name].shape, fill)
    np.savez("bags.npz", **stored)
    holds(["bags", command, "bags.npz"])


@drawn
@given(bag_commands, st.integers(0, 1100), st.binary(min_size=1, max_size=4), st.booleans())
def test_damaged_arrays(command, place, noise, packed):
    (np.savez_compressed if packed else np.savez)("bags.npz", **good_bags())
    whole = bytearray(Path("bags.npz").read_bytes())
    place %= len(whole)
    whole[place : place + len(noise)] = noise
    Path("bags.npz").write_bytes(whole)
    holds(["bags", command, "bags.npz"])


cells = st.one_of(st.none(), st.integers(), st.floats(), texts, st.lists(st.floats(), max_size=3))


@drawn
@given(
    bag_commands,
    st.dictionaries(
        st.sampled_from(["bag", "label", "y", "x", "x2", ""]),
        st.lists(cells, min_size=6, max_size=6),
    ),
    st.sampled_from([None, "multi", "dates", "text", "names"]),
)
def test_any_frame(command, columns, index):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(columns)
    if index == "multi" and len(frame):
        frame.index = pandas.MultiIndex.from_product([[0, 1], list("abc")], names=["bag", "label"])
    elif index == "dates" and len(frame):
        frame.index = pandas.date_range("2020", periods=6, name="bag")
    elif index == "text" and len(frame):
        frame.index = list("bbaabb")
    elif index == "names":
        frame.columns.name = "label"
    try:
        frame.to_parquet("bags.parquet")
    except Exception:  # pyarrow does not write it: nobody can have such a file
        return
    holds(["bags", command, "bags.parquet"])


@drawn
@given(bag_commands, st.binary(max_size=200), st.sampled_from(["npz", "parquet", "pq", "npy"]))
def test_any_bytes(command, content, ending):
    Path(f"bags.{ending}").write_bytes(content)
    holds(["bags", command, f"bags.{ending}"])


@pytest.mark.parametrize("encrypted", [True, False])
def test_members_that_cannot_be_unpacked(encrypted):
    """They are encrypted, or packed by a method that Python does not know."""
    np.savez("bags.npz", **good_bags())
    whole = bytearray(Path("bags.npz").read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for found in re.finditer(re.escape(mark), bytes(whole)):
            whole[found.start() + flags + (0 if encrypted else 2)] = 1 if encrypted else 99
    Path("bags.npz").write_bytes(whole)
    holds(["bags", "fit", "bags.npz"])
