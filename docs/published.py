"""Numbers of reports that the documentation quotes, and the badges of the README.

    python docs/published.py                    write the pages again from docs/published.json
    python docs/published.py --quick results    first take the numbers of a report
    python docs/published.py --speed results/bench.json   and the rows of benchmarks/speed.py

Rows of speed that are not measured again stay.

The links of equations.md to lines are written from the source of the package.

In a page, what stands between ``<!-- numbers: NAME -->`` and ``<!-- end -->`` is written by the
function of `BLOCKS` of that name; a badge is written from pyproject.toml and the verdicts of the
report. A test compares all of them with docs/published.json.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsetoken.studies.claims import EVIDENCE, FAILS, HOLDS, KINDS, NOT_CONVERGED, VERDICTS

HERE = Path(__file__).parent
NUMBERS = HERE / "published.json"
MARK = re.compile(r"(<!-- numbers: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

Numbers = Mapping[str, Any]


def taken_from(folder: Path) -> dict[str, Any]:
    """Return the numbers of a report that the documentation needs."""
    document = json.loads((folder / "claims.json").read_text("utf-8"))
    claims = {
        s["name"]: {name: s[name] for name in ("verdict", "kind", "evidence")}
        for s in document["statements"]
    }
    z = [c["z"] for c in document["claims"] if c["z"] is not None]
    return {
        "run": document["run"],
        "claims": claims,
        "z": {
            "count": len(z),
            "sd": statistics.pstdev(z),
            "beyond_3": sum(abs(value) > 3 for value in z),
        },
    }


def reproduction(numbers: Numbers) -> str:
    """Return the counts of the quick report."""
    found = numbers["quick"]
    claims = found["claims"].values()
    kinds = {kind: sum(c["evidence"].get(kind, 0) for c in claims) for kind in EVIDENCE}
    z = found["z"]
    return (
        f"Claims that hold: {_verdicts(found)}. {sum(kinds.values())} comparisons: "
        + ", ".join(f"{n} {EVIDENCE[kind]}" for kind, n in kinds.items())
        + f".\nz of the {z['count']} with a simulation has standard deviation {z['sd']:.2f}; "
        f"{z['beyond_3']} exceed 3. Commit {found['run']['commit']}, {found['run']['date']}.\n"
    )


def _verdicts(found: Numbers, others: Sequence[str] = VERDICTS) -> str:
    """Return whose the claims are that hold, and how many have other verdicts."""
    claims = found["claims"].values()
    held = [c["kind"] for c in claims if c["verdict"] == HOLDS]
    whose = ", ".join(f"{held.count(kind)} {kind}" for kind in KINDS if kind in held)
    counts = {v: sum(c["verdict"] == v for c in claims) for v in others if v != HOLDS}
    return whose + "".join(f"; {n} {v}" for v, n in counts.items() if n)


def rows_of_speed(file: Path) -> list[dict[str, Any]]:
    """Return what the documentation needs of the rows that ``benchmarks/speed.py`` saved."""
    kept = ("name", "what", "ours_s", "other_s", "limit_s", "ratio", "ours_mb", "other_mb", "run")
    return [{name: row[name] for name in kept} for row in json.loads(file.read_text("utf-8"))]


def speed(numbers: Numbers) -> str:
    """Return the table of times beside another way."""
    rows = numbers["speed"]
    lines = [
        "| row | what | time | other way | ratio | limit | memory, MB |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}"
        memory = " / ".join(f"{row[k]:.0f}" for k in ("ours_mb", "other_mb") if round(row[k] or 0))
        ours, other, limit = (_seconds(row[f"{side}_s"]) for side in ("ours", "other", "limit"))
        cells = (f"`{row['name']}`", row["what"], ours, other, ratio, limit, memory)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", _runs(rows), ""])


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    told = f"{1000 * value:.2g} ms" if value < 0.05 else f"{value:.3g} s"
    return told.replace(" ", "\u00a0")  # number and unit stay in one line


def _runs(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return commit, date and machine of the rows."""
    found: dict[str, list[str]] = {}
    for row in rows:
        told = ", ".join(row["run"][name] for name in ("commit", "date", "machine"))
        found.setdefault(told, []).append(f"`{row['name']}`")
    every = len(found) == 1
    return "\n".join(
        f"Commit {told}: {'all rows' if every else ', '.join(names)}."
        for told, names in found.items()
    )


PAPER = {
    "Theorem 1 (its figure: `st.presets.alignment`)": ("first-step", "query-alignment"),
    "Equation (15)": ("sign-condition",),
    "Theorem 2, figure 1 (`st.presets.learning_curves`)": (
        "stage-four-potential",
        "learned-readout",
        "learned-error",
    ),
    "Theorem 3 and conjecture 1": ("capacity",),
    "Propositions 1 to 3": (
        "pooled-representation",
        "vectorized-representation",
        "representation-error",
        "largest-token-test",
    ),
    "Proposition 4": ("oracle-tests",),
    "Figure of the error at infinite data": ("population-risk",),
}
"""Equations of the paper."""
CODE = r"### {}\n.*?^\*Code:\* `([\w/.]+)`, `([\w.]+)`"


def of_the_paper(numbers: Numbers) -> str:
    """Return the table of the results of the paper, with links to the lines of their functions."""
    page = (HERE / "equations.md").read_text("utf-8")
    lines = [
        "| in the paper | equation | function | unit tests |",
        "| --- | --- | --- | --- |",
    ]
    for result, names in PAPER.items():
        for name in names:
            file, function = re.search(CODE.format(name), page, re.MULTILINE | re.DOTALL).groups()
            source = f"../src/sparsetoken/{file}"
            code = f"[`{function}`]({source}#L{_line(HERE / source, function)})"
            tests = ", ".join(
                f"[{test.stem}](../{test.relative_to(HERE.parent)})" for test in _tests(name)
            )
            lines.append(f"| {result} | [{name}](#{name}) | {code} | {tests} |")
    return "\n".join([*lines, ""])


def _line(file: Path, name: str) -> int:
    """Return the line of a function or class, or of a method, as Class.method."""
    node: Any = ast.parse(file.read_text("utf-8"))
    for part in name.split("."):
        node = next(one for one in node.body if getattr(one, "name", "") == part)
    return int(node.lineno)


def _tests(name: str) -> list[Path]:
    """Return the files of tests of the theory that name an equation."""
    named = re.compile(rf"^Equations: [^.]*(?<![\w-]){name}(?![\w-])", re.MULTILINE)
    files = sorted((HERE.parent / "tests" / "theory").rglob("test_*.py"))
    return [file for file in files if named.search(file.read_text("utf-8"))]


BLOCKS: dict[str, Callable[[Numbers], str]] = {
    "paper": of_the_paper,
    "reproduction": reproduction,
    "speed": speed,
}


def with_blocks(text: str, numbers: Numbers) -> str:
    """Return a page with its marked blocks written again."""
    return MARK.sub(lambda m: m[1] + BLOCKS[m[2]](numbers) + m[4], text)


BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img">
<title>{left}: {right}</title>
<rect width="{width}" height="20" rx="3" fill="#0072B2"/>
<path d="M3 0h{edge}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>
<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
<text x="8" y="14" textLength="{left_length}">{left}</text>
<text x="{start}" y="14" textLength="{right_length}">{right}</text>
</g>
</svg>
"""
LETTER = 6.3  # mean width of a letter of 11 pixels


def badge(left: str, right: str) -> str:
    """Return a picture of two words, as SVG."""
    left_length, right_length = (round(LETTER * len(text)) for text in (left, right))
    start = left_length + 24
    return BADGE.format(
        left=left,
        right=right,
        left_length=left_length,
        right_length=right_length,
        edge=left_length + 13,
        start=start,
        width=start + right_length + 8,
    )


def badges(numbers: Numbers) -> dict[Path, str]:
    """Return the badges of the README."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    words = {
        "python": ("Python", project["requires-python"].removeprefix(">=") + " or later"),
        "licence": ("licence", project["license"]),
        "claims": ("claims that hold", _verdicts(numbers["quick"], (FAILS, NOT_CONVERGED))),
    }
    return {HERE / f"images/badge_{name}.svg": badge(*two) for name, two in words.items()}


def written(numbers: Numbers) -> dict[Path, str]:
    """Return all pages that hold numbers and all badges, as they should be."""
    pages = {file: file.read_text("utf-8") for file in sorted(HERE.glob("*.md"))}
    found = {file: with_blocks(text, numbers) for file, text in pages.items() if MARK.search(text)}
    return found | badges(numbers)


def main() -> None:
    """Take the numbers of the folders that are named, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", type=Path, metavar="FOLDER")
    parser.add_argument("--speed", type=Path, metavar="FILE")
    options = parser.parse_args()
    numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    numbers |= {"quick": taken_from(options.quick)} if options.quick else {}
    if options.speed:
        rows = {row["name"]: row for row in numbers.get("speed", [])}
        rows |= {row["name"]: row for row in rows_of_speed(options.speed)}
        numbers |= {"speed": list(rows.values())}
    NUMBERS.write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for file, text in written(numbers).items():
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
