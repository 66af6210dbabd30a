"""Names and colours of the models on the page, as in the figures of the report."""

__all__ = ["LOOK"]

LOOK = {
    "attention": ("attention", "#0072B2"),
    "pooled": ("mean pooling", "#E69F00"),
    "vectorized": ("all tokens side by side", "#009E73"),
    "elementwise": ("elementwise attention", "#CC79A7"),
    "hard_attention": ("attention to the top token", "#D55E00"),
    "floor": ("floor: no learner does better", "#666666"),
}
"""Words and colour of each curve; dark pages draw the grey lighter."""
