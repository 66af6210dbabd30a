"""Sets of bags, drawn from packaged tokens or user-provided, and their splits."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.datasets import load_digits, load_sample_image

from sparsetoken.bags import Bags, as_bags, read
from sparsetoken.bags.files import ENDINGS
from sparsetoken.base.validation import InvalidInput
from sparsetoken.forecasting.inputs import LEAST_BAGS, read_labelled
from sparsetoken.simulation.seeds import seed_of

DIGIT, PATCHES = 9, 5000
"""The digit that positive bags have one of, and patches of each photograph."""
MULTIPLES = (1, 2, 4)  # of the pilot, as a forecast has them by default
LEAST_PILOT, LARGEST_PILOT, PILOT_SHARE = 40, 100, 0.2
LEAST_REST = 0.1  # of the bags of a given set, to test on
MOST_REST = 1000


class Tokens(NamedTuple):
    """Tokens that every bag may hold, tokens that positive bags have one of, and a query.

    The query is the linear discriminant of single tokens, so that it is the same at every size.
    """

    others: Float[np.ndarray, "N d"]
    wanted: Float[np.ndarray, "M d"]
    query: Float[np.ndarray, " d"]


@functools.cache
def source(name: str) -> Tokens:
    """Return standardised tokens: images of digits, or patches of two photographs."""
    X, wanted = _digits() if name == "digits" else _textures()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    S = np.cov(X[~wanted].T)
    query = np.linalg.solve(S, X[wanted].mean(axis=0) - X[~wanted].mean(axis=0))
    return Tokens(X[~wanted], X[wanted], query / np.sqrt(query @ S @ query))


def _digits() -> tuple[Float[np.ndarray, "N d"], Bool[np.ndarray, " N"]]:
    """Return pixels that vary, and which images are of the digit."""
    X, label = load_digits(return_X_y=True)
    return X[:, X.std(axis=0) > 0], label == DIGIT


def _textures() -> tuple[Float[np.ndarray, "N d"], Bool[np.ndarray, " N"]]:
    """Return grey values and the log spectrum of patches, and which are of the flower."""
    rng, features = np.random.default_rng(seed_of("real-tokens", "patches")), []
    for name in ("china.jpg", "flower.jpg"):
        image = load_sample_image(name).mean(axis=2) / 255
        windows = np.lib.stride_tricks.sliding_window_view(image, (8, 8))
        i, j = (rng.integers(0, n, PATCHES) for n in windows.shape[:2])
        grey = windows[i, j]
        amplitudes = np.abs(np.fft.rfft2(grey))[:, :, 1:4]  # the other columns repeat values
        spectrum = np.log(amplitudes + 0.05).reshape(PATCHES, -1)
        features.append(np.hstack([grey.reshape(PATCHES, -1)[:, ::4], spectrum]))
    return np.concatenate(features), np.repeat([False, True], PATCHES)


def draw_bags(
    tokens: str, length: int, labels: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Float[np.ndarray, "n L d"]:
    """Draw bags; the first token of a positive one is a wanted token."""
    others, wanted, _ = source(tokens)
    n = len(labels)
    bags = others[rng.integers(len(others), size=(n, length))]
    one = wanted[rng.integers(len(wanted), size=n)]
    bags[labels > 0, 0] = one[labels > 0]
    return bags


class Split(NamedTuple):
    """Bags to train on, and other bags to test on, with their numbers in the set."""

    bags: Bags
    positive: Bool[np.ndarray, " n"]
    rest: Bags
    truth: Bool[np.ndarray, " m"]
    numbers: np.ndarray


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Bags of packaged tokens, half of them positive; each bag is drawn independently.

    Tokens are digits or textures, so many in a bag. There are the bags of a pilot, and those to
    test on.
    """

    tokens: str
    length: int
    pilot: int
    tested: int

    @property
    def name(self) -> str:
        """For readers."""
        return f"{self.length} {self.tokens}"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of bags to measure at."""
        return tuple(multiple * self.pilot for multiple in MULTIPLES)

    def split(self, n: int, rng: np.random.Generator) -> Split:
        """Draw n bags to train on, and others."""
        signs = np.where(np.arange(n + self.tested) % 2, 1, -1)
        X, positive = draw_bags(self.tokens, self.length, signs, rng), signs > 0
        numbers = np.arange(n, len(signs))
        return Split(as_bags(X[:n]), positive[:n], as_bags(X[n:]), positive[n:], numbers)


@dataclasses.dataclass(frozen=True, eq=False)
class BagSet:
    """A set of labelled bags that was given; `of` makes it.

    Its text (`repr`), which keys the rows, has the name and the digest of the content.
    """

    name: str
    digest: str
    bags: Bags = dataclasses.field(repr=False)
    positive: Bool[np.ndarray, " n"] = dataclasses.field(repr=False)

    @classmethod
    def of(cls, name: str, bags: Any, y: Any) -> BagSet:
        """Check bags in any form and labels of two classes.

        A set that has not enough bags for a pilot and as many bags again is refused.

        Examples
        --------
        >>> import numpy as np
        >>> from sparsetoken.experiments.core.bag_sets import BagSet
        >>> rng = np.random.default_rng(0)
        >>> noise = BagSet.of("noise", rng.standard_normal((100, 4, 3)), np.arange(100) % 2)
        >>> noise.pilot, noise.sizes
        (40, (40, 80))
        """
        data = read_labelled(bags, y)
        tokens = data.bags.tokens
        digest = hashlib.blake2b(digest_size=8)
        for array in (tokens, data.bags.offsets.astype("<i8"), data.positive):
            digest.update(f"{array.dtype.str} {array.shape}".encode())
            digest.update(array.tobytes())
        bag_set = cls(name, digest.hexdigest(), data.bags, data.positive)
        if len(bag_set.sizes) < 2:
            legal = f"at least {math.ceil(2 * bag_set.pilot / (1 - LEAST_REST))}, for a pilot of "
            legal += f"{bag_set.pilot}, as many again, and a tenth to test on"
            raise InvalidInput(f"number of bags of {name}", legal, len(data.bags))
        return bag_set

    @property
    def pilot(self) -> int:
        """Bags of a pilot: a fifth of the set, from 40 to 100, or as rare classes need."""
        n, rate = len(self.bags), float(self.positive.mean())
        enough = math.ceil((LEAST_BAGS + 0.5) / min(rate, 1 - rate))
        return max(min(round(PILOT_SHARE * n), LARGEST_PILOT), LEAST_PILOT, enough)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of bags to measure at, as far as a tenth of the bags is left to test on."""
        most = (1 - LEAST_REST) * len(self.bags)
        return tuple(m * self.pilot for m in MULTIPLES if m * self.pilot <= most)

    def split(self, n: int, rng: np.random.Generator) -> Split:
        """Choose n bags to train on, with classes as in the set, and up to 1000 of the others."""
        plus = rng.permutation(np.flatnonzero(self.positive))
        minus = rng.permutation(np.flatnonzero(~self.positive))
        count = round(n * float(self.positive.mean()))
        train = np.concatenate([plus[:count], minus[: n - count]])
        rest = rng.permutation(np.concatenate([plus[count:], minus[n - count :]]))[:MOST_REST]
        y = self.positive
        return Split(self.bags[train], y[train], self.bags[rest], y[rest], rest)


class LeftOut(NamedTuple):
    """A set that was given and cannot be forecast, and why."""

    set: str
    reason: str


def read_sets(folder: Path, positive: str = "") -> list[BagSet | LeftOut]:
    """Read the .npz and Parquet files of a folder, by name; what cannot be read has the reason.

    In files of more than two classes the positive label is compared with the rest. If no file can
    be forecast, or the label is that of none, `InvalidInput` says so.
    """
    legal = f"a folder with {', '.join(ENDINGS)} files of bags"
    if not folder.is_dir():
        got = f"{folder}, {'a file' if folder.exists() else 'which is not there'}"
        raise InvalidInput("bags", legal, got, "Give the folder that the files are in.")
    paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in ENDINGS)
    if not paths:
        raise InvalidInput("bags", legal, str(folder), "No file in it has such an ending.")
    sets: list[BagSet | LeftOut] = []
    used = False
    for path in paths:
        name = _printable(path.name)
        try:
            data = read(path)
            if positive and len(data.classes) > 2:
                data = data.against_rest(positive)
                used = True
            data.check_two_classes()
            sets.append(BagSet.of(name, data.bags, data.y))
        except ValueError as error:  # InvalidInput, or what the checks of values raise
            reason = str(error)
            for shown in (repr(str(path))[1:-1], str(path)):
                reason = reason.replace(shown, name)  # rows do not depend on where the folder is
            sets.append(LeftOut(name, _printable(reason)))
    if positive and not used:
        legal = "a label of a file of more than two classes"
        raise InvalidInput("positive", legal, positive, "Two classes need no label.")
    left = [one for one in sets if isinstance(one, LeftOut)]
    if len(left) == len(sets):
        remedy = f"None of its files can be forecast. {left[0].set}: {left[0].reason}"
        raise InvalidInput("bags", legal, str(folder), remedy)
    return sets


def _printable(text: str) -> str:
    """Return a text that UTF-8 can write: the name of a file may be any bytes."""
    return text.encode(errors="backslashreplace").decode()
