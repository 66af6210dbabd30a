"""The report: complete, self-contained, and never half written."""

import csv
import errno
import html.parser
import io
import json
import math
import os
import re
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import matplotlib
import pytest
from PIL import Image

from command_line import invoke
from sparsetoken.base.progress import showing
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.studies import report
from sparsetoken.studies.compare import report_only
from sparsetoken.studies.report import chosen_studies, reproduce
from sparsetoken.studies.words import maths, words
from sparsetoken.work import DamagedResultWarning
from studies.made_up import LOADS, MadeUp, exact, noted, trials, unless

pytestmark = pytest.mark.usefixtures("made_up_studies")
VOID = {"meta", "br", "link", "img", "input", "hr"}


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


class _Page(html.parser.HTMLParser):
    """A page whose tags must match: its ids, links, tags, and the words that are read."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.words = [], [], [], set(), ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.ids.append(values["id"])
        self.links += [values[key] for key in ("href", "src", "xlink:href") if key in values]
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def _text(reproduction):
    return reproduction.report.read_text("utf-8")


def _document(folder):
    """Return the claims.json of a report, which has no numbers that JSON lacks."""
    return json.loads((folder / "claims.json").read_text("utf-8"), parse_constant=pytest.fail)


def _written(folder):
    """Return the content of the folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _messages(result):
    """Return the lines on standard error but for those that tell of progress."""
    return [line for line in result.stderr.splitlines() if "% done" not in line]


def _mean(load, **changes):
    return partial(trials, load, 20, seed=7, **changes)


def _logged(log, **changed):
    """Return a study whose simulation is written down, with some calls by their place."""
    calls, log = zip("abc", LOADS, strict=True), str(log)
    return MadeUp(
        {load: partial(noted, log, name, changed.get(name, _mean(load))) for name, load in calls}
    )


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
    # The theory of both studies is the same calls.
    assert len(kept) == 9
    figures = ("learning-curves", "made-up", "z-values")
    assert names - kept == {
        "report.html",
        "claims.json",
        *(f"{name}.webp" for name in figures),
        *(f"data/{name}.csv" for name in figures),
    }
    assert steps == [12, *[1] * 12]
    assert (reproduction.resumed, reproduction.calls) == (0, 12)


def test_the_page_is_well_formed_and_needs_no_network(written):
    page = _Page(_text(written[0]))
    assert len(page.ids) == len(set(page.ids))
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert inside
    assert set(inside) <= set(page.ids)
    beside = {link for link in page.links if not link.startswith(("#", "data:image/webp;base64,"))}
    assert beside
    assert all((written[0].report.parent / link).is_file() for link in beside)
    assert not re.search(r"@import|url\((?!#|%23)", _text(written[0]))


def test_words_of_studies_are_text_on_the_page(written):
    page = _Page(_text(written[0]))
    assert "i" not in page.tags
    assert "<i>" not in _text(written[0])
    claim = ("A <i>claim about α*pool", "Theorem <i>1", "Is it <i>so?", "a <i>source")
    section = ("Made <i>up", "With 20 <i>trials", "The <i>first: 0.5", "The <i>second", "A <i>line")
    for text in (*claim, *section, "<i>curve: cos(q₂, ξ)", "<i>where 0.25", "It is <i>so."):
        assert text in page.words
    assert "α*<sub>pool</sub>" in _text(written[0])
    assert "η<sub>q</sub>" in _text(written[0])
    for word in ("shift of finite d", "seed", "jax", "wall time", "from public descriptions"):
        assert word in page.words


def test_each_claim_has_a_row_with_its_verdict_and_all_its_comparisons(written):
    reproduction, _ = written
    text = _text(reproduction)
    table = text.partition('<table class="statements">')[2].partition("</table>")[0]
    verdicts = {f.claim.name: f.verdict for f in reproduction.findings}
    asked = {"asked": "by experiment", "asked-alone": "by experiment"}
    assert verdicts == {"made-up": "holds", **asked}
    rows = re.findall(r"<tr data-source.*?</tr>", table, re.S)
    assert len(rows) == len(verdicts)
    for finding in reproduction.findings:
        (row,) = [row for row in rows if f'href="#claim-{finding.claim.name}"' in row]
        assert f">{finding.verdict}</span>" in row
        details = text.partition(f'id="claim-{finding.claim.name}"')[2].partition("</details>")[0]
        lines = details.partition("<tbody>")[2].count("<tr>")
        assert lines == len(finding.comparisons) == {"made-up": 4}.get(finding.claim.name, 1)
    assert reproduction.counts["by experiment"] == 2
    assert sum(reproduction.counts.values()) == 3
    assert reproduction.all_hold  # a question is no claim


def test_questions_have_a_part_of_their_own_and_one_figure_stands_at_the_top(written):
    text = _text(written[0])
    names = "found", "made-up", "learning-curves", "rule", "run"
    places = [text.index(f'<section id="{name}">') for name in names]
    assert places == sorted(places)
    beyond = text.index('<h2 class="part">Beyond the theorems</h2>')
    assert places[1] < beyond < places[2]
    assert text.count("<img ") == 3
    assert text.index('href="learning-curves.webp"') < places[1]


def test_the_quick_profile_says_what_is_left_to_the_other(written, tmp_path):
    paper = reproduce(["made-up"], profile="paper", out=tmp_path)
    left = "Left to the paper profile"
    assert left in _text(written[0])
    assert left not in _text(paper)
    assert "With 80 " in _text(paper)
    assert {c.trials for c in paper.comparisons} == {80, 0}
    assert 'id="learning-curves"' not in _text(paper)  # which was not chosen


def test_the_first_paragraph_of_a_headline_stands_at_the_top_whole(tmp_path, monkeypatch):
    study = MadeUp()
    monkeypatch.setattr(study, "found", lambda *_: "One that has\ntwo lines.\n\nAnother.")
    text = _text(reproduce([study], out=tmp_path))
    lead = text.partition('<div class="lead">')[2].partition("</div>")[0]
    assert " ".join(lead.split()) == "<p>One that has two lines.</p>"
    _Page(text)


def test_each_image_is_that_of_the_figure_and_the_same_each_time(written, tmp_path):
    before = dict(matplotlib.rcParams)
    folder = reproduce(["made-up"], out=tmp_path).report.parent
    assert dict(matplotlib.rcParams) == before
    content = (folder / "made-up.webp").read_bytes()
    assert content == (written[0].report.parent / "made-up.webp").read_bytes()
    image = Image.open(io.BytesIO(content))
    assert (image.format, image.size) == (
        "WEBP",
        (round(6.4 * report.DPI), round(3.9 * report.DPI)),
    )


def test_the_numbers_of_a_figure_are_in_its_table(written):
    reproduction, _ = written
    text = (reproduction.report.parent / "data" / "made-up.csv").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {(r["panel"], r["x_name"], r["curve"]) for r in rows} == {
        ("a <i>panel", "load", "a <i>curve")
    }
    line = {float(r["x"]): float(r["y"]) for r in rows if r["kind"] == "line"}
    assert line == pytest.approx({load: exact(load).value for load in LOADS})
    points = {float(r["x"]): float(r["error"]) for r in rows if r["kind"] == "points"}
    errors = [c.standard_error for c in reproduction.comparisons if c.quantity == "cosine"]
    assert points == pytest.approx(dict(zip(LOADS, errors, strict=True)))


def test_claims_and_comparisons_are_json(written):
    reproduction, _ = written
    document = _document(reproduction.report.parent)
    assert list(document) == ["run", "statements", "claims"]
    assert {"profile": "quick", "seed": "0"}.items() <= document["run"].items()
    assert {"date", "sparsetoken", "commit", "machine", "wall time"} <= set(document["run"])
    keys = ["name", "text", "source", "status", "open", "comparisons", "evidence", "verdict"]
    assert all(list(row) == keys for row in document["statements"])
    verdicts = {row["name"]: row["verdict"] for row in document["statements"]}
    assert {c["statement"] for c in document["claims"]} == set(verdicts)
    for row, comparison in zip(document["claims"], reproduction.comparisons, strict=True):
        assert row["statement"] == comparison.claim
        assert (row["measured"], row["evidence"]) == (comparison.measured, comparison.evidence)
        assert "claim" not in row
        assert (row["z"] is None) == (comparison.quantity != "cosine")


def test_a_failing_claim_is_shown_failing(tmp_path, monkeypatch, made_up_studies):
    study = MadeUp({0.25: _mean(10.0)})
    monkeypatch.setitem(made_up_studies, "made-up", study)
    result = invoke("reproduce", "made-up", "--out", tmp_path, "--workers", 1)
    assert result.exit_code == 1
    assert _messages(result) == ["Claims that do not hold: made-up. The report says why."]
    reproduction = reproduce(["made-up"], out=tmp_path)
    assert reproduction.resumed == reproduction.calls
    finding = reproduction.findings[0]
    assert (finding.claim.name, finding.verdict) == ("made-up", "fails")
    assert finding.example.where == "<i>where 0.25"
    assert not reproduction.all_hold
    assert ">1 fails<" in _text(reproduction)
    assert '<span class="mark" title="fails">' in _text(reproduction)


def test_outlying_trials_are_shown_for_a_look(tmp_path, monkeypatch, made_up_studies):
    monkeypatch.setitem(made_up_studies, "made-up", MadeUp({0.25: _mean(0.25, wrong=(60.0,))}))
    reproduction = reproduce(["made-up"], out=tmp_path)
    assert reproduction.findings[0].verdict == "look"
    assert not reproduction.all_hold
    assert ">1 look<" in _text(reproduction)
    assert "Outlying: 60 among 20 trials" in _text(reproduction)
    (comparison,) = [c for c in reproduction.comparisons if c.outlying]
    result = invoke("reproduce", "made-up", "--out", tmp_path, "--workers", 1)
    assert result.exit_code == 1
    assert f"Look at made-up, {comparison.curve}, cosine" in result.stderr
    assert comparison.outlying in " ".join(result.stderr.split())


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    ready, log, out = tmp_path / "ready", tmp_path / "log", tmp_path / "out"
    study = _logged(log, b=partial(unless, str(ready), "KeyboardInterrupt", _mean(1.0)))
    with pytest.raises(KeyboardInterrupt):
        reproduce([study], out=out)
    assert not any(path.is_file() for path in out.iterdir())
    kept = len(list((out / "work").iterdir()))
    assert 0 < kept < 6
    assert log.read_text().split()[-1] == "b"
    ready.touch()
    with showing(bar := Bar()):
        reproduction = reproduce([study], out=out)
    assert bar.steps == [6, kept, *[1] * (6 - kept)]
    assert (reproduction.resumed, reproduction.calls) == (kept, 6)
    assert f"{kept} of 6 results" in _text(reproduction)
    assert sorted(log.read_text().split()) == ["a", "b", "b", "c"]
    assert reproduce([study], out=out).resumed == 6
    assert len(log.read_text().split()) == 4
    assert reproduce([study], out=tmp_path / "other").resumed == 0


def test_a_call_that_fails_is_named_stops_no_other_and_is_made_again(
    tmp_path, monkeypatch, made_up_studies
):
    ready, log, out = tmp_path / "ready", tmp_path / "log", tmp_path / "out"
    study = _logged(log, a=partial(unless, str(ready), "LookupError", _mean(0.25)))
    monkeypatch.setitem(made_up_studies, "made-up", study)
    result = invoke("reproduce", "made-up", "--out", out, "--workers", 1)
    assert (result.exit_code, result.stdout) == (1, "")
    (message,) = _messages(result)
    assert "made_up.noted(" in message
    assert "has no result. LookupError: not ready" in message
    assert message.endswith("The next run resumes from here.")
    assert not (out / "report.html").exists()
    ready.touch()
    assert reproduce(["made-up"], out=out).resumed == 5
    assert sorted(log.read_text().split()) == ["a", "a", "b", "c"]


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


@pytest.mark.parametrize(
    "method",
    [
        "judge",
        pytest.param("setting", marks=pytest.mark.slow),
        pytest.param("found", marks=pytest.mark.slow),
        pytest.param("answers", marks=pytest.mark.slow),
        "draw",
    ],
)
def test_an_error_of_a_study_names_it_and_all_results_are_kept(old, monkeypatch, method):
    def broken(*_):
        raise ValueError("no such number")

    study, before = MadeUp(), _written(old)
    monkeypatch.setattr(study, method, broken)
    with pytest.raises(Failure, match=r"^made-up could not be .*ValueError: no such number.*kept"):
        reproduce([study], out=old, seed=1)
    assert before.items() <= _written(old).items()
    monkeypatch.undo()
    assert reproduce([MadeUp()], out=old, seed=1).resumed == 6


def test_a_comparison_of_a_claim_that_the_study_has_not_is_refused(tmp_path, monkeypatch):
    study = MadeUp()
    monkeypatch.setattr(study, "judge", lambda run: [report_only("x", "auc", run.simulated[1.0])])
    with pytest.raises(Failure, match="claim of a comparison must be one of asked, made-up"):
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


def test_the_table_of_power_counts_the_comparisons_of_each_quantity(written):
    reproduction = written[0]
    text = reproduction.report.read_text("utf-8")
    judged = Counter(c.quantity for c in reproduction.comparisons if math.isfinite(c.z))
    assert judged
    for quantity, count in judged.items():
        cells = f'<td>{maths(words(quantity))}</td><td class="n">{count}</td>'
        assert cells in text, quantity


def test_chosen_studies_are_in_order_of_the_report_and_ones_own_are_last(made_up_studies):
    first, second = made_up_studies.values()
    own = MadeUp()
    own.name, own.claims = "own", ()
    assert chosen_studies([own, second.name, first.name, second.name]) == [first, second, own]
    assert chosen_studies([own]) == [own]
    assert chosen_studies(()) == [first, second]


@pytest.mark.parametrize("name", ["made-up", "found", "z-values", "Own", "../evil"])
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
        "made-up.webp",
        "z-values.webp",
        "data/made-up.csv",
        "data/z-values.csv",
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
    with pytest.raises(InvalidInput, match="Choose another with --out"), showing(bar := Bar()):
        reproduce(["made-up"], out=old, seed=1)
    reports = {path: content for path, content in _written(old).items() if "work" not in path.parts}
    assert reports == {p: content for p, content in before.items() if "work" not in p.parts}
    assert bar.steps == []


@pytest.mark.parametrize("out", ["", "file/out", "sealed"])
def test_a_folder_that_cannot_be_written_is_one_message(tmp_path, monkeypatch, out):
    def sealed(dir, real=report.tempfile.TemporaryFile):
        if dir == Path("sealed"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(dir=dir)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report.tempfile, "TemporaryFile", sealed)
    (tmp_path / "file").touch()
    result = invoke("reproduce", "made-up", "--out", out, "--workers", 1)
    assert (result.exit_code, result.stdout) == (2, "")
    (message,) = _messages(result)
    assert message.startswith("Error: out must be")
    assert not any("work" in path.parts for path in tmp_path.rglob("*"))


@pytest.mark.parametrize(
    "name",
    [
        "report.html",
        pytest.param("made-up.csv", marks=pytest.mark.slow),
        pytest.param("claims.json", marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_keeps_the_old_report_and_is_one_message(old, monkeypatch, name):
    write = report.write_file

    def full(path, parts):
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, parts)

    monkeypatch.setattr(report, "write_file", full)
    before = _written(old)
    result = invoke("reproduce", "made-up", "--out", old, "--workers", 1)
    assert (result.exit_code, result.stdout) == (2, "")
    (message,) = _messages(result)
    assert "No space left" in message
    assert _written(old) == before


@pytest.mark.slow  # `test_work` starts workers, too
def test_workers_change_no_result(written, tmp_path):
    alone, shared = written[0].report.parent, reproduce(out=tmp_path, workers=2)
    assert (shared.resumed, shared.calls) == (0, 12)
    for key in ("statements", "claims"):
        assert _document(tmp_path)[key] == _document(alone)[key]
    names = [path.relative_to(alone) for path in alone.rglob("*") if path.is_file()]
    assert sorted(names) == sorted(p.relative_to(tmp_path) for p in _written(tmp_path))
    for name in names:
        if name.suffix in (".webp", ".csv"):
            assert (tmp_path / name).read_bytes() == (alone / name).read_bytes()


def test_another_seed_changes_all_that_is_random_and_takes_the_theory_from_before(written, old):
    other = reproduce(["made-up"], out=old, seed=1)
    assert (other.resumed, other.calls) == (len(LOADS), 2 * len(LOADS))
    names = {c.claim for c in other.comparisons}
    for one, two in zip([c for c in written[0].comparisons if c.claim in names],
                        other.comparisons, strict=True):  # fmt: skip
        assert one.theory == pytest.approx(two.theory, rel=0, nan_ok=True)
        assert (one.measured == two.measured) == (one.quantity == "slope")


def test_the_command_prints_json_or_a_table_of_verdicts(tmp_path):
    result = invoke("reproduce", "--out", tmp_path, "--workers", 1, "--json")
    assert (result.exit_code, _messages(result)) == (0, [])
    values = json.loads(result.stdout)
    assert list(values) == ["statements", "claims", "report", "status"]
    assert Path(values["report"]) == tmp_path / "report.html"
    assert values["status"] == "converged"
    document = _document(tmp_path)
    assert (values["statements"], values["claims"]) == (document["statements"], document["claims"])
    result = invoke("reproduce", "made-up", "--out", tmp_path, "--workers", 1)
    assert (result.exit_code, _messages(result)) == (0, ["6 of 6 results came from earlier runs."])
    table = dict(re.split(r"\s{2,}", line.strip())[:2] for line in result.stdout.splitlines()
                 if "  " in line.strip())  # fmt: skip
    assert (table["holds"], table["by experiment"], table["fails"]) == ("1", "1", "0")
    assert table["comparisons against real tensors"] == "1"
    assert table["report"] == str(tmp_path / "report.html")


@pytest.mark.parametrize("wrong", [["weather"], ["--profile", "slow"], ["--workers", 0]])
def test_a_wrong_command_is_one_message(tmp_path, wrong):
    result = invoke("reproduce", *wrong, "--out", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
