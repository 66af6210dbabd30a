"""Colours and names of models and quantities, for figures, report, gallery and explorer.

The first six are Okabe and Ito's, which colour-blind readers can tell apart. Nothing is imported
here, so that the page of the explorer has them without matplotlib.
"""

BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
PURPLE, VERMILION, SKY = "#CC79A7", "#D55E00", "#56B4E9"
WINE, RED, BLACK = "#882255", "#E8262A", "#000000"

GREY, LIGHT_GREY = "#555555", "#888888"
"""Of marks that explain, and of lines that other lines are compared with."""
PALE, GRID = "#EFEFEF", "#E4E4E4"
"""Of areas behind the lines, and of the grid."""

CYCLE = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY)
"""For lines without a colour of their own."""

SEQUENCE = ("#08306B", "#2171B5", "#6BAED6", "#FD8D3C", "#A63603")
"""From dark blue to dark orange, for a parameter that grows."""

COLOURS = {
    "attention": BLUE,
    "pooled": ORANGE,
    "vectorized": GREEN,
    "elementwise": PURPLE,
    "hard_attention": VERMILION,
    "centred_attention": SKY,
    "Softmax": BLUE,
    "Pooled": ORANGE,
    "bag": WINE,
    "bayes": "#666666",
    "oracle": BLACK,
    "cosine": BLUE,
    "readout_cosine": VERMILION,
}

NAMES = {
    "pooled": "mean pooling",
    "vectorized": "concatenated tokens",
    "elementwise": "elementwise attention",
    "hard_attention": "attention to the top token",
    "centred_attention": "centred attention",
    "Softmax": "softmax attention",
    "Pooled": "mean pooling",
    "bag": "bag classifier",
    "bayes": "Bayes-optimal error",
}
"""Of models and networks in legends, where they differ from the names in code."""
