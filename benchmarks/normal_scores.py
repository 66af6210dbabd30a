"""Normal scores of heavy-tailed columns: never, always, and by left-out loss (the default).

python benchmarks/normal_scores.py [--draws 6] [--groups lognormal texts] [--workers 2]

Laws with heavy tails, in some of which the order of values tells the classes and in some their
size; and bags of texts: each token is made of docstrings of one installed package, a bag is
positive if one or two of its 20 to 80 tokens are of the topic. Rows are means over the laws, or
over the topics, of test errors, log-losses, and how often the top token of a positive bag is
one that makes it positive.
"""

from __future__ import annotations

import argparse
import ast
import functools
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import log_loss
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from sparsetoken import AttentionClassifier, PooledLinearClassifier
from sparsetoken.estimators import PaddingWarning, QueryWarning

Bags = list[np.ndarray]


class Draw(NamedTuple):
    """Training bags, test bags, and which tokens make each positive test bag positive."""

    X: Bags
    y: np.ndarray
    X_test: Bags
    y_test: np.ndarray
    true: list[np.ndarray]


Law = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def exponential(d: int, L: int, shift: float, seed: int, power: float = 1.0) -> Law:
    """Return exponentials of Gaussian tokens, of which one is shifted in positive bags."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y, Z = np.arange(n) % 2, rng.standard_normal((n, L, d))
        Z += 0.3 * rng.standard_normal((n, 1, d))
        Z[y == 1, 0] += shift * _direction(d, seed)
        return np.exp(power * Z), y

    return draw


def student(d: int, L: int, shift: float, seed: int, freedom: int) -> Law:
    """Return tokens of Student's law, of which one is shifted in positive bags."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y, X = np.arange(n) % 2, rng.standard_t(freedom, size=(n, L, d))
        X[y == 1, 0] += shift * _direction(d, seed)
        return X, y

    return draw


def counts(d: int, L: int, rate: float, more: float, columns: int, seed: int) -> Law:
    """Return counts; in positive bags a token has more of some columns."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y, rates = np.arange(n) % 2, rate * np.random.default_rng(seed).gamma(0.5, size=d)
        means = np.broadcast_to(rates, (n, L, d)).copy()
        means[y == 1, 0, :columns] *= more
        return rng.poisson(means * rng.gamma(1, size=(n, L, 1))).astype(float), y

    return draw


def larger(d: int, L: int, columns: int, factor: float, freedom: int) -> Law:
    """Return tokens of Student's law, of which one has larger values in positive bags."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y, X = np.arange(n) % 2, rng.standard_t(freedom, size=(n, L, d))
        X[y == 1, 0, :columns] *= factor
        return X, y

    return draw


def summed(d: int, L: int, seed: int, gamma: bool = False, freedom: int = 2) -> Law:
    """Return heavy-tailed tokens, with labels of a linear function of the mean token."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        shape = (n, L, d)
        X = rng.gamma(0.1, size=shape) if gamma else rng.standard_t(freedom, size=shape)
        score = X.mean(axis=1) @ _direction(d, seed)
        score -= np.median(score)
        return X, (3 * score / np.median(np.abs(score)) + 2 * rng.logistic(size=n) > 0).astype(int)

    return draw


def beyond(d: int, L: int, freedom: int, level: float) -> Law:
    """Return heavy-tailed tokens; positive bags have one whose first column is above a level."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y, X = np.arange(n) % 2, np.abs(rng.standard_t(freedom, size=(n, L, d)))
        X[..., 0] = np.minimum(X[..., 0], level)
        X[y == 1, 0, 0] = level * rng.uniform(1, 1.3, size=np.count_nonzero(y))
        return X, y

    return draw


def _direction(d: int, seed: int) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal(d)
    return found / np.linalg.norm(found)


LAWS: dict[str, list[tuple[Law, int]]] = {
    "lognormal": [
        (exponential(50, 10, 4.0, 1), 150),
        (exponential(100, 20, 5.0, 2, power=0.7), 150),
        (exponential(60, 10, 4.0, 4, power=1.5), 120),
    ],
    "Student": [
        (student(50, 10, 5.0, 1, 3), 150),
        (student(50, 10, 6.0, 2, 2), 150),
        (student(100, 20, 5.0, 4, 5), 200),
    ],
    "counts": [
        (counts(100, 20, 0.1, 8, 10, 1), 150),
        (counts(200, 40, 0.03, 20, 10, 2), 90),
        (counts(50, 10, 1.0, 3, 10, 3), 150),
    ],
    "larger values": [
        (larger(20, 20, 1, 6, 4), 150),
        (larger(50, 10, 5, 4, 3), 150),
        (larger(30, 30, 3, 5, 5), 100),
    ],
    "sums": [
        (summed(20, 10, 1), 150),
        (summed(50, 8, 2, freedom=3), 150),
        (summed(30, 10, 3, gamma=True), 150),
    ],
    "one value beyond a level": [(beyond(20, 20, 3, 6.0), 150), (beyond(50, 10, 4, 5.0), 100)],
}
TEST = 500

TOPICS = (
    *("jax", "matplotlib", "pandas", "polars", "numpy", "dask", "distributed", "tornado"),
    *("xarray", "hypothesis", "pydantic", "fontTools", "PIL", "optax", "mpmath", "pygments"),
    *("setuptools", "pip", "rich", "scipy/stats", "scipy/signal", "scipy/optimize"),
    *("scipy/sparse", "jinja2", "fsspec", "sklearn/linear_model"),
)
TEXTS = {"texts, by length": True, "texts, of length 1": False}
JOINED, COLUMNS, TRAIN, WORDS = 4, 200, 90, 25


@functools.cache
def _posts(topic: str) -> list[str]:
    """Return the docstrings of at least 25 words of a package, each once, in a fixed order."""
    folder = Path(sysconfig.get_paths()["purelib"]) / topic
    files = sorted(one for one in folder.rglob("*.py") if "test" not in one.parent.name)
    found = (text for one in files for text in _docstrings(one) if len(text.split()) >= WORDS)
    return list(dict.fromkeys(found))


def _docstrings(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_text(encoding="utf8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    kinds = ast.FunctionDef, ast.ClassDef, ast.Module
    for node in ast.walk(tree):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield text


def texts(topic: str, by_length: bool, rng: np.random.Generator) -> Draw:
    """Return bags of texts; training and test bags are made of other docstrings."""
    present = [one for one in TOPICS if len(_posts(one)) >= 80]
    halves = {one: np.array_split(rng.permutation(_posts(one)), 2) for one in present}
    others = [one for one in present if one != topic]
    tokens: list[str] = []
    true: list[np.ndarray] = []
    for part, n in enumerate((TRAIN, TEST // 2)):
        for i in range(n):
            own = i % 2 * rng.integers(1, 3)
            size = rng.integers(20, 81)
            kinds = [topic] * own + [str(one) for one in rng.choice(others, size - own)]
            tokens += [" ".join(rng.choice(halves[one][part], JOINED)) for one in kinds]
            true.append(np.arange(size) < own)
    words = CountVectorizer(stop_words="english", token_pattern="[A-Za-z]{3,}", max_df=0.2)
    found = words.set_params(min_df=5).fit_transform(tokens)
    lengths = np.maximum(np.asarray(found.sum(axis=1)).ravel(), 1)
    weighted = TfidfTransformer(norm=None).fit_transform(found)
    scaled = weighted.multiply(1 / lengths[:, None]).tocsr() if by_length else normalize(weighted)
    top = np.argsort(-np.asarray(scaled.sum(axis=0)).ravel(), kind="stable")[:COLUMNS]
    bags = np.split(scaled[:, top].toarray(), np.cumsum([len(one) for one in true])[:-1])
    y, truth = np.arange(TRAIN) % 2, np.arange(TEST // 2) % 2
    return Draw(bags[:TRAIN], y, bags[TRAIN:], truth, true[TRAIN:])


def drawn(group: str, place: int, seed: int) -> Draw:
    """Return a draw of a law of a group, or of a topic."""
    rng = np.random.default_rng([sum(map(ord, group)), place, seed])
    if group in TEXTS:
        return texts(TOPICS[place], TEXTS[group], rng)
    law, n = LAWS[group][place]
    (X, y), (test, truth) = law(n, rng), law(TEST, rng)
    return Draw(list(X), y, list(test), truth, [np.arange(X.shape[1]) == 0] * TEST)


def run(work: tuple[str, int, int]) -> list[float]:
    """Return errors, log-losses and true top tokens of the methods on a draw."""
    data = drawn(*work)
    found = []
    with warnings.catch_warnings():
        for kind in (PaddingWarning, QueryWarning):  # texts without a word of the 200 are zeros
            warnings.simplefilter("ignore", kind)
        pooled = PooledLinearClassifier().fit(data.X, data.y)
        found += [1 - pooled.score(data.X_test, data.y_test)]
        for asked in (False, True, "auto"):
            model = AttentionClassifier(normal_scores=asked, random_state=work[-1])
            model.fit(data.X, data.y)
            chances = model.predict_proba(data.X_test)
            error = 1 - model.score(data.X_test, data.y_test)
            found += [error, log_loss(data.y_test, chances), _true(model, data)]
    return [*found, float(model.normal_scores_ is not None)]


def _true(model: AttentionClassifier, data: Draw) -> float:
    """Return the share of positive test bags whose top token makes them positive."""
    positive = np.flatnonzero(data.y_test)
    tops = model.top_tokens([data.X_test[i] for i in positive])
    return float(np.mean([data.true[i][top[0]] for i, top in zip(positive, tops, strict=True)]))


def main() -> None:
    """Print a row for each group."""
    every = [*LAWS, *TEXTS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=6, help="of each law; of texts one")
    parser.add_argument("--groups", nargs="+", choices=every, default=every)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    kinds = [f"{one}: error | log-loss | top token" for one in ("never", "always", "auto")]
    columns = ["mean pooling: error", *kinds, "auto takes scores", "auto less never: error"]
    print(f"| group | {' | '.join(columns)} |")
    print("| --- " * 13 + "|")
    with Pool(asked.workers, threadpool_limits, (1,)) as pool:
        for group in asked.groups:
            seeds = range(asked.draws if group in LAWS else 1)
            places = range(len(LAWS[group]) if group in LAWS else len(TOPICS))
            works = [(group, place, seed) for place in places for seed in seeds]
            rows = np.array(pool.map(run, works, 1))
            less = rows[:, 7] - rows[:, 1]
            error = less.std(ddof=1) / np.sqrt(len(less))
            values = " | ".join(f"{value:.3f}" for value in rows.mean(axis=0))
            change = f"{less.mean():.3f} ± {error:.3f}"
            print(f"| {group}, {len(works)} | {values} | {change} |", flush=True)


if __name__ == "__main__":
    main()
