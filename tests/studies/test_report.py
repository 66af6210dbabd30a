"""The report: complete, self-contained, and never half written."""

import csv
import dataclasses
import errno
import io
import json
import math
import os
import re
import shutil
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from command_line import invoke
from pages import Page
from sparsetoken.base import files
from sparsetoken.base.progress import showing
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.figures.page import number
from sparsetoken.studies.claims import Number, all_true, judged, row
from sparsetoken.studies.report import expected_text, found_text, maths, percent, subject
from sparsetoken.studies.reproduction import chosen_studies, reproduce
from sparsetoken.work import DamagedResultWarning
from studies.made_up import LOADS, MadeUp, exact, noted, simulate, unless

pytestmark = pytest.mark.usefixtures("made_up_studies")


class Bar:
    """A bar that notes the number of steps, and how many are done at once."""

    def __call__(self, what, total):
        self.steps.append(total)
        return self

    def __init__(self):
        self.steps = []

    def update(self, n=1):
        self.steps.append(n)

    def close(self):
        pass


def _text(reproduction):
    return reproduction.report.read_text("utf-8")


def _document(folder):
    """Return the claims.json of a report, which has no numbers that JSON lacks."""
    return json.loads((folder / "claims.json").read_text("utf-8"), parse_constant=pytest.fail)


def _written(folder):
    """Return the content of the folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _logged(log, **changed):
    """Return a study whose simulation is written down, with some calls by their place."""
    calls, log = zip("abc", LOADS, strict=True), str(log)
    own = {name: partial(simulate, load) for name, load in zip("abc", LOADS, strict=True)} | changed
    return MadeUp({load: partial(noted, log, name, own[name]) for name, load in calls})


@pytest.fixture(scope="module")
def written(made_up_studies, tmp_path_factory):
    bar = Bar()
    with showing(bar):
        return reproduce(out=tmp_path_factory.mktemp("new") / "out"), bar.steps


@pytest.fixture
def old(written, tmp_path):
    """A copy of the folder of a report."""
    return shutil.copytree(written[0].report.parent, tmp_path / "old")


def test_files_and_progress(written):
    reproduction, steps = written
    folder = reproduction.report.parent
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    kept = {name for name in names if name.startswith("work/")}
    # The theory of both studies is the same calls; each experiment has two dimensions.
    assert len(kept) == 15
    figures = ("learning-curves", "made-up")
    assert names - kept == {
        "report.html",
        "claims.json",
        *(f"{name}.svg" for name in figures),
        *(f"data/{name}.csv" for name in figures),
    }
    assert steps == [18, *[1] * 18]
    assert (reproduction.resumed, reproduction.calls) == (0, 18)


def test_the_page_is_well_formed_and_needs_no_network(written):
    page = Page(_text(written[0]))
    assert len(page.ids) == len(set(page.ids))
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert inside
    assert set(inside) <= set(page.ids)
    beside = {
        link for link in page.links if not link.startswith(("#", "data:image/svg+xml;base64,"))
    }
    assert beside
    assert all((written[0].report.parent / link).is_file() for link in beside)
    assert not re.search(r"@import|url\((?!#|%23)", _text(written[0]))


def test_words_of_studies_are_text_on_the_page(written):
    page = Page(_text(written[0]))
    assert "i" not in page.tags
    assert "<i>" not in _text(written[0])
    claim = ("A <i>claim about α*pool", "Theorem <i>1", "It is <i>so.", "a <i>source")
    section = ("Made <i>up", "With <i>numbers.", "A <i>line")
    for text in (*claim, *section, "<i>curve: cos(q₂, ξ)", "<i>where 0.25"):
        assert text in page.words
    assert "α*<sub>pool</sub>" in _text(written[0])
    assert "η<sub>q</sub>" in _text(written[0])
    for word in ("std. error", "seed", "jax", "wall time", "from public descriptions"):
        assert word in page.words


def test_each_claim_has_a_row_with_its_verdict_and_all_its_comparisons(written):
    reproduction, _ = written
    text = _text(reproduction)
    table = text.partition('<table class="statements">')[2].partition("</table>")[0]
    verdicts = {f.claim.name: f.verdict for f in reproduction.findings}
    assert verdicts == dict.fromkeys(("alone", "made-up", "other"), "holds")
    rows = re.findall(r"<tr data-kind.*?</tr>", table, re.S)
    assert len(rows) == len(verdicts)
    for finding in reproduction.findings:
        (row,) = [row for row in rows if f'href="#claim-{finding.claim.name}"' in row]
        assert f">{finding.verdict}</span>" in row
        details = text.partition(f'id="claim-{finding.claim.name}"')[2].partition("</tbody>")[0]
        lines = details.count("<tr><td>")
        assert lines == len(finding.comparisons) == {"made-up": 4}.get(finding.claim.name, 1)
    assert reproduction.counts == {"fails": 0, "not converged": 0, "holds": 3}
    assert reproduction.all_hold


def test_one_figure_stands_at_the_top_and_the_counts_say_whose_the_claims_are(written):
    text = _text(written[0])
    names = "found", "claims", "learning-curves", "made-up", "rule", "run"
    places = [text.index(f'<section id="{name}">') for name in names]
    assert places == sorted(places)
    assert text.count("<img ") == 2
    assert text.index('href="learning-curves.svg"') < places[1]
    counts = Page(text.partition('<p class="counts">')[2].partition("</p>")[0]).words.split()
    told = "3 claims hold: 1 of the paper, 2 of this project 4 comparisons with simulations"
    assert " ".join(counts).startswith(told)


def test_amendments_of_the_paper_have_a_part_of_their_own(tmp_path, written):
    study = MadeUp()
    study.claims = [dataclasses.replace(study.claims[0], kind="amendments of it"), study.claims[1]]
    text = _text(reproduce([study], out=tmp_path))
    part = text.partition('<section id="differences">')[2].partition("</section>")[0]
    assert "A &lt;i&gt;claim" in part
    assert "It is" not in part
    assert "1 amendments of it" in text
    assert '<section id="differences">' not in _text(written[0])


def test_the_paper_profile_has_four_times_the_trials(written, tmp_path):
    paper = reproduce(["made-up"], profile="paper", out=tmp_path)
    assert set(paper.comparisons.trials) == {80, 0}
    assert set(written[0].comparisons.trials) == {20, 0}
    assert 'id="learning-curves"' not in _text(paper)  # which was not chosen


def test_each_image_is_that_of_the_figure_and_the_same_each_time(written, tmp_path):
    before = dict(matplotlib.rcParams)
    folder = reproduce(["made-up"], out=tmp_path).report.parent
    assert dict(matplotlib.rcParams) == before
    content = (folder / "made-up.svg").read_bytes()
    assert content == (written[0].report.parent / "made-up.svg").read_bytes()
    image = ElementTree.fromstring(content)
    assert (image.get("width"), image.get("height")) == ("460.8pt", "302.4pt")  # 72 in an inch
    kinds = {element.tag.rpartition("}")[2] for element in image.iter()}
    assert "path" in kinds
    assert "text" not in kinds  # whose font may not be there


def test_the_table_of_a_study_is_its_frame(written):
    reproduction, _ = written
    text = (reproduction.report.parent / "data" / "made-up.csv").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    drawn = [one for one in rows if one["panel"]]
    assert {(r["panel"], r["curve"]) for r in drawn} == {("a <i>panel", "a <i>curve")}
    line = {float(r["x"]): float(r["theory"]) for r in drawn if not r["claim"]}
    assert line == pytest.approx({load: exact(load).value for load in LOADS})
    points = [float(r["measured"]) for r in drawn if r["claim"]]
    found = reproduction.comparisons[reproduction.comparisons.claim == "made-up"]
    assert points == pytest.approx(found[found.quantity == "cosine"].measured.tolist())


def test_claims_and_comparisons_are_json(written):
    reproduction, _ = written
    document = _document(reproduction.report.parent)
    assert list(document) == ["run", "statements", "claims"]
    assert {"profile": "quick", "seed": "0"}.items() <= document["run"].items()
    assert {"date", "sparsetoken", "commit", "machine", "wall time"} <= set(document["run"])
    keys = ["name", "text", "source", "status", "kind", "comparisons", "evidence"]
    assert all(list(row) == [*keys, "verdict"] for row in document["statements"])
    verdicts = {row["name"]: row["verdict"] for row in document["statements"]}
    assert {c["statement"] for c in document["claims"]} == set(verdicts)
    numbers = {"theory", "measured", "standard_error", "numerical_error", "allowance", "z"}
    size = {"dimension", "trials", "engine", "cases"}
    words = {"statement", "quantity", "curve", "where", "verdict", "key"}
    frame = reproduction.comparisons
    assert len(document["claims"]) == len(frame)
    for one, (_, comparison) in zip(document["claims"], frame.iterrows(), strict=True):
        assert set(one) >= numbers | size | words
        assert one["statement"] == comparison.claim
        assert one["measured"] == comparison.measured
        assert (one["z"] is None) == (comparison.quantity != "cosine")


def test_a_failing_claim_is_shown_failing(tmp_path, monkeypatch, made_up_studies):
    study = MadeUp({0.25: partial(simulate, 10.0)})
    monkeypatch.setitem(made_up_studies, "made-up", study)
    result = invoke("reproduce", "made-up", "--out", tmp_path, "--workers", 1)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == ["Claims that do not hold: made-up. The report says why."]
    reproduction = reproduce(["made-up"], out=tmp_path)
    assert reproduction.resumed == reproduction.calls
    finding = reproduction.findings[0]
    assert (finding.claim.name, finding.verdict) == ("made-up", "fails")
    assert finding.example["where"] == "<i>where 0.25"
    assert not reproduction.all_hold
    assert ">1 fails<" in _text(reproduction)
    assert '<span class="mark"' in _text(reproduction)


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    ready, log, out = tmp_path / "ready", tmp_path / "log", tmp_path / "out"
    slow = partial(unless, str(ready), "KeyboardInterrupt", partial(simulate, 1.0))
    study = _logged(log, b=slow)
    with pytest.raises(KeyboardInterrupt):
        reproduce([study], out=out)
    assert not any(path.is_file() for path in out.iterdir())
    kept = len(list((out / "work").iterdir()))
    assert kept == 5  # the theory, and the first experiment
    ready.touch()
    with showing(bar := Bar()):
        reproduction = reproduce([study], out=out)
    assert bar.steps == [9, kept, *[1] * (9 - kept)]
    assert (reproduction.resumed, reproduction.calls) == (kept, 9)
    assert f"{kept} of 9 results" in _text(reproduction)
    assert log.read_text().split() == ["a", "a", "b", "b", "b", "c", "c"]
    assert reproduce([study], out=out).resumed == 9
    assert len(log.read_text().split()) == 7
    assert reproduce([study], out=tmp_path / "other").resumed == 0


def test_a_call_that_fails_is_named_stops_no_other_and_is_made_again(
    tmp_path, monkeypatch, made_up_studies
):
    ready, log, out = tmp_path / "ready", tmp_path / "log", tmp_path / "out"
    study = _logged(log, a=partial(unless, str(ready), "LookupError", partial(simulate, 0.25)))
    monkeypatch.setitem(made_up_studies, "made-up", study)
    result = invoke("reproduce", "made-up", "--out", out, "--workers", 1)
    assert (result.exit_code, result.stdout) == (1, "")
    (message,) = result.stderr.splitlines()
    assert "made_up.noted(" in message
    assert "has no result. LookupError: not ready" in message
    assert message.endswith("The next run resumes from here.")
    assert not (out / "report.html").exists()
    ready.touch()
    assert reproduce(["made-up"], out=out).resumed == 7
    assert log.read_text().split() == ["a", "a", "b", "b", "c", "c", "a", "a"]


@pytest.mark.parametrize(
    "damaged",
    [
        lambda own, other: own[:-9] + bytes([own[-9] ^ 1]) + own[-8:],
        pytest.param(lambda own, other: other, marks=pytest.mark.slow),
        pytest.param(lambda own, other: b"5", marks=pytest.mark.slow),
    ],
    ids=["changed", "of another", "no result"],
)
def test_a_damaged_result_is_computed_again(old, damaged):
    before = _document(old)
    path, other, *_ = sorted((old / "work").iterdir())
    content = path.read_bytes()
    path.write_bytes(damaged(content, other.read_bytes()))
    assert path.read_bytes() != content
    with pytest.warns(DamagedResultWarning, match=path.name):
        reproduction = reproduce(out=old)
    assert reproduction.calls - reproduction.resumed in (1, 2)  # the theory of one, or of both
    assert reproduce(out=old).resumed == reproduction.calls
    assert _document(old)["claims"] == before["claims"]


@pytest.mark.parametrize("what", ["rows", "panels"])
def test_an_error_of_a_study_names_it_and_all_results_are_kept(old, monkeypatch, what):
    study, before = MadeUp(), _written(old)
    monkeypatch.setattr(study, what, lambda run: 1 / 0)
    with pytest.raises(Failure, match=r"^made-up could not be .*Error: .*kept"):
        reproduce([study], out=old, seed=1)
    assert before.items() <= _written(old).items()
    monkeypatch.undo()
    assert reproduce([MadeUp()], out=old, seed=1).resumed == 9


@pytest.mark.parametrize("what", ["claim", "panel"])
def test_a_row_of_a_claim_or_panel_that_the_study_has_not_is_refused(tmp_path, monkeypatch, what):
    study = MadeUp()
    monkeypatch.setattr(study, "rows", lambda run: [row(1.0, Number(1.0), **{what: "x"})])
    with pytest.raises(Failure, match=f"{what} of a row must be one of"):
        reproduce([study], out=tmp_path)


@pytest.mark.parametrize(
    ("word", "options"),
    [
        ("study", {"studies": ["weather"]}),
        ("a list of names", {"studies": "made-up"}),
        ("profile", {"profile": "slow"}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": 0.5}),
    ],
)
def test_bad_input_is_found_before_any_work(tmp_path, word, options):
    with pytest.raises(InvalidInput, match=word):
        reproduce(**{"out": tmp_path / "out", **options})
    assert not (tmp_path / "out").exists()


def test_chosen_studies_are_in_order_of_the_report_and_ones_own_are_last(made_up_studies):
    first, second = made_up_studies.values()
    own = MadeUp()
    own.name, own.claims = "own", ()
    assert chosen_studies([own, second.name, first.name, second.name]) == [first, second, own]
    assert chosen_studies([own]) == [own]
    assert chosen_studies(()) == [first, second]


@pytest.mark.parametrize("name", ["made-up", "found", "Own", "../evil"])
def test_names_that_are_no_files_or_are_taken_are_refused(made_up_studies, name):
    own = MadeUp()
    own.name, own.claims = name, ()
    with pytest.raises(InvalidInput, match="names of studies"):
        chosen_studies([*made_up_studies, own])
    own.name, own.claims = "own", MadeUp.claims
    with pytest.raises(InvalidInput, match="names of claims"):
        chosen_studies([*made_up_studies, own])


@pytest.mark.parametrize(
    "name",
    [
        "report.html",
        "claims.json",
        "made-up.svg",
        "data/made-up.csv",
        "work",
        "data",
    ],
)
def test_what_is_in_the_way_is_found_before_any_work_and_the_old_report_stays(old, name):
    """A folder in place of a file, or a file in place of a folder."""
    if (old / name).is_dir():
        shutil.rmtree(old / name)
        (old / name).touch()
    else:
        (old / name).unlink()
        (old / name).mkdir()
    before = _written(old)
    with pytest.raises(InvalidInput, match=r"a file; got|names another"), showing(bar := Bar()):
        reproduce(["made-up"], out=old, seed=1)
    reports = {path: content for path, content in _written(old).items() if "work" not in path.parts}
    assert reports == {p: content for p, content in before.items() if "work" not in p.parts}
    assert bar.steps == []


@pytest.mark.parametrize("out", ["", "file/out", "sealed"])
def test_a_folder_that_cannot_be_written_is_one_message(tmp_path, monkeypatch, out):
    def sealed(folder, mode, real=os.access):  # a user who may write anywhere runs tests, too
        return "sealed" not in Path(folder).parts and real(folder, mode)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", sealed)
    (tmp_path / "file").touch()
    result = invoke("reproduce", "made-up", "--out", out, "--workers", 1)
    assert (result.exit_code, result.stdout) == (2, "")
    (message,) = result.stderr.splitlines()
    what = "(report.html of the folder )?out must be" if out else "--out must be given a value"
    assert re.match(f"Error: {what}", message)
    assert not any(path.is_file() for path in tmp_path.rglob("*/work/*"))


@pytest.mark.parametrize(
    "name",
    [
        "report.html",
        pytest.param("made-up.csv", marks=pytest.mark.slow),
        pytest.param("claims.json", marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_keeps_the_old_file_and_is_one_message(old, monkeypatch, name):
    write = files.write_file

    def full(path, parts):
        if path.suffix == Path(name).suffix:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, parts)

    monkeypatch.setattr(files, "write_file", full)
    (own,) = old.rglob(name)
    own.write_text("old")
    others = set(_written(old))
    result = invoke("reproduce", "made-up", "--out", old, "--workers", 1)
    assert (result.exit_code, result.stdout) == (1, "Wrote not all\n")
    assert result.stderr.splitlines() == [
        f"Error: {own} was not written: No space left on device. Name another folder with --out."
    ]
    assert (own.read_text(), set(_written(old))) == ("old", others)


@pytest.mark.slow  # `test_work` starts workers, too
def test_workers_change_no_result(written, tmp_path):
    alone, shared = written[0].report.parent, reproduce(out=tmp_path, workers=2)
    assert (shared.resumed, shared.calls) == (0, 18)
    for key in ("statements", "claims"):
        assert _document(tmp_path)[key] == _document(alone)[key]
    names = [path.relative_to(alone) for path in alone.rglob("*") if path.is_file()]
    assert sorted(names) == sorted(p.relative_to(tmp_path) for p in _written(tmp_path))
    for name in names:
        if name.suffix in (".svg", ".csv"):
            assert (tmp_path / name).read_bytes() == (alone / name).read_bytes()


def test_another_seed_changes_all_that_is_random_and_takes_the_theory_from_before(written, old):
    other = reproduce(["made-up"], out=old, seed=1)
    assert (other.resumed, other.calls) == (len(LOADS), 3 * len(LOADS))
    before = written[0].comparisons.set_index(["claim", "quantity", "where"])
    after = other.comparisons.set_index(["claim", "quantity", "where"])
    before = before.loc[after.index]
    np.testing.assert_array_equal(before.theory, after.theory)
    random = after.index.get_level_values("quantity") == "cosine"
    np.testing.assert_array_equal(before.measured != after.measured, random)


def test_the_command_prints_json_or_a_table_of_verdicts(tmp_path):
    result = invoke("reproduce", "--out", tmp_path, "--workers", 1, "--json")
    assert (result.exit_code, result.stderr.splitlines()) == (0, [])
    values = json.loads(result.stdout)
    assert list(values) == ["statements", "claims", "report", "status"]
    assert Path(values["report"]) == tmp_path / "report.html"
    assert values["status"] == "converged"
    document = _document(tmp_path)
    assert (values["statements"], values["claims"]) == (document["statements"], document["claims"])
    result = invoke("reproduce", "made-up", "--out", tmp_path, "--workers", 1)
    assert (result.exit_code, result.stderr.splitlines()) == (
        0,
        ["9 of 9 results came from earlier runs."],
    )
    table = dict(re.split(r"\s{2,}", line.strip())[:2] for line in result.stdout.splitlines()
                 if "  " in line.strip())  # fmt: skip
    assert (table["holds"], table["fails"]) == ("2", "0")
    assert table["comparisons against simulated tokens"] == "1"
    assert table["report"] == str(tmp_path / "report.html")
    assert "2 claims hold: 1 of the paper, 1 of this project." in result.stdout


@pytest.mark.parametrize("wrong", [["weather"], ["--profile", "slow"], ["--workers", 0]])
def test_a_wrong_command_is_one_message(tmp_path, wrong):
    result = invoke("reproduce", *wrong, "--out", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


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
        (math.nan, 4, "–"),
        (-math.inf, 4, "−∞"),
    ],
)
def test_numbers_on_the_page(value, digits, text):
    assert number(value, digits) == text
    assert [percent(share) for share in (0.01234, math.nan)] == ["1.2 %", "–"]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("η_q > max_iterations", "η<sub>q</sub> &gt; max_iterations"),
        ("α*_{pool}, d^{−1/2}, d^2", "α*<sub>pool</sub>, d<sup>−1/2</sup>, d<sup>2</sup>"),
        ("<i>_{<i>}", "&lt;i&gt;<sub>&lt;i&gt;</sub>"),
    ],
)
def test_formulas_on_the_page(text, html):
    assert maths(text) == html


@pytest.mark.parametrize(
    ("one", "texts"),
    [
        (all_true([True, False, True], []), ("all 3", "2 of 3")),
        (row(0.5, Number(0.5)), ("0.5000", "the same")),
        (row(0.0, Number(1e-12)), ("0.0000", "1.0·10⁻¹²")),
        (row(0.5, Number(0.500001)), ("0.5000", "off by 1.0·10⁻⁶")),
        (row(0.5, Number(0.5, 0.1, "reduced", 10, 8)), ("0.5000", "0.5000")),
    ],
)
def test_what_was_expected_and_what_was_found(one, texts):
    comparison = judged([one]).iloc[0]
    assert (expected_text(comparison), found_text(comparison)) == texts


@pytest.mark.parametrize(
    ("curve", "quantity", "text"),
    [
        ("pooled", "test_error", "pooled: test error"),
        ("cosine", "cosine", "cos(q₂, ξ)"),
        ("η_q", "auc", "η<sub>q</sub>: AUC"),
        ("", "slope", "slope"),
    ],
)
def test_the_subject_of_a_comparison(curve, quantity, text):
    assert subject(judged([row(1.0, curve=curve, quantity=quantity)]).iloc[0]) == text
