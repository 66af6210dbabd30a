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
    from sparsetoken import forecasting
    from sparsetoken.base.files import require_place
    from sparsetoken.base.validation import InvalidInput, integer
    from sparsetoken.estimators import BagClassifier
    from sparsetoken.estimators.fitting.targets import read_classes
    from sparsetoken.estimators.thresholds import check_threshold

    folds, seed = integer("folds", folds, 2), o.random_state(seed)
    require_place("--out", out, file, *filter(None, [source.sheet]))
    if out.suffix.lower() != ".html":
        raise InvalidInput("--out", "a name that ends in .html", str(out))
    line = as_threshold(threshold)
    data = source.read(file)
    classes = read_classes(data.bags, data.y, None, None, data.groups).classes
    check_threshold(line, len(classes))
    positive = {str(c): c for c in classes.tolist()}.get(source.positive)
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
    scores = found.scores
    values = {
        "scores": as_dicts({"bag": scores.bags.scores})["bag"],
        "group_scores": as_dicts({"bag": scores.groups.scores})["bag"] if scores.groups else None,
        "forecast": None if found.forecast is None else found.forecast.to_dict(),
        "omitted": found.omitted,
        "leaks": found.leaks,
        "report": str(out),
    }
    lines = [columns_told(data), *str(scores).splitlines(), f"Wrote {out}"]
    advice = [f"No {what}: {why}" for what, why in found.omitted.items()]
    return Answer("", values, lines, advice)
