"""Colours of models and quantities, for figures, displays, report, gallery and explorer.

They are Okabe and Ito's, which colour-blind readers can tell apart. Nothing is imported here, so
that the page of the explorer has them without matplotlib.
"""

__all__ = ["COLOURS", "CYCLE"]

BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
PURPLE, VERMILION, SKY = "#CC79A7", "#D55E00", "#56B4E9"

CYCLE = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY)
"""For lines without a colour of their own."""

COLOURS = {
    "attention": BLUE,
    "pooled": ORANGE,
    "vectorized": GREEN,
    "elementwise": PURPLE,
    "hard_attention": VERMILION,
    "bayes": "#000000",
    "floor": "#666666",
    "cosine": BLUE,
    "readout_cosine": VERMILION,
}
