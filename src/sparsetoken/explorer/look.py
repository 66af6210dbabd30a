"""Names and colours of the models on the page, as in the figures of the report."""

from sparsetoken.figures.palette import COLOURS

_WORDS = {
    "attention": "attention",
    "pooled": "mean pooling",
    "vectorized": "all tokens side by side",
    "elementwise": "elementwise attention",
    "hard_attention": "attention to the top token",
    "floor": "floor: no learner does better",
}

LOOK = {model: (words, COLOURS[model]) for model, words in _WORDS.items()}
"""Words and colour of each curve; dark pages draw the grey lighter."""
