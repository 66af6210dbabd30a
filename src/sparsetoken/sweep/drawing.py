"""How a sweep is drawn: the places of its parameters in a figure."""

from __future__ import annotations

import dataclasses

from sparsetoken.sweep.parameters import parameters
from sparsetoken.validation import InvalidInput

VALUES = {
    "alignment": ("cosine", "overlap", "norm", "sharpness", "readout_cosine"),
    "learning": (
        "test_error",
        "training_loss",
        "training_error",
        "auc",
        "query_overlap",
        "orthogonal_overlap",
        "noise_overlap",
        "bias",
    ),
    "capacity": ("separable", "capacity"),
}
"""The values of each experiment that can be drawn, the default first."""


@dataclasses.dataclass(frozen=True)
class Drawing:
    """The places of the axes in a figure; "" leaves the choice to the figure.

    Attributes
    ----------
    x, y : str
        Numeric parameters; with y the figure is a heat map.
    curves : str
        The parameter that has a curve for each value.
    value : str
        The result that is drawn, such as test_error.

    Examples
    --------
    >>> from sparsetoken.sweep import Drawing, Grid, linear
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], plot=Drawing(x="strength"))
    >>> grid.plot.x
    'strength'
    """

    x: str = ""
    y: str = ""
    curves: str = ""
    value: str = ""

    def check(self, names: tuple[str, ...], experiment: str) -> None:
        """Raise `InvalidInput` unless the places are distinct axes and the value exists."""
        taken: dict[str, str] = {}
        for place in ("x", "y", "curves"):
            name = getattr(self, place)
            if name == "":
                continue
            if name not in names:
                raise InvalidInput(f"plot.{place}", "the name of an axis", name)
            if name in taken:
                raise InvalidInput(f"plot.{place}", f"another axis than {taken[name]}", name)
            if place != "curves" and parameters()[name].number is None:
                raise InvalidInput(f"plot.{place}", "an axis of numbers", name)
            taken[name] = f"plot.{place}"
        if self.y and self.curves:
            raise InvalidInput("plot.curves", "left out of a heat map (plot.y)", self.curves)
        if self.value and self.value not in VALUES[experiment]:
            legal = f"one of {', '.join(VALUES[experiment])}"
            raise InvalidInput("plot.value", legal, self.value)
