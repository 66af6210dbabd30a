"""Figures are pure functions of rows; what did not converge is hollow."""

import io

import matplotlib
import pytest
from PIL import Image

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.rows import Rows
from sparsetoken.experiments.report.page import DPI, picture
from sparsetoken.figures import style

draw = EXPERIMENTS["alignment"].figures["alignment"]


def test_an_image_is_the_same_each_time(fakes):
    before = dict(matplotlib.rcParams)
    result = picture(draw, fakes["alignment"], "A title.")
    assert dict(matplotlib.rcParams) == before
    assert result.image == picture(draw, fakes["alignment"], "A title.").image
    image = Image.open(io.BytesIO(result.image))
    assert (image.format, image.size) == ("WEBP", (round(6.4 * DPI), round(3.9 * DPI)))
    assert (result.width, result.height) == pytest.approx((460.8, 280.8))
    assert result.address.startswith("data:image/webp;base64,")


@pytest.mark.parametrize("series", ["theory", "simulated"])
def test_what_did_not_converge_is_hollow_and_in_the_legend(fakes, series):
    def fallen(row):
        wanted = row.series == series and row["alpha0"] == 1
        return row.but(status="max_iterations") if wanted else row

    known = [row for row in fakes["alignment"] if "alpha0" in row.at]
    rows = Rows(map(fallen, known))
    with style.styled():
        figure = draw(rows).figure
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        marks = [line for line in figure.axes[0].get_lines() if list(line.get_xdata()) == [1]]
        hollow = [line for line in marks if line.get_markerfacecolor() in ("none", "white")]
    assert "not converged" in names
    assert len(hollow) == 2
    sound = [text.get_text() for text in draw(fakes["alignment"]).figure.legends[0].get_texts()]
    assert "not converged" not in sound
    assert "simulation, real tensors" in sound
