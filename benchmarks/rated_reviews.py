"""Reviews and editorials whose sentences people rated: is one sentence of a text very negative?

python benchmarks/rated_reviews.py [--source FILE.tar.gz] [--repeats 3] [--workers 2]

The texts (Hutto and Gilbert 2014) are in the source distribution of vaderSentiment 3.3.2 on PyPI
(MIT); without --source it is downloaded by pip. A bag is a text, a token a sentence: TF-IDF and 100
singular vectors, fitted to the sentences of training texts. A text is positive if the mean rating
of a sentence is at or below -2 (reviews) or -1.5 (editorials), and these sentences are true.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from real_bags_methods import METHODS
from real_bags_sets import RealSet
from sparsetoken.bags import from_long
from sparsetoken.estimators import QueryWarning

PACKAGE = "vaderSentiment==3.3.2"
TEXTS = {"reviews": ("amazonReviewSnippets", -2.0), "editorials": ("nytEditorialSnippets", -1.5)}
COMPARED = (
    "mean, logistic",
    "max, logistic",
    "mean and max, logistic",
    "Fisher vector, logistic",
    "tokens, logistic, max",
    "mi-SVM",
    "ABMIL",
    "pooled",
    "attention",
)
MEASURES = ("accuracy", "auc", "log_loss", "top token true", "seconds")
COMPONENTS, FOLDS = 100, 5


class Texts(NamedTuple):
    """Sentences, the text and the rating of each, and what is very negative."""

    sentences: list[str]
    text: np.ndarray
    rating: np.ndarray
    threshold: float

    @property
    def positive(self) -> np.ndarray:
        """The label of each text, in the order of its number."""
        return np.bincount(self.text, self.rating <= self.threshold) > 0


class Work(NamedTuple):
    """One fold of one kind of texts."""

    name: str
    texts: Texts
    train: np.ndarray
    test: np.ndarray
    seed: int


def read(source: Path) -> dict[str, Texts]:
    """Return the texts in the source distribution."""
    with tarfile.open(source) as outer:
        inner = next(one for one in outer.getmembers() if one.name.endswith("2014.tar.gz"))
        with tarfile.open(fileobj=io.BytesIO(outer.extractfile(inner).read())) as files:
            return {name: _texts(files, *kind) for name, kind in TEXTS.items()}


def _texts(files: tarfile.TarFile, name: str, threshold: float) -> Texts:
    member = next(one for one in files.getmembers() if one.name.endswith(f"{name}_GroundTruth.txt"))
    lines = files.extractfile(member).read().decode("utf-8", "replace").splitlines()
    rows = [line.split("\t", 2) for line in lines if line.count("\t") >= 2]
    number = np.array([int(row[0].split("_")[0]) for row in rows])
    order = np.argsort(number, kind="stable")
    text = np.unique(number[order], return_inverse=True)[1]
    rating = np.array([float(row[1]) for row in rows])[order]
    return Texts([rows[i][2] for i in order], text, rating, threshold)


def run(work: Work) -> list[dict[str, Any]]:
    """Return what each method does on one fold."""
    texts, y = work.texts, work.texts.positive.astype(int)
    of_train = np.isin(texts.text, work.train)
    embed = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2)),
        TruncatedSVD(COMPONENTS, random_state=work.seed),
    )
    embed.fit([s for s, used in zip(texts.sentences, of_train, strict=True) if used])
    bags = from_long(embed.transform(texts.sentences), texts.text).bags
    data = RealSet(bags, y, np.zeros((0, 0)), texts.rating <= texts.threshold)
    test = np.isin(np.arange(len(y)), work.test)
    rows = []
    for method in COMPARED:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QueryWarning)
            model = METHODS[method](random_state=work.seed).fit(bags[~test], y[~test])
            row = data.scores(model, test)
        row["seconds"] = time.process_time() - start
        if "top_true" in row:
            row["top token true"] = row["top_true"] / row["with_true"]
        rows.append({"texts": work.name, "method": method, **row})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return means over folds with standard errors, in Markdown."""
    lines = [
        f"| texts | method | {' | '.join(MEASURES)} | share of attention |",
        "| --- " * (len(MEASURES) + 3) + "|",
    ]
    for name in TEXTS:
        for method in COMPARED:
            group = [row for row in rows if (row["texts"], row["method"]) == (name, method)]
            cells = [
                _cell([row[measure] for row in group if measure in row]) for measure in MEASURES
            ]
            shares = [row["share"] for row in group if "share" in row]
            cells.append(f"{np.mean(shares):.2f}" if shares else "")
            lines.append(f"| {name} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    if len(values) < 2:
        return ""
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.3f}"


def main() -> None:
    """Print how many texts and sentences there are, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, help="downloaded by pip if not given")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.source is None:
            pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"]
            subprocess.run([*pip, PACKAGE, "-d", folder], check=True, stdout=sys.stderr)
            asked.source = next(Path(folder).glob("*.tar.gz"))
        every = read(asked.source)
    works = []
    for name, texts in every.items():
        y, sizes = texts.positive, np.bincount(texts.text)
        true = int((texts.rating <= texts.threshold).sum())
        print(
            f"{name}: {len(y)} texts, {y.sum()} positive, {sizes.mean():.1f} sentences each, "
            f"{true} true; by chance the top one is true in "
            f"{np.mean((np.bincount(texts.text, texts.rating <= texts.threshold) / sizes)[y]):.3f}"
        )
        for repeat in range(asked.repeats):
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
            splits = folds.split(np.zeros(len(y)), y)
            works += [Work(name, texts, *split, repeat) for split in splits]
    with Pool(asked.workers, threadpool_limits, (1,)) as pool:
        rows = [row for found in pool.imap_unordered(run, works) for row in found]
    print(f"\n{table(rows)}")


if __name__ == "__main__":
    main()
