"""The report: complete, self-contained, and never half written."""

import dataclasses
import errno
import html.parser
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from command_line import invoke
from sparsetoken.base.validation import InvalidInput
from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core import rules
from sparsetoken.experiments.core.finite_dimension import Shift
from sparsetoken.experiments.core.rows import Row
from sparsetoken.experiments.core.words import (
    expected_text,
    found_text,
    maths,
    number,
    plus_minus,
    shifted,
)
from sparsetoken.experiments.report import reproduce
from sparsetoken.work import DamagedResultWarning

VOID = {"meta", "br", "link", "img", "input", "hr"}


class _Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.ids.append(values["id"])
        self.links += [values[key] for key in ("href", "src", "xlink:href") if key in values]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def _written(folder):
    """Return the content of the folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _messages(result):
    """Return the lines on standard error but for those that tell of progress."""
    return [line for line in result.stderr.splitlines() if "% done" not in line]


@pytest.fixture(scope="module")
def written(fake_experiments, tmp_path_factory):
    steps = []
    reproduction = reproduce(
        out=tmp_path_factory.mktemp("new") / "out", progress=lambda *step: steps.append(step)
    )
    return reproduction, steps


def test_files(written):
    reproduction, _ = written
    folder = reproduction.report.parent
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    kept = {name for name in names if name.startswith("work/")}
    assert len(kept) == 2
    assert names - kept == {
        "report.html",
        "claims.json",
        "alignment.webp",
        "made_up.webp",
        "z_values.webp",
        "data/figure.z_values.csv",
        "data/figure.alignment.csv",
        "data/figure.made_up.csv",
        "data/alignment.csv",
        "data/made-up.csv",
        "data/trials.csv",
    }


def test_the_page_is_well_formed_and_needs_no_network(written):
    text = written[0].report.read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert set(inside) <= set(page.ids)
    beside = {link for link in page.links if not link.startswith(("#", "data:image/webp"))}
    assert beside
    assert all((written[0].report.parent / link).is_file() for link in beside)
    assert not re.search(r"@import|url\((?!#|%23)", text)
    assert "<i>" not in text
    for words in ("Made {}up", "{}trials", "A {}claim", "there {}is", "A {}line", "a {}curve"):
        assert words.format("&lt;i&gt;") in text
    assert ">&lt;i&gt;curve: " in text
    assert ">some&lt;i&gt;where<" in text
    assert "The measured cosine rises from" in text
    assert "η<sub>q</sub>" in text
    assert "written from public descriptions" in text
    for word in ("shift of finite d", "seed", "jax", "wall time", "holds"):
        assert word in text


def test_each_statement_has_a_row_with_its_verdict(written):
    reproduction, _ = written
    text = reproduction.report.read_text(encoding="utf-8")
    table = text[text.index('<table class="statements">') :]
    table = table[: table.index("</table>")]
    names = [finding.claim.name for finding in reproduction.findings]
    assert len(names) == len(set(names)) > 0
    for finding in reproduction.findings:
        assert finding.comparisons, finding.claim.name
        assert f">{finding.claim.name}</a>" in table
    assert table.count('class="verdict') == len(names)
    assert sum(reproduction.counts.values()) == len(names)


def test_a_failing_claim_is_shown_failing(fake_experiments, tmp_path, monkeypatch, fakes, plan_of):
    rows = fakes["alignment"]
    theory = rows.one("theory", "cosine", alpha0=0.25)
    measured = rows.one("simulated", "cosine", alpha0=0.25)
    wrong = measured.but(value=theory.value + 0.2)
    work = plan_of(lambda: [wrong if row is measured else row for row in rows])
    fake = dataclasses.replace(EXPERIMENTS["alignment"], work=work)
    monkeypatch.setitem(EXPERIMENTS, "alignment", fake)
    reproduction = reproduce(["alignment"], out=tmp_path)
    by_name = {finding.claim.name: finding for finding in reproduction.findings}
    assert by_name["query-alignment"].verdict == "fails"
    assert by_name["query-alignment"].example.measured == wrong.value
    assert by_name["steps-set-sharpness-only"].verdict == "holds"
    assert not reproduction.all_hold
    page = reproduction.report.read_text(encoding="utf-8")
    assert ">1 fails<" in page
    assert 'id="made-up"' not in page  # which was not chosen

    document = json.loads((reproduction.report.parent / "claims.json").read_text(encoding="utf-8"))
    assert len(document["claims"]) == len(reproduction.comparisons)
    assert {"theory", "measured", "standard_error", "z", "verdict"} <= set(document["claims"][0])
    assert document["run"]["seed"] == "0"
    statements = {row["name"]: row["verdict"] for row in document["statements"]}
    assert {claim["statement"] for claim in document["claims"]} == set(statements)


def test_outlying_trials_are_shown_for_a_look(
    fake_experiments, tmp_path, monkeypatch, fakes, plan_of
):
    rows = fakes["alignment"]
    measured = rows.one("simulated", "cosine", alpha0=0.25)
    values = (*np.linspace(0.3, 0.31, 19).tolist(), 60.0)
    work = plan_of(lambda: [row.but(values=values) if row is measured else row for row in rows])
    fake = dataclasses.replace(EXPERIMENTS["alignment"], work=work)
    monkeypatch.setitem(EXPERIMENTS, "alignment", fake)
    reproduction = reproduce(["alignment"], out=tmp_path)
    by_name = {finding.claim.name: finding for finding in reproduction.findings}
    assert by_name["query-alignment"].verdict == "look"
    assert not reproduction.all_hold
    page = reproduction.report.read_text(encoding="utf-8")
    assert ">1 look<" in page
    assert "Outlying: 60 among 20 trials" in page
    (comparison,) = [c for c in reproduction.comparisons if c.outlying]
    done = invoke("reproduce", "alignment", "--out", tmp_path, "--workers", 1)
    assert done.exit_code == 1
    assert f"Look at query-alignment, {comparison.curve}" in done.stderr
    assert comparison.outlying in " ".join(done.stderr.split())


def test_a_stopped_run_goes_on_where_it_was(
    fake_experiments, tmp_path, monkeypatch, fakes, plan_of
):
    ran = []

    def first():
        ran.append("first")
        return fakes["alignment"]

    def second():
        ran.append("second")
        if len(ran) == 2:
            raise KeyboardInterrupt
        return []

    fake = dataclasses.replace(EXPERIMENTS["alignment"], work=plan_of(first, second))
    monkeypatch.setitem(EXPERIMENTS, "alignment", fake)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["alignment"], out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    steps = []
    reproduction = reproduce(["alignment"], out=tmp_path, progress=lambda *step: steps.append(step))
    assert ran == ["first", "second", "second"]
    assert steps == [("alignment", 3.0, 3.0)]  # after what was kept
    assert "1 of 2 pieces of work" in reproduction.report.read_text(encoding="utf-8")
    assert reproduce(["alignment"], out=tmp_path).resumed == 2
    assert ran == ["first", "second", "second"]
    assert reproduce(["alignment"], out=tmp_path / "other").resumed == 0


def test_a_piece_of_work_that_fails_stops_no_other_and_runs_again(
    fake_experiments, tmp_path, monkeypatch, fakes, plan_of
):
    ran, ready = [], tmp_path / "ready"

    def fails():
        ran.append("fails")
        ready.stat()
        return fakes["alignment"]

    work = plan_of(fails, lambda: ran.append("other") or [])
    fake = dataclasses.replace(EXPERIMENTS["alignment"], work=work)
    monkeypatch.setitem(EXPERIMENTS, "alignment", fake)
    result = invoke("reproduce", "alignment", "--out", tmp_path, "--workers", "1")
    assert result.exit_code == 1
    (message,) = _messages(result)
    assert "fails() has no result. FileNotFoundError" in message
    assert not (tmp_path / "report.html").exists()
    ready.touch()
    assert reproduce(["alignment"], out=tmp_path).resumed == 1
    assert ran == ["fails", "other", "fails"]


@pytest.mark.parametrize(
    "damaged",
    [
        lambda own, other: own.replace(b"simulated", b"simulatex", 1),
        lambda own, other: other,
        lambda own, other: b"5",
    ],
    ids=["changed", "of another", "no object"],
)
def test_a_damaged_piece_runs_again(written, tmp_path, monkeypatch, damaged):
    before, _ = written
    shutil.copytree(before.report.parent / "work", tmp_path / "work")
    path, other = sorted((tmp_path / "work").iterdir())
    content = path.read_bytes()
    path.write_bytes(damaged(content, other.read_bytes()))
    assert path.read_bytes() != content
    with pytest.warns(DamagedResultWarning, match=path.name):
        reproduce(out=tmp_path)
    assert path.read_bytes() == content
    old, new = (json.loads((at / "claims.json").read_text("utf-8"))
                for at in (before.report.parent, tmp_path))  # fmt: skip
    assert new["claims"] == old["claims"]


def test_bad_input_and_folders_are_found_before_any_work(fake_experiments, tmp_path):
    wrong = {"experiment": {"names": ["weather"]}, "profile": {"profile": "slow"}}
    for word, options in (*wrong.items(), ("seed", {"seed": -1})):
        with pytest.raises(InvalidInput, match=word):
            reproduce(out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="Choose another"):
        reproduce(out=tmp_path / "file" / "out")
    for name in ("report.html", "made_up.webp"):
        out, steps = tmp_path / f"out of {name}", []
        (out / name).mkdir(parents=True)
        with pytest.raises(InvalidInput, match=name):
            reproduce(["made-up"], out=out, progress=lambda *step, to=steps: to.append(step))
        assert steps == []
        assert [path.name for path in out.iterdir()] == [name]
    result = invoke("reproduce", "--out", out)
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1


def test_a_full_disk_keeps_the_old_report_and_is_one_message(
    fake_experiments, tmp_path, monkeypatch
):
    reproduce(["alignment"], out=tmp_path)
    before = _written(tmp_path)
    write = Path.write_bytes

    def full(path, content):
        if path.name == "report.html":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    result = invoke("reproduce", "alignment", "--out", tmp_path, "--workers", 1)
    assert result.exit_code == 2
    assert result.stdout == ""
    (message,) = _messages(result)
    assert "No space left" in message
    assert _written(tmp_path) == before


def test_the_command(fake_experiments, tmp_path, monkeypatch):
    result = invoke("reproduce", "--out", tmp_path, "--workers", 1, "--json")
    values = json.loads(result.stdout)
    assert list(values) == ["claims", "statements", "report", "status"]
    assert Path(values["report"]).exists()
    fails = any(claim["verdict"] != "holds" for claim in values["claims"])
    assert result.exit_code == int(fails)
    assert values["status"] == ("claims_failed" if fails else "converged")


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.12345, 4, "0.1235"),
        (-0.5, 2, "−0.50"),
        (0.000147, 4, "1.5·10⁻⁴"),
        (-4.8e-14, 4, "−4.8·10⁻¹⁴"),
        (-0.01, 1, "0.0"),
        (0.0, 4, "0.0000"),
        (2.5e7, 4, "2.5·10⁷"),
        (float("nan"), 4, "–"),
        (float("-inf"), 4, "−∞"),
    ],
)
def test_numbers_in_the_table(value, digits, text):
    assert number(value, digits) == text


def test_formulas_on_the_page():
    assert maths("η_q > max_iterations") == "η<sub>q</sub> &gt; max_iterations"
    assert maths("α*_{pool}, d^{−1/2}, d^2") == (
        "α*<sub>pool</sub>, d<sup>−1/2</sup>, d<sup>2</sup>"
    )


def test_what_is_not_0_is_never_written_as_0():
    texts = {0.002: "0.043 ± 0.002", 0.00004: "0.04321 ± 0.00004", 0.0: "0.043 ± 0.000"}
    for error, text in texts.items():
        row = Row("simulated", "test_error", 0.04321, error)
        assert (plus_minus(row, 3), plus_minus(row, 3, sign="+")) == (text, f"+{text}")
    for scale, text in ((1.0, "−0.0200 ± 0.0340"), (1e-13, "−2.0·10⁻¹⁵ ± 3.4·10⁻¹⁵")):
        theory = Row("theory", "test_error", scale)
        measured = theory.but(error=scale, engine="reduced", dimension=100, trials=8)
        comparison = rules.against_simulation("one", theory, measured, shift=Shift(-2.0, 0.0, 3.4))
        assert shifted(comparison) == text


def test_what_was_compared_is_said_where_digits_are_the_same():
    order = rules.fraction_true("one", "order", [True] * 11 + [False])
    assert (expected_text(order), found_text(order)) == ("all 12", "11 of 12")
    near = rules.against_value("one", "slope", expected=1.0, value=1 + 4e-9, allowance=1e-3)
    assert (expected_text(near), found_text(near)) == ("1.0000", "off by 4.0·10⁻⁹")
    same = dataclasses.replace(near, measured=1.0)
    assert found_text(same) == "the same"
    assert found_text(dataclasses.replace(same, standard_error=0.1)) == "1.0000"
    off = dataclasses.replace(near, measured=1.001)
    assert found_text(off) == "1.0010"
