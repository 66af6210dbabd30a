"""The command that puts what is known of bags and of their classifier on one page."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.bag_options import File, LabelledSource
from sparsetoken.cli.bags import columns_told
from sparsetoken.cli.fit import Folds, Threshold, as_dicts, as_threshold
from sparsetoken.cli.output import Answer


def report(
    file: File,
    /,
    *,
    out: Annotated[Path, Option(help="The page to write, .html.")] = Path("report.html"),
    source: LabelledSource = LabelledSource(),
    folds: Folds = 5,
    threshold: Threshold = "auto",
    seed: o.Seed = 0,
    common: o.Common = o.Common(),
) -> Answer:
    """Write one page for colleagues: scores on left-out bags, curves, forecast, maps.

    The page is a file that opens without a network. Scores and intervals are those of fit, the
    forecast is that of forecast, where there are enough bags, and maps are of four left-out bags
    whose tokens have coordinates.

    Example: sparsetoken bags report bags.npz --groups patient --out report.html
    """
    import numpy as np

    from sparsetoken import forecasting
    from sparsetoken.base.files import require_place
    from sparsetoken.base.validation import InvalidInput, integer
    from sparsetoken.estimators import BagClassifier

    folds, seed, line = integer("folds", folds, 2), o.random_state(seed), as_threshold(threshold)
    require_place("--out", out, file, *filter(None, [source.sheet]))
    if out.suffix.lower() != ".html":
        raise InvalidInput("--out", "a name that ends in .html", str(out))
    data = source.read(file)
    positive = {str(c): c for c in np.unique(data.y).tolist()}.get(source.positive)
    found = forecasting.bag_report(
        data.bags,
        data.y,
        out,
        groups=data.groups,
        ids=data.ids,
        model=BagClassifier(threshold=line, positive=positive, random_state=seed),
        folds=folds,
        random_state=seed,
        command=shlex.join(["sparsetoken", *sys.argv[1:]]),
    )
    held = {"scores": found.bags} | ({"group_scores": found.groups} if found.groups else {})
    values = {"report": str(out), **as_dicts({name: one.scores for name, one in held.items()})}
    lines = [columns_told(data), *str(found).splitlines(), f"Wrote {out}"]
    return Answer("", values, lines)
