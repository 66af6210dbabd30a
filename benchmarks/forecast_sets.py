"""Sets on which forecasts are compared with what more bags really bring."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from real_bags_sets import load
from sparsetoken.bags import Bags, as_bags

Labelled = tuple[Bags, np.ndarray]
Draw = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]

TEST_BAGS = 1500
PATCHES = 6000  # of each image
POSTS, WORDS, TOPICS = 4000, 2000, 20


class Setting(NamedTuple):
    """A set, the bags of a pilot of it, and the numbers of bags that are asked for."""

    group: str
    name: str
    n: int
    sizes: tuple[int, ...]

    @property
    def real(self) -> bool:
        """Whether the bags are of a finite set instead of a law."""
        return self.name not in CONSTRUCTED


def settings(bags: int | None = None) -> list[Setting]:
    """Return all settings: those that the constants of the forecast were chosen on, and others.

    With a number of bags, those of constructed sets, with pilots of so many.
    """
    found = []
    for name, (group, _, usual) in CONSTRUCTED.items():
        n = usual if bags is None else bags
        found.append(Setting(group, name, n, (n, 2 * n, 4 * n)))
    for group, names in REAL.items() if bags is None else ():
        for name in names:
            found.append(Setting(group, name, 40, (40, 80, 160) if name in CORELS else (40, 80)))
            if name in CORELS:
                found.append(Setting(group, name, 80, (80, 160)))
    return sorted(found, key=lambda setting: setting.group)


def pilot(setting: Setting, number: int, folder: Path) -> Labelled:
    """Return one of the pilots."""
    rng = np.random.default_rng([_seed(setting.name), setting.n, number])
    return _drawn(setting, setting.n, rng, folder)[:2]


def train_and_test(
    setting: Setting, n: int, number: int, folder: Path
) -> tuple[Bags, np.ndarray, Bags, np.ndarray]:
    """Return n bags to train on and others to test on."""
    rng = np.random.default_rng([_seed(setting.name), n, number, 77])
    return _drawn(setting, n, rng, folder)


def _seed(name: str) -> int:
    return sum(map(ord, name))


def _drawn(
    setting: Setting, n: int, rng: np.random.Generator, folder: Path
) -> tuple[Bags, np.ndarray, Bags, np.ndarray]:
    if not setting.real:
        draw = CONSTRUCTED[setting.name][1]
        X, y = draw(n, rng)
        rest, truth = draw(TEST_BAGS, rng)
        return as_bags(X), y, as_bags(rest), truth
    data = load(folder, setting.name)
    bags, y = data.bags, data.y
    rows = _stratified(y, n, rng)
    rest = np.ones(len(y), dtype=bool)
    rest[rows] = False
    return bags[rows], y[rows], bags[rest], y[rest]


def _stratified(y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    count = round(n * y.mean())
    plus = rng.permutation(np.flatnonzero(y == 1))[:count]
    minus = rng.permutation(np.flatnonzero(y == 0))[: n - count]
    return np.concatenate([plus, minus])


def _labels(n: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    return (np.arange(n) < round(rate * n)).astype(int)[rng.permutation(n)]


@functools.cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def digit_bags(
    length: int,
    targets: list[int],
    rate: float = 0.5,
    count: int = 1,
    backgrounds: tuple[tuple[int, ...], ...] = (),
) -> Draw:
    """Return bags of handwritten digits; positive ones hold `count` of the targets.

    With backgrounds each bag takes its other digits from one of them.
    """

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, digit = _digits()
        wanted = np.flatnonzero(np.isin(digit, targets))
        y, rows = _labels(n, rate, rng), np.empty((n, length), int)
        for i in range(n):
            others = backgrounds[rng.integers(len(backgrounds))] if backgrounds else range(10)
            kept = [c for c in others if c not in targets]
            rows[i] = rng.choice(np.flatnonzero(np.isin(digit, kept)), length)
            if y[i]:
                rows[i, :count] = rng.choice(wanted, count)
        return X[rows], y

    return draw


@functools.cache
def _patches() -> list[np.ndarray]:
    """Return patches of two photographs: grey values and the logarithm of their spectrum."""
    from sklearn.datasets import load_sample_image

    rng, found = np.random.default_rng(5), []
    for name in ("china.jpg", "flower.jpg"):
        image = load_sample_image(name).astype(float).mean(axis=2) / 255
        i = rng.integers(0, image.shape[0] - 8, PATCHES)
        j = rng.integers(0, image.shape[1] - 8, PATCHES)
        grey = np.stack([image[a : a + 8, b : b + 8] for a, b in zip(i, j, strict=True)])
        spectrum = np.abs(np.fft.rfft2(grey))[:, :5].reshape(PATCHES, -1)
        flat = grey.reshape(PATCHES, -1)[:, ::4]
        found.append(np.concatenate([flat, np.log(spectrum + 0.05)], axis=1))
    together = np.concatenate(found)
    return [(part - together.mean(axis=0)) / together.std(axis=0) for part in found]


def texture_bags(length: int, informative: int, positive: int) -> Draw:
    """Return bags of patches of one photograph; positive ones hold some of the other."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        patches, y = _patches(), _labels(n, 0.5, rng)
        X = patches[1 - positive][rng.integers(0, PATCHES, (n, length))]
        other = rng.integers(0, PATCHES, (n, informative))
        X[y == 1, :informative] = patches[positive][other][y == 1]
        return X, y

    return draw


@functools.cache
def _posts(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return invented posts of 20 topics, as 200 principal components of TF-IDF, and topics.

    Words follow Zipf's law; each topic makes 40 of the rarer ones more likely. Lengths of posts
    are lognormal.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    rng = np.random.default_rng(seed)
    zipf = 1 / (np.arange(WORDS) + 5.0)
    topic = rng.integers(0, TOPICS, POSTS)
    lengths = np.minimum(10 + rng.lognormal(3.7, 0.8, POSTS), 600).astype(int)
    counts = np.empty((POSTS, WORDS))
    for t in range(TOPICS):
        own = np.zeros(WORDS)
        own[rng.choice(np.arange(50, WORDS), 40, replace=False)] = rng.exponential(size=40)
        for i in np.flatnonzero(topic == t):
            share = rng.beta(1.0, 6.0)  # of the words that are of the topic
            law = (1 - share) * zipf / zipf.sum() + share * own / own.sum()
            counts[i] = rng.multinomial(lengths[i], law)
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    return TruncatedSVD(200, random_state=seed).fit_transform(X), topic


def text_bags(length: int, informative: int, seed: int, targets: int = 1) -> Draw:
    """Return bags of invented posts; positive ones hold some of the target topics."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, topic = _posts(seed)
        y = _labels(n, 0.5, rng)
        rows = rng.choice(np.flatnonzero(topic >= targets), (n, length))
        wanted = rng.choice(np.flatnonzero(topic < targets), (n, informative))
        rows[y == 1, :informative] = wanted[y == 1]
        return X[rows], y

    return draw


def scene_bags(d: int, length: int, informative: int, seed: int, spread: float) -> Draw:
    """Return bags of regions of pictures: each of a kind of heavy-tailed nonnegative features.

    A picture takes its regions from 4 of 12 kinds; positive ones hold some of the target kind.
    """

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        frame = np.random.default_rng(seed)
        kinds = frame.gamma(0.3, size=(13, d))
        y = _labels(n, 0.5, rng)
        own = np.argsort(rng.random((n, 12)), axis=1)[:, :4] + 1
        kind = np.take_along_axis(own, rng.integers(0, 4, (n, length)), axis=1)
        kind[y == 1, :informative] = 0
        noise = rng.lognormal(0.0, spread, (n, length, d)) * rng.lognormal(0, 0.5, (n, length, 1))
        return (kinds[kind] + 0.2) * noise, y

    return draw


def gaussian_bags(
    d: int,
    length: int,
    informative: int,
    strength: float,
    seed: int,
    rate: float = 0.5,
    steep: float = 0.0,
    between: float = 0.0,
    between_steep: float = 0.0,
    tails: float | None = None,
    aligned: float = 0.0,
) -> Draw:
    """Return bags of the sparse-token model with power-law spectra and an effect of each bag.

    With `tails` tokens are of Student's law with so many degrees of freedom. With `aligned` the
    signal lies in directions of large variance, in proportion to this power of it.
    """

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        frame = np.random.default_rng(seed)
        signal = frame.standard_normal(d)
        Q = np.linalg.qr(frame.standard_normal((d, d)))[0]
        within = (np.arange(d) + 1.0) ** -steep
        if aligned:
            signal = Q @ (signal * within**aligned)
        signal /= np.linalg.norm(signal)
        effect = (np.arange(d) + 1.0) ** -between_steep
        y, shape = _labels(n, rate, rng), (n, length, d)
        Z = rng.standard_normal(shape)
        if tails:
            Z = rng.standard_t(tails, size=shape) / np.sqrt(tails / (tails - 2))
        X = Z * np.sqrt(within / within.mean()) @ Q.T
        if between:
            scale = np.sqrt(effect * between / effect.mean())
            X = X + (rng.standard_normal((n, 1, d)) * scale) @ Q[:, ::-1].T
        X[y == 1, :informative] += strength * signal
        return X, y

    return draw


TUNING, ASIDE = "tuning", "aside"
FIVES = ((0, 1, 2, 3, 4), (4, 5, 6, 7, 8))
CONSTRUCTED: dict[str, tuple[str, Draw, int]] = {
    "digits5_60": (TUNING, digit_bags(5, [9]), 60),
    "digits20_100": (TUNING, digit_bags(20, [9]), 100),
    "digits50_200": (TUNING, digit_bags(50, [9]), 200),
    "digits10two_100": (TUNING, digit_bags(10, [3, 8], count=2), 100),
    "twoback10_100": (TUNING, digit_bags(10, [9], backgrounds=FIVES), 100),
    "tex15_80": (TUNING, texture_bags(15, 2, 1), 80),
    "gausseffect_100": (TUNING, gaussian_bags(60, 10, 1, 4.0, 1, steep=0.3, between=0.5), 100),
    "gausseffect_200": (
        TUNING,
        gaussian_bags(60, 10, 2, 3.0, 2, rate=0.3, between=0.3, between_steep=0.8),
        200,
    ),
    "t3_120": (TUNING, gaussian_bags(40, 10, 2, 3.0, 3, tails=3), 120),
    "iso_200": (TUNING, gaussian_bags(100, 10, 1, 5.0, 4), 200),
    "dense_100": (TUNING, gaussian_bags(50, 10, 10, 0.6, 5, between=0.1), 100),
    "steep_150": (TUNING, gaussian_bags(100, 8, 1, 3.0, 6, steep=0.7), 150),
    "text30_40": (TUNING, text_bags(30, 3, 21), 40),
    "text15_40": (TUNING, text_bags(15, 6, 22, targets=5), 40),
    "scene_40": (TUNING, scene_bags(230, 7, 2, 23, 1.0), 40),
    "molecules_40": (
        TUNING,
        gaussian_bags(160, 8, 2, 12.0, 24, between=2.0, steep=0.8, between_steep=0.8, aligned=0.7),
        40,
    ),
    "aligned_60": (TUNING, gaussian_bags(150, 10, 5, 3.0, 25, steep=1.0, aligned=1.0), 60),
    "wide_120": (TUNING, gaussian_bags(300, 8, 2, 6.0, 26, between=0.2), 120),
    "digits20seven_60": (ASIDE, digit_bags(20, [7]), 60),
    "twoback20_200": (
        ASIDE,
        digit_bags(20, [4], backgrounds=((0, 1, 2, 3), (5, 6, 7, 8, 9))),
        200,
    ),
    "tex15rev_160": (ASIDE, texture_bags(20, 1, 0), 160),
    "t3_250": (ASIDE, gaussian_bags(60, 20, 2, 3.5, 11, tails=3), 250),
    "creeper_120": (
        ASIDE,
        gaussian_bags(40, 30, 2, 4.0, 12, rate=0.35, steep=0.5, between=0.6, between_steep=0.5),
        120,
    ),
    "iso_80": (ASIDE, gaussian_bags(40, 6, 1, 4.0, 13), 80),
    "text20_40": (ASIDE, text_bags(20, 3, 31, targets=2), 40),
    "text40_80": (ASIDE, text_bags(40, 4, 32), 80),
    "scene2_40": (ASIDE, scene_bags(200, 10, 2, 33, 1.2), 40),
    "molecules2_80": (
        ASIDE,
        gaussian_bags(170, 6, 2, 8.0, 34, between=1.0, steep=0.7, between_steep=0.4, aligned=0.5),
        80,
    ),
    "aligned2_40": (ASIDE, gaussian_bags(100, 12, 12, 1.0, 35, steep=0.6, aligned=0.5), 40),
    "wide2_100": (ASIDE, gaussian_bags(200, 12, 3, 3.0, 36, steep=0.2, tails=4), 100),
    "digits5rare_150": (ASIDE, digit_bags(5, [8], rate=0.25), 150),
}
CORELS = ("fox", "tiger", "elephant")
REAL = {
    TUNING: [
        "musk1",
        "fox",
        "elephant",
        "ng_alt_atheism",
        "ng_comp_graphics",
        "ng_misc_forsale",
        "ng_rec_autos",
        "ng_sci_electronics",
    ],
    ASIDE: [
        "musk2",
        "tiger",
        "ng_comp_windows_x",
        "ng_rec_sport_hockey",
        "ng_sci_space",
        "ng_talk_politics_guns",
        "ng_talk_religion_misc",
    ],
}
