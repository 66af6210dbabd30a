"""Figures do not depend on what the user has set for his own."""

import io
from typing import Any

import matplotlib as mpl
import pytest

import sparsetoken as st
from sparsetoken.figures.style import styled


@pytest.mark.parametrize(
    "own",
    [{"text.usetex": True}, {"savefig.dpi": 1e7}, {"savefig.dpi": 0.0}, {"figure.dpi": 0.0}],
)
def test_settings_of_the_user_are_left_out(own: dict[str, Any]) -> None:
    points = st.align(st.SparseTokenProblem(4, 1, [1.0, 2.0]))
    with mpl.rc_context(own):
        before = dict(mpl.rcParams)
        with styled():
            image = io.BytesIO()
            points.plot("cosine").figure.savefig(image, format="png")
        assert dict(mpl.rcParams) == before
    with styled():
        plain = io.BytesIO()
        points.plot("cosine").figure.savefig(plain, format="png")
    assert image.getvalue() == plain.getvalue()
