"""Numbers in the documentation are those of docs/published.json; pages are written from it."""

import csv
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from sparsetoken.experiments import EXPERIMENTS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def published():
    """The script that writes the pages, as a module."""
    spec = importlib.util.spec_from_file_location("published", DOCS / "published.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def numbers(published):
    return json.loads(published.NUMBERS.read_text("utf-8"))


def test_the_pages_say_what_the_numbers_say(published, numbers):
    pages = published.written(numbers)
    assert {"archive.md", "benchmarks.md", "leave_one_out.md"} <= {file.name for file in pages}
    for file, text in pages.items():
        assert file.read_text("utf-8") == text, f"Run python docs/published.py: {file.name} differs"


def test_the_numbers_are_of_the_claims_of_now(numbers):
    names = {claim.name for experiment in EXPERIMENTS.values() for claim in experiment.claims}
    for profile in ("quick", "paper"):
        assert set(numbers[profile]["claims"]) <= names, f"Take numbers of a new {profile} report"


def test_a_number_changed_by_hand_is_noticed(published, numbers):
    text = (DOCS / "leave_one_out.md").read_text("utf-8")
    drifted = text.replace("logistic loss: from 0.0", "logistic loss: from 0.9")
    assert drifted != text
    assert published.with_blocks(drifted, numbers) == text


@pytest.fixture
def report(tmp_path):
    """A report of one claim, with one comparison of each kind."""
    simulated = {
        "statement": "query-alignment",
        "curve": "query",
        "quantity": "cosine",
        "where": "here",
        "theory": 0.5,
        "measured": 0.52,
        "standard_error": 0.01,
        "allowance": 0,
    }
    rows = [
        simulated | {"z": 2.0, "raw_z": 1.8},
        simulated | {"z": -3.5, "raw_z": -3.0, "measured": 0.46},
        simulated | {"z": None, "raw_z": None, "allowance": 1e-9},
    ]
    statement = {"name": "query-alignment", "verdict": "holds"}
    statement["evidence"] = {"reduced": 2, "computed": 1}
    document = {"run": {"commit": "abc", "date": "now"}, "statements": [statement], "claims": rows}
    (tmp_path / "claims.json").write_text(json.dumps(document), "utf-8")
    return tmp_path


def test_the_numbers_of_a_report_are_taken_from_it(published, report):
    found = published.taken_from(report)
    claim = found["claims"]["query-alignment"]
    assert claim["furthest"]["measured"] == 0.46
    assert found["z"] == {"count": 2, "sd": 2.75, "raw_sd": 2.4, "beyond_3": 1}
    text = published.page({"quick": found, "paper": found})
    assert "holds 1. 3 comparisons" in text
    assert "| query-alignment | Theorem on query alignment | holds |" in text
    assert "0.5000, 0.4600 ± 0.0100, z = −3.5" in text
    assert "![Query alignment](images/paper/alignment.png)" in text


def test_shrinking_of_errors_is_read_from_the_rows(published, report):
    (report / "data").mkdir()
    columns = ["series", "quantity", "loss", "value", "dimension"]
    with (report / "data" / "leave-one-out.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerows(
            [
                columns,
                ["refits", "surrogate_error", "logistic", 0.001, 400],
                ["refits", "change", "logistic", 0.5, 400],
                ["refits", "surrogate_error", "logistic", 0.01, 50],
                ["refits", "change", "logistic", 0.6, 50],
                ["estimated", "change", "logistic", 0.7, 800],
            ]
        )
    document = json.loads((report / "claims.json").read_text("utf-8"))
    power = {"statement": "leave-one-out-surrogate", "quantity": "power of d", "curve": "logistic"}
    power |= {"measured": -1.1, "standard_error": 0.1, "z": None, "raw_z": None, "allowance": None}
    document["claims"].append(power)
    document["statements"].append(
        {"name": "leave-one-out-surrogate", "verdict": "holds", "evidence": {"measured": 1}}
    )
    (report / "claims.json").write_text(json.dumps(document), "utf-8")
    assert published.taken_from(report)["leave_one_out"]["logistic"] == {
        "dimensions": [50, 400],
        "errors": [0.01, 0.001],
        "change": 0.5,
        "power": [-1.1, 0.1],
    }


def test_rows_of_speed_become_a_table(published, tmp_path):
    run = {"commit": "abc", "date": "2026-01-01", "machine": "Linux"}
    row = {"name": "one", "what": "a thing", "ours_s": 0.0142, "other_s": 6.3, "ratio": 441.0}
    row |= {"ours_mb": 7.4, "other_mb": 79.0, "run": run, "last_answers": {}, "agree": True}
    slow = row | {"name": "corner_two", "ours_s": 0.6, "run": run | {"commit": "def"}}
    alone = row | {"name": "three", "other_s": None, "ratio": None, "other_mb": None}
    alone["run"] = run | {"commit": "def"}
    (tmp_path / "bench.json").write_text(json.dumps([row, slow, alone]), "utf-8")
    rows = published.rows_of_speed(tmp_path / "bench.json")
    assert "agree" not in rows[0]
    text = published.speed({"speed": rows})
    assert "| `one` | a thing | 14 ms | 6.3 s | 441 | 7 / 79 |" in text
    assert "| `three` | a thing | 14 ms |  |  | 7 |" in text
    assert "Commit abc, 2026-01-01, Linux: `one`.\nCommit def, 2026-01-01, Linux: `three`." in text
    text = published.corners({"speed": rows})
    assert "| `corner_two` | a thing | 0.6 s | 7 |" in text
    assert "Commit def, 2026-01-01, Linux: all rows." in text


def test_images_are_made_small(published, tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (500, 600, 3), dtype=np.uint8)
    published.Image.fromarray(noise).save(tmp_path / "noise.png")
    assert (tmp_path / "noise.png").stat().st_size > published.LARGEST_IMAGE
    assert len(published._small(tmp_path / "noise.png")) <= published.LARGEST_IMAGE
