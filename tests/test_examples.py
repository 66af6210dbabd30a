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


@pytest.mark.slow
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


FIGURE_1 = (EXAMPLES.parent / "docs/gallery/plot_00_figure_1.py").read_text(encoding="utf-8")


def test_figure_1_of_the_paper_in_twenty_lines():
    from matplotlib import pyplot

    code = [line for line in FIGURE_1.split('"""')[2].splitlines() if line.strip("# ")]
    assert sum(not line.startswith("#") for line in code) <= 20
    for full, small in (("dimension=1000", "dimension=200"), ("16, 61", "16, 13")):
        assert FIGURE_1.count(full) == 1
        code = [line.replace(full, small) for line in code]
    found = {}
    try:
        exec("\n".join(code), found)
    finally:
        pyplot.close("all")
    legends = [ax.get_legend() for ax in found["axes"]]
    assert legends[0] is None  # it would lie across the peaks; that on the right is of both
    names = [text.get_text() for text in legends[1].get_texts()]
    for ax in found["axes"]:
        assert len(ax.containers) == 3
        lines = {line.get_label(): line for line in ax.lines if line.get_label() in names}
        assert list(lines) == names == ["attention", "pooled", "vectorized"]
        assert ax.get_xlabel() == "labels for the readout α₁ = n₁/d"
        for line, points in zip(lines.values(), ax.containers, strict=True):
            means, _, (bars,) = points.lines
            assert means.get_color() == line.get_color()
            theory = dict(zip(line.get_xdata().round(6), line.get_ydata(), strict=True))
            drawn = zip(*means.get_data(), bars.get_segments(), strict=True)
            for alpha1, mean, bar in drawn:
                error = (bar[1, 1] - bar[0, 1]) / 2
                # Student's t of 8 trials is above 5 once in 600 times, and there are 24.
                assert abs(mean - theory[alpha1]) < 5 * error
