"""The examples run, at sizes that take no time."""

import importlib.util
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
mpl.use("Agg")


def _run(name, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.main()
    finally:
        from matplotlib import pyplot

        pyplot.close("all")


def test_digits(tmp_path, monkeypatch, capsys):
    picture = tmp_path / "digits.png"
    sizes = ["--lengths", 10, "--n-train", 120, "--n-test", 100, "--draws", 2]
    _run("digits_bags", monkeypatch, *sizes, "--out", picture)
    row = capsys.readouterr().out.splitlines()[3].replace("(", " ").replace(")", " ").split()
    assert row[0] == "10"
    attention, pooled = float(row[1]), float(row[6])
    # At 120 bags the theory says 0.01 and 0.28.
    assert attention < 0.2 < pooled
    assert picture.stat().st_size > 10_000


def _write_bags(path):
    rng = np.random.default_rng(0)
    y, sizes = np.repeat([0, 1], 20), rng.integers(3, 9, 40)
    bag = np.repeat(np.arange(40), sizes)
    first = np.r_[True, bag[1:] != bag[:-1]]
    inst_y = (first & (y[bag] == 1)).astype(int)
    X = rng.standard_normal((len(bag), 6)) + 4.0 * inst_y[:, None]
    np.savez(path, X=X, bag=bag, y=y, inst_y=inst_y)


def test_newsgroups(tmp_path, monkeypatch, capsys):
    files = [tmp_path / "ng_one.npz", tmp_path / "ng_two.npz"]
    for path in files:
        _write_bags(path)
    picture = tmp_path / "bags.png"
    _run("newsgroups_bags", monkeypatch, *files, "--folds", 4, "--bags", 3, "--out", picture)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:6]]
    assert [row[0] for row in rows] == ["one", "two", "all"]
    assert all(float(row[1]) > 85 for row in rows)
    assert all(float(row[5].rstrip("%")) > 85 for row in rows)  # a shift of 10 is found
    assert picture.stat().st_size > 10_000


def test_a_missing_file_is_named(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match=r"No such file: .*none\.npz\. Give the paths"):
        _run("newsgroups_bags", monkeypatch, tmp_path / "none.npz")
