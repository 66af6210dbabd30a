"""Figures as text and files: inline SVG for the page, PNG beside it."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Sequence
from functools import partial

from matplotlib.figure import Figure

from sparsetoken.experiments.points import Point
from sparsetoken.figures import (
    alignment,
    capacity,
    finite_size,
    learning_curves,
    style,
    training_choice,
)

__all__ = ["PICTURES", "Picture", "png", "svg"]


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure of an experiment: file name, drawing, and what the reader sees."""

    name: str
    draw: Callable[[Sequence[Point]], Figure]
    caption: str


_MARKS = (
    "Lines: theory. Points: simulation, mean and one standard error; an error bar smaller than the "
    "point is not seen. Squares: the same experiment with real tensors."
)

PICTURES: dict[str, tuple[Picture, ...]] = {
    "alignment": (
        Picture(
            "alignment",
            alignment.draw,
            "Cosine with the signal of the query and of the readout after the two gradient "
            f"steps, against the load of the first data set. {_MARKS}",
        ),
    ),
    "learning-curves": (
        *(
            Picture(
                f"learning_curves_{loss}",
                partial(learning_curves.draw, loss=loss),
                f"Test error (left) and training loss (right) with the {loss} loss, against "
                f"the load of the second data set. {_MARKS}",
            )
            for loss in ("logistic", "square")
        ),
        Picture(
            "training_choice",
            training_choice.draw,
            "Theory only: what the choice of training changes, logistic loss. Left: more data in "
            "the first two steps, a better aligned query. Right: the same query direction "
            "with another sharpness.",
        ),
    ),
    "capacity": (
        Picture(
            "capacity",
            capacity.draw,
            "Share of training sets that a hyperplane separates, at two feature "
            "dimensions. Each answer is proved by a hyperplane or by multipliers that exclude one, "
            "or found by linear programming where neither proof is at hand. "
            "The fall sharpens at the predicted capacity as the dimension grows.",
        ),
    ),
    "finite-size": (
        Picture(
            "finite_size",
            finite_size.draw,
            "Measured less theory against the dimension. Grey: the allowance of the verdict rule.",
        ),
    ),
}
"""By experiment, in the order of the page."""


def png(picture: Picture, points: Sequence[Point]) -> bytes:
    """Return the figure as a PNG of 150 dots per inch."""
    return _saved(picture, points, "png")


def svg(picture: Picture, points: Sequence[Point]) -> str:
    """Return the figure as an SVG element whose ids no other figure shares."""
    text = _saved(picture, points, "svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{picture.name}-", text)
    size = re.compile(r'^(<svg[^>]*?) width="[^"]*"|^(<svg[^>]*?) height="[^"]*"')
    while size.search(text):
        text = size.sub(lambda match: match.group(1) or match.group(2), text)
    return text.replace("<svg", f'<svg role="img" aria-label="{picture.name}"', 1)


def _saved(picture: Picture, points: Sequence[Point], form: str) -> bytes:
    buffer = io.BytesIO()
    with style.styled(picture.name):
        metadata = {"Date": None} if form == "svg" else None
        picture.draw(points).savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()
