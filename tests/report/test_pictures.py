"""Figures are pure functions of rows; what did not converge is hollow."""

import dataclasses
import re

import matplotlib
import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.alignment import figure as alignment
from sparsetoken.experiments.alignment.rows import Simulated, Theory
from sparsetoken.figures import style
from sparsetoken.report.pictures import picture, pictures_of

FAKED = ("alignment", "capacity")
ALL = [(name, *item) for name in FAKED for item in pictures_of(EXPERIMENTS[name]).items()]


@pytest.mark.parametrize(("experiment", "name", "draw"), ALL, ids=[item[1] for item in ALL])
def test_svg_is_the_same_each_time_and_needs_nothing_else(experiment, name, draw, fakes):
    text = picture(name, draw, fakes[experiment]).svg
    assert text == picture(name, draw, fakes[experiment]).svg
    assert text.startswith("<svg")
    assert "<text" not in text  # letters are outlines: no font is needed
    assert not re.search(r'(?:href|src)="(?!#)', text)
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert ids
    assert all(i.startswith(f"{name}-") for i in ids)
    assert set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text)) <= {
        pair for i in ids for pair in ((i, ""), ("", i))
    }


def test_png_has_the_resolution_of_the_readme(fakes):
    content = picture("alignment", alignment.draw, fakes["alignment"]).png
    width = int.from_bytes(content[16:20], "big")
    assert width == pytest.approx(6.4 * 150, abs=1)


def test_drawing_leaves_the_global_style_alone(fakes):
    before = dict(matplotlib.rcParams)
    picture("alignment", alignment.draw, fakes["alignment"])
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("kind", [Theory, Simulated])
def test_what_did_not_converge_is_hollow_and_in_the_legend(fakes, kind):
    def fallen(row):
        if not isinstance(row, kind) or row.alpha0 != 1:
            return row
        values = {
            name: dataclasses.replace(getattr(row, name), status="max_iterations")
            for name in ("cosine", "readout_cosine")
        }
        return dataclasses.replace(row, **values)

    rows = [fallen(row) for row in fakes["alignment"]]
    with style.styled():
        figure = alignment.draw(rows)
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        hollow = [
            line
            for line in figure.axes[0].get_lines()
            if len(line.get_xdata()) == 1
            and line.get_xdata()[0] == 1
            and line.get_markerfacecolor() in ("none", "white")
        ]
    assert "not converged" in names
    assert len(hollow) == 2


def test_converged_figures_do_not_speak_of_it(fakes):
    with style.styled():
        figure = alignment.draw(fakes["alignment"])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "not converged" not in names
    assert "simulation, real tensors" in names
