"""Tables of the real sets: means over folds, standard errors, differences from mean pooling."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from real_bags_sets import CLASSIC, NEWSGROUPS

MEAN, MAX, OURS = "mean, logistic", "max, logistic", "attention"
SCALES = {"accuracy": 100, "auc": 100, "log_loss": 1}  # accuracy and area in per cent
PUBLISHED = {  # as printed in Table 2 of the ViT-IWRS paper, in per cent
    "mi-SVM": (87.4, 83.6, 58.2, 78.4, 82.2),
    "MI-SVM": (77.9, 84.3, 57.8, 84.0, 81.4),
    "MI-Graph": (90.0, 90.1, 61.2, 81.9, 85.1),
    "miFV": (90.9, 88.4, 62.1, 81.3, 85.2),
    "mi-Net": (88.9, 85.2, 61.3, 82.4, 85.8),
    "MI-Net": (88.7, 85.9, 62.2, 83.0, 86.2),
    "ViT-IWRS": (89.5, 87.6, 62.5, 84.5, 87.4),
}

Rows = list[dict[str, Any]]
Groups = dict[tuple[str, str], Rows]


def tables(rows: Rows) -> str:
    """Return all tables in Markdown."""
    groups: Groups = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["repeat"], row["fold"])):
        groups[row["method"], row["set"]].append(row)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    sets = {row["set"] for row in rows}
    classic = [name for name in CLASSIC if name in sets]
    texts = [(NEWSGROUPS, "newsgroups"), (CLASSIC, "classic")]
    parts = []
    if {MEAN, OURS} <= set(methods):
        parts += ["attention beside mean pooling", _beside(groups, sets)]
    for measure in SCALES:
        for group, title in reversed(texts):
            names = [name for name in group if name in sets]
            if names:
                parts += [f"{measure}, {title}", _measures(groups, methods, names, measure)]
    parts += ["attention against pooling", _against(groups, methods, sets)]
    if len(sets) > len(classic):
        parts += ["top token true", _localised(groups, methods, sets)]
    parts += ["seconds a fit, and folds", _seconds(groups, methods, sets)]
    return "\n\n".join(parts)


def _values(rows: Rows, measure: str) -> np.ndarray:
    return SCALES[measure] * np.array([row[measure] for row in rows])


def _error(values: np.ndarray) -> float:
    """Return sd / sqrt(folds); folds of one set share bags, so that it is a rough guide."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _cell(values: np.ndarray, digits: int = 1) -> str:
    if len(values) < 2:
        return ""
    return f"{values.mean():.{digits}f} ± {_error(values):.{digits}f}"


def _beside(groups: Groups, sets: set[str]) -> str:
    """Return a row for each set: accuracy, area and log-loss of attention and of mean pooling."""
    measures = [
        f"{name}: attention | mean | difference" for name in ("accuracy", "AUC", "log-loss")
    ]
    shares = ["share of attention", "of largest values"]
    lines = _head(["set", *" | ".join(measures).split(" | "), *shares, "top token true, %"])
    for group, title in ((CLASSIC, "mean, classic"), (NEWSGROUPS, "mean, newsgroups")):
        names = [name for name in group if name in sets]
        for name in names:
            rows = groups[OURS, name]
            parts = [
                f"{np.mean([row[name] for row in rows]):.2f}" for name in ("share", "share_largest")
            ]
            top, _, total = _counts(rows)
            true = f"{100 * top / total:.0f}" if total else ""
            cells = [cell for measure in SCALES for cell in _pair(groups, [name], measure)]
            lines.append(_line([_short(name), *cells, *parts, true]))
        if len(names) == len(group):
            cells = [cell for measure in SCALES for cell in _pair(groups, names, measure)]
            found = [
                100 * _counts(groups[OURS, name])[0] / _counts(groups[OURS, name])[2]
                for name in names
                if group is NEWSGROUPS
            ]
            lines.append(_line([title, *cells, "", "", _mean(found) if found else ""]))
    return "\n".join(lines)


def _pair(groups: Groups, names: list[str], measure: str) -> list[str]:
    """Return means over the folds of attention and of mean pooling, and their difference."""
    digits = 1 if SCALES[measure] == 100 else 3
    ours, mean = (
        [_values(groups[method, name], measure).mean() for name in names] for method in (OURS, MEAN)
    )
    gaps = [_gap(groups, OURS, MEAN, name, measure) for name in names]
    error = np.sqrt(sum(_error(gap) ** 2 for gap in gaps)) / len(gaps)
    difference = np.mean([gap.mean() for gap in gaps])
    found = [f"{np.mean(ours):.{digits}f}", f"{np.mean(mean):.{digits}f}"]
    return [*found, f"{difference:.{digits}f} ± {error:.{digits}f}"]


def _measures(groups: Groups, methods: list[str], names: list[str], measure: str) -> str:
    lines = _head(["method", *map(_short, names), "mean"])
    for method in methods:
        found = [_values(groups[method, name], measure) for name in names]
        digits = 1 if SCALES[measure] == 100 else 3
        mean = f"{np.mean([v.mean() for v in found]):.{digits}f}" if all(map(len, found)) else ""
        lines.append(_line([method, *(_cell(one, digits) for one in found), mean]))
    if names == CLASSIC and measure == "accuracy":
        for method, numbers in PUBLISHED.items():
            lines.append(_line([f"{method}, published", *map(str, numbers), _mean(numbers)]))
    return "\n".join(lines)


def _against(groups: Groups, methods: list[str], sets: set[str]) -> str:
    """Return accuracy less that of mean pooling and of the better of mean and max."""
    lines = _head(["set", "method", "less mean pooling", "less the better of mean and max"])
    for method in methods:
        if method in (MEAN, MAX):
            continue
        for group, title in ((CLASSIC, "mean of the classic"), (NEWSGROUPS, "mean of newsgroups")):
            gaps = [_gaps(groups, method, name) for name in group if name in sets]
            names = [_short(name) for name in group if name in sets]
            for name, pair in zip(names, gaps, strict=True):
                lines.append(_line([name, method, *map(_cell, pair)]))
            if len(gaps) == len(group) and all(len(gap) > 1 for pair in gaps for gap in pair):
                lines.append(_line([title, method, *map(_average, zip(*gaps, strict=True))]))
    return "\n".join(lines)


def _average(gaps: Any) -> str:
    """Return the mean over sets, and its error from those of the sets."""
    error = np.sqrt(sum(_error(gap) ** 2 for gap in gaps)) / len(gaps)
    return f"{np.mean([gap.mean() for gap in gaps]):.1f} ± {error:.1f}"


def _gaps(groups: Groups, method: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return accuracy less that of mean pooling, and of the better of mean and max, by fold."""
    means = [_values(groups[other, name], "accuracy") for other in (MEAN, MAX)]
    better = MAX if all(map(len, means)) and means[1].mean() > means[0].mean() else MEAN
    return _gap(groups, method, MEAN, name), _gap(groups, method, better, name)


def _gap(
    groups: Groups, method: str, other: str, name: str, measure: str = "accuracy"
) -> np.ndarray:
    both = [{(r["repeat"], r["fold"]): r for r in groups[m, name]} for m in (method, other)]
    shared = sorted(both[0].keys() & both[1].keys())
    gaps = [both[0][at][measure] - both[1][at][measure] for at in shared]
    return SCALES[measure] * np.array(gaps)


def _localised(groups: Groups, methods: list[str], sets: set[str]) -> str:
    names = [name for name in NEWSGROUPS if name in sets]
    lines = _head(["method", *map(_short, names), "mean"])
    chance: list[str] = []
    for method in methods:
        counts = [_counts(groups[method, name]) for name in names]
        if all(total > 0 for _, _, total in counts):
            shares = [100 * top / total for top, _, total in counts]
            lines.append(_line([method, *(f"{s:.0f}" for s in shares), _mean(shares)]))
            shares = [100 * luck / total for _, luck, total in counts]
            chance = ["by chance", *(f"{s:.1f}" for s in shares), _mean(shares)]
    return "\n".join([*lines, _line(chance)])


def _counts(rows: Rows) -> tuple[float, float, float]:
    sums = [sum(row.get(name, 0) for row in rows) for name in ("top_true", "by_chance")]
    return sums[0], sums[1], sum(row.get("with_true", 0) for row in rows)


def _seconds(groups: Groups, methods: list[str], sets: set[str]) -> str:
    lines = _head(["method", "median", "largest", "folds in all"])
    for method in methods:
        times = [row["seconds"] for name in sets for row in groups[method, name]]
        lines.append(
            _line([method, f"{np.median(times):.2f}", f"{max(times):.1f}", str(len(times))])
        )
    return "\n".join(lines)


def _mean(numbers: Any) -> str:
    return f"{np.mean(numbers):.1f}"


def _short(name: str) -> str:
    return name.removeprefix("ng_")


def _head(cells: list[str]) -> list[str]:
    return [_line(cells), _line(["---"] * len(cells))]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
