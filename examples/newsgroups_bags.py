"""Which post of a bag is about the newsgroup? Attention on bags of text.

A bag is a set of posts to newsgroups, a token one post. Positive bags hold one or two posts of
one group among posts of others. A file NAME.npz has X (posts, d), bag (posts,), y (bags,) and
inst_y (posts,), the posts that made a bag positive; no classifier sees the last.

    python examples/newsgroups_bags.py ../shared/data/mil/ng_*.npz --out newsgroups_bags.png
"""

import argparse
import glob
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sparsetoken import BagClassifier
from sparsetoken.bags import from_long
from sparsetoken.estimators import PooledClassifier, QueryWarning
from sparsetoken.figures import AttentionDisplay

DATA = "../shared/data/mil/ng_*.npz"
HEAD = f"""\
Cross-validation: accuracy in % (standard error over folds), and how often the top token of a
positive test bag is a true one, beside the share of tokens that are true.
{"group":<24}{"attention":>15}{"mean token":>15}{"top is true":>13}{"are true":>10}"""


def main():
    args = read_arguments()
    print(HEAD)
    rows = []
    for path in args.files:
        group = path.stem.removeprefix("ng_").replace("_", ".")
        rows.append(cross_validate(*load(path), args))
        print(f"{group:<24}{table_row(*rows[-1])}", flush=True)
    if len(rows) > 1:
        total = [np.concatenate(column) for column in zip(*rows, strict=True)]
        print(f"{'all':<24}{table_row(*total)}")
    found = [np.mean(hits) for _, _, hits, _ in rows]
    path = args.show or args.files[int(np.argmax(found))]
    draw(path, args).savefig(args.out, dpi=100)
    print(f"picture of {path.stem}: {args.out}")


def load(path):
    """Return bags, their labels, and for each bag which tokens are true."""
    file = np.load(path)
    bags, _ = from_long(file["X"], file["bag"])
    return bags, file["y"], np.split(file["inst_y"] > 0, bags.offsets[1:-1])


def cross_validate(bags, y, truth, args):
    """Return accuracies of attention and mean token in each fold, hits and chances of bags."""
    accuracies, hits, chances = [], [], []
    for repeat in range(args.repeats):
        folds = StratifiedKFold(args.folds, shuffle=True, random_state=repeat)
        for train, test in folds.split(y, y):
            attention = BagClassifier().fit(bags[train], y[train])
            pooled = PooledClassifier().fit(bags[train], y[train])
            accuracies.append([m.score(bags[test], y[test]) for m in (attention, pooled)])
            # A few positive bags have no true token: nothing there could be found.
            known = [i for i in test if y[i] == 1 and truth[i].any()]
            with warnings.catch_warnings():  # where attention is off, logits order the tokens
                warnings.simplefilter("ignore", QueryWarning)
                tops = attention.top_tokens(bags[known])
            hits += [truth[i][top[0]] for i, top in zip(known, tops, strict=True)]
            chances += [truth[i].mean() for i in known]
    return *np.transpose(accuracies), np.array(hits), np.array(chances)


def table_row(attention, pooled, hits, chances):
    cells = [f"{100 * a.mean():.1f} ({100 * standard_error(a):.1f})" for a in (attention, pooled)]
    cells += [f"{100 * hits.mean():.0f}%", f"{100 * chances.mean():.0f}%"]
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, (15, 15, 13, 10), strict=True))


def standard_error(values):
    return values.std(ddof=1) / np.sqrt(len(values))


def draw(path, args):
    """Draw the attention along positive bags that the classifier has not seen."""
    bags, y, truth = load(path)
    known = [i for i in np.flatnonzero(y == 1) if truth[i].any()]
    shown = known[:: max(1, len(known) // args.bags)][: args.bags]
    rest = np.setdiff1d(np.arange(len(y)), shown)
    model = BagClassifier().fit(bags[rest], y[rest])
    names = [
        f"bag {i}\nscore {score:.1f}"
        for i, score in zip(shown, model.decision_function(bags[shown]), strict=True)
    ]
    display = AttentionDisplay.from_estimator(
        model, bags[shown], true_tokens=[truth[i] for i in shown], names=names
    )
    return display.figure_


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help=f"default: {DATA}")
    parser.add_argument("--repeats", type=int, default=1, help="of cross-validation")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--show", type=Path, help="default: where the top token is most often true")
    parser.add_argument("--bags", type=int, default=6, help="in the picture")
    parser.add_argument("--out", default="newsgroups_bags.png")
    args = parser.parse_args()
    args.files = args.files or [Path(found) for found in sorted(glob.glob(DATA))]
    missing = [str(path) for path in args.files if not path.is_file()]
    if missing or not args.files:
        sys.exit(f"No such file: {', '.join(missing) or DATA}. Give the paths of .npz files.")
    return args


if __name__ == "__main__":
    main()
