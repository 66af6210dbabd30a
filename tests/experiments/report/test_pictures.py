"""Figures are pure functions of rows; what did not converge is hollow."""

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import matplotlib
import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.rows import Rows
from sparsetoken.experiments.report.pictures import compact, picture
from sparsetoken.figures import style

draw = EXPERIMENTS["alignment"].figures["alignment"]


def test_svg_is_the_same_each_time_and_needs_nothing_else(fakes):
    found = picture("alignment", draw, fakes["alignment"])
    assert found.svg == picture("alignment", draw, fakes["alignment"]).svg
    assert not re.search(r'(?:href|src)="(?!#)', found.svg)
    ids = set(re.findall(r'\bid="([^"]*)"', found.svg))
    used = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', found.svg)
    assert {name for pair in used for name in pair if name} == ids
    root = ElementTree.fromstring(unquote(found.address.partition(",")[2]))
    assert root.get("viewBox") == "0 0 460.8 280.8"
    assert (found.width, found.height) == pytest.approx((460.8, 280.8))
    assert '"' not in found.address


def test_a_compact_svg_draws_the_same(fakes):
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg"><metadata>M</metadata><g id="a"><g id="b" '
        'clip-path="url(#c)"><path id="c" d="M 1.23456 2 L 3.00001 -4.56" style="fill: none"/></g>'
        '<path d="M 0 0" style="fill: none"/><text x="1.05">a  b</text></g></svg>'
    )
    root = ElementTree.fromstring(compact(text))
    names = [element.tag.partition("}")[2] for element in root.iter()]
    assert names == ["svg", "style", "g", "path", "path", "text"]
    assert "fill: none" in root[0].text
    path = root[1][0]
    assert (path.get("d"), path.get("id")) == ("M 1.2 2 L 3 -4.6", "i0")
    assert root[1].get("clip-path") == "url(#i0)"
    assert path.get("class") == root[2].get("class")
    assert root[3].text == "a  b"


def test_drawing_leaves_the_global_style_alone(fakes):
    before = dict(matplotlib.rcParams)
    picture("alignment", draw, fakes["alignment"])
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("series", ["theory", "simulated"])
def test_what_did_not_converge_is_hollow_and_in_the_legend(fakes, series):
    def fallen(row):
        wanted = row.series == series and row["alpha0"] == 1
        return row.but(status="max_iterations") if wanted else row

    known = [row for row in fakes["alignment"] if "alpha0" in row.at]
    rows = Rows(map(fallen, known))
    with style.styled():
        figure = draw(rows)
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
        figure = draw(fakes["alignment"])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "not converged" not in names
    assert "simulation, real tensors" in names
