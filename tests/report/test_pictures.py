"""Figures are pure functions of points; what did not converge is hollow."""

import dataclasses
import re

import matplotlib
import pytest

from sparsetoken.figures import alignment, style
from sparsetoken.report.pictures import pictures_of, png, svg

FAKED = ("alignment", "learning-curves", "capacity", "finite-size")
ALL = [(name, picture) for name in FAKED for picture in pictures_of(name)]


@pytest.mark.parametrize(("name", "picture"), ALL, ids=[p.name for _, p in ALL])
def test_svg_is_the_same_each_time_and_needs_nothing_else(name, picture, fakes):
    text = svg(picture, fakes[name])
    assert text == svg(picture, fakes[name])
    assert text.startswith("<svg")
    assert "<text" not in text  # letters are outlines: no font is needed
    assert not re.search(r'(?:href|src)="(?!#)', text)
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert ids
    assert all(i.startswith(f"{picture.name}-") for i in ids)
    assert set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text)) <= {
        pair for i in ids for pair in ((i, ""), ("", i))
    }


def test_png_has_the_resolution_of_the_readme(fakes):
    picture = pictures_of("alignment")[0]
    content = png(picture, fakes["alignment"])
    width = int.from_bytes(content[16:20], "big")
    assert width == pytest.approx(6.4 * 150, abs=1)


def test_drawing_leaves_the_global_style_alone(fakes):
    before = dict(matplotlib.rcParams)
    svg(pictures_of("capacity")[0], fakes["capacity"])
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("source", ["theory", "reduced"])
def test_what_did_not_converge_is_hollow_and_in_the_legend(fakes, source):
    points = [
        dataclasses.replace(p, status="max_iterations") if p.source == source and p.x == 1 else p
        for p in fakes["alignment"]
    ]
    with style.styled():
        figure = alignment.draw(points)
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
