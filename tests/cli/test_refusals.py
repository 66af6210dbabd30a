"""What cannot be is one message with the option, its range and the value, and exit code 2."""

import os

import numpy as np
import pytest

from command_line import invoke, limited, refused
from sparsetoken import Query, Readout, SparseTokenProblem, TwoSteps
from sparsetoken.base.parameters import parameters_of
from sparsetoken.cli.commands import GROUPS
from sparsetoken.estimators import PooledClassifier
from sparsetoken.estimators.saving import save

MODEL = {name: ["attention"] for name in ("predict", "capacity", "simulate")}
PAIRED = {"sharpness": ["--cosine=0.5"]}


PARTS = {
    "align": (SparseTokenProblem, TwoSteps),
    "predict": (SparseTokenProblem, TwoSteps, Query, Readout),
    "capacity": (SparseTokenProblem, TwoSteps, Query),
    "simulate": (SparseTokenProblem, TwoSteps, Query, Readout),
    "descend": (SparseTokenProblem,),
    "minimize": (SparseTokenProblem,),
    "bayes": (SparseTokenProblem,),
}
DECLARED = [
    (name, one)
    for name, kinds in PARTS.items()
    for kind in kinds
    for one in parameters_of(kind).values()
    if one.number
]


def outside(declared):
    """Return words for values that are not legal."""
    low, above, most, below, _ = declared.range
    step = 1 if declared.whole else 1e-6
    ends = [None if low is None else low - step, above, None if most is None else 2 * most, below]
    words = ["ten"] if declared.whole else ["ten", "nan"]
    return [str(end) for end in ends if end is not None] + words


@pytest.mark.parametrize(
    ("name", "declared"), DECLARED, ids=lambda given: getattr(given, "name", given)
)
def test_declared_options_refuse_what_is_outside_their_range(name, declared):
    for wrong in outside(declared):
        pair = PAIRED.get(declared.name, [])
        option = f"--{declared.name.replace('_', '-')}={wrong}"
        said = refused(name, *MODEL.get(name, []), *pair, option, "--json")
        assert said.startswith(f"Error: {declared.title} must be {declared.legal}")
        assert wrong.rstrip("0").rstrip(".") in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["align", "--length", "3", "--informative", "4"], "informative (R)"),
        (["align", "--colour", "red"], "--colour"),
        (["predict", "--strenght", "2"], "Did you mean --strength?"),
        (["align", "--alpha0", "1", "2"], "'2' is one argument too many"),
        (["predict", "median"], "model must be one of"),
        (["predict", "pooled,median"], "got 'median'"),
        (
            ["predict", "attention", "--sharpness", "0.5"],
            "--sharpness must be given with --cosine",
        ),
        (["predict", "pooled", "attention"], "'attention' is one argument too many"),
        (["capacity", "--model", "pooled"], "Unknown option: --model"),
        (["predict", "--alpha1", "1:2"], "--alpha1: '1:2' is not a range"),
        (["predict", "--alpha1", "1,1:2:x"], "'1:2:x' is not a range"),
        (["predict", "--alpha1", "1:2:1"], "of 2 to 1000000 points"),
        (["predict", "--alpha1", "1:2:" + "9" * 5000], "of 2 to 1000000 points"),
        (
            ["predict", "--alpha1", "1:2:600000,3:4:600000"],
            "alpha1 (points) must be at most 1000000 in one call; got 1200000. Take fewer",
        ),
        (
            ["predict", "--alpha1", "0.5:8:100000", "--cosine", "0.1:0.9:100000"],
            "the number of points must be at most 1000000 in one call; got 10000000000. Take",
        ),
        (
            ["simulate", "pooled", "--trials", "1000000000"],
            "trials (times points) must be at most 1000000 in one call; got 1000000000.",
        ),
        (["simulate", "pooled", "--trials", "1e9"], "at most 1000000 in one call; got 1000000000."),
        (["predict", "--alpha1", "inf,inf", "--strength", "2,3"], "--alpha1: inf is there twice."),
        (["predict", "attention,attention"], "attention is there twice."),
        (["represent", "--lengths", "1:2:10000000000"], "of 2 to 1000000 points"),
        (["predict", "--alpha1", "0:2:3:log"], "not above 0 with log"),
        (["bayes", "--alpha", "1:inf:3"], "are not finite"),
        (["predict", "--out", "x.txt"], "--out must be a path that ends in .csv, .parquet, .nc"),
        (["predict", "--plot", "x.txt"], "--plot must be a path that ends in .svg, .png, .pdf"),
        (["predict", "--plot", "x.svg"], "--plot must be given with one or two numbers"),
        (["predict", "--keep", __file__], "keep must be a folder"),
        (["predict", "--config", "none.toml"], "--config must be a TOML file that can be read"),
        (["fit", "x.npz"], "no command 'fit'."),
        (["bags", "fits"], "Did you mean fit?"),
        (["predict", "pooled", "--alpha1", "1,x"], "--alpha1: 'x' is not a number"),
        (["predict", "pooled", "--alpha1"], "--alpha1 requires an argument"),
        (["predict", "pooled", "--length", "2,4", "--informative", "3"], "informative (R) must"),
        (["simulate", "pooled", "--trials", "0"], "trials must be an integer >= 1"),
        (["simulate", "pooled", "--trials", "1.5"], "trials must be an integer >= 1; got 1.5"),
        (["simulate", "pooled", "--workers", "0"], "workers must be"),
        (["simulate", "pooled", "--alpha1", "inf"], "alpha1 (n1/d)"),
        (
            ["simulate", "pooled", "--dimension", "1000000000"],
            "Lower dimension, length or",
        ),
        (["reproduce", "everything"], "everything"),
        (["reproduce", "--profile", "slow"], "profile"),
        (["reproduce", "--out", ""], "out"),
        (["reproduce", "--out", __file__], "out"),
        (["explore", "--export", ""], "--export must be given a value, or left out; got ''."),
        (["bags", "fit", "x.npz", "--groups="], "--groups must be given a value, or left out"),
        (["bags", "fit", "x.npz", "--positive", "", "--json"], "--positive must be given a"),
        (["bags", "fit", ""], "an argument must be given a value, or left out"),
        (["bayes", "--alpha", "x"], "alpha (n/d) must be a finite number in"),
        (["bayes", "--alpha", "1,0"], "alpha (n/d) entry must be a finite number in"),
        (["bayes", "--workers", "0"], "workers must be an integer >= 1"),
        (["represent", "--lengths", "8,x"], "--lengths: 'x' is not a number"),
        (["represent", "--lengths", "-8,16"], "length (L) must be an integer"),
        (["represent", "--lengths", "16,8"], "rising"),
        (["represent", "--lengths", "1,8"], "length"),
        (["represent", "--lengths", "4,8", "--informative", "5"], "length"),
        (["fit", "bags.npz"], "Did you mean bags fit?"),
        (["bags", "forecast"], "FILE requires an argument"),
        (["bags", "forecast", "missing.npz", "--sizes", "-8,16"], "FILE"),
        (["bags", "fit", "9" * 400], ""),
        (["descend", "--eta-q", "fast"], "eta_q must be a finite number"),
        (["descend", "--eta-w", "-1,2"], "eta_w must be a finite number"),
        (["represent", "--informative", "1,2"], "informative (R) must be an integer"),
        (["represent", "--error-level", "0.5"], "error_level"),
        (["represent", "--error-level", "0.2", "--positive-rate", "0.1"], "error_level"),
        (["descend", "--loss", "hinge"], "loss"),
        (["descend", "--start-q", "-1"], "start_q"),
        (["descend", "--start-q", "2e5"], "start_q must be a finite number in [0, 100000]"),
        (["minimize", "--ridge-w", "1e7"], "ridge_w must be a finite number in (0, 1e+06]"),
        (["descend", "--steps", "90000"], "steps of a descent"),
        (
            ["descend", "--steps", "1", "--dimension", "20", "--trials", "0"],
            "trials must be an integer >= 1",
        ),
        (["descend", "--steps", "800", "--length", "5", "--dimension", "2"], "dimension (d)"),
    ],
    ids=lambda given: " ".join(given)[:60] if isinstance(given, list) else "",
)
def test_other_words_that_are_refused(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in refused(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def odd_places(tmp_path_factory):
    """Return a folder with links to themselves, pipes and folders of all endings."""
    folder = tmp_path_factory.mktemp("odd")
    for ending in ("", ".csv", ".nc", ".svg", ".toml", ".npz", ".skops"):
        (folder / f"loop{ending}").symlink_to(f"loop{ending}")
        (folder / f"folder{ending}").mkdir()
        os.mkfifo(folder / f"pipe{ending}")
    save(PooledClassifier().fit(np.zeros((4, 2, 1)), [0, 1, 0, 1]), folder / "m")
    return folder


GRIDS = [[n, *MODEL.get(n, ())] for n in (*GROUPS["Theory"], "simulate") if n != "represent"]
PLACES = [
    *(f"--out={name}.csv" for name in ("loop", "pipe", "folder", "loop/x")),
    *(f"--plot={name}.svg" for name in ("loop", "pipe", "folder", "loop/x")),
    *(f"--config={name}.toml" for name in ("loop", "pipe", "folder", "loop/x")),
    *("--out=loop.nc", "--out=folder.nc"),
    *("--keep=loop", "--keep=loop/x"),
]
READ = ["loop.npz", "pipe.npz", "loop/x.npz", "loop"]
MODELS = ["loop.skops m", "pipe.skops m", "folder.skops m", "loop/x.skops m"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize(
    ("arguments", "places"),
    [
        *((words, PLACES) for words in GRIDS),
        ("explore", ["--export=loop", "--export=pipe", "--export=loop/x"]),
        ("reproduce", ["--out=loop", "--out=pipe", "--out=loop/x"]),
        ("bags fit", READ),
        ("bags forecast", READ),
        ("bags report", READ),
        ("bags report bags.npz", ["--out=loop.html", "--out=pipe.html", "--out=loop/x.html"]),
        ("bags pack", ["loop.csv --out=new", "pipe.csv --out=new", "folder --out=loop"]),
        ("bags fit bags.npz", ["--labels=loop.csv", "--out=loop.skops", "--out=pipe.skops"]),
        ("bags tokens m bags.npz", ["--out=loop.csv", "--out=folder.csv", "--out=pipe.csv"]),
        *((f"bags {name}", MODELS) for name in ("predict", "score", "tokens")),
        *((f"bags {name} m", READ) for name in ("predict", "score", "tokens")),
    ],
    ids=lambda words: " ".join(words)[:30] if isinstance(words, list) else words,
)
def test_links_to_themselves_pipes_and_folders(arguments, places, odd_places, monkeypatch):
    monkeypatch.chdir(odd_places)
    given = arguments.split() if isinstance(arguments, str) else arguments
    for place in places:
        told = refused(*given, *place.split())
        assert " must be " in told, told


def test_an_export_that_fails_makes_no_folder(tmp_path, monkeypatch):
    from sparsetoken.explorer import export

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(export, "_sheet", stop)
    with pytest.raises(KeyboardInterrupt):
        invoke("explore", "--export", tmp_path / "new" / "page")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    said = refused("explore", "--export", tmp_path / "file" / "page")
    assert "--export must be in a writable folder" in said
    monkeypatch.setattr(export, "PRESETS", [])
    monkeypatch.setattr(export, "page", lambda _: "x" * 200)
    with limited(100):
        told = invoke("explore", "--export", tmp_path / "page")
    assert told.exit_code == 1
    assert told.stderr.startswith(f"Error: {tmp_path / 'page'} was not written: File too large.")
