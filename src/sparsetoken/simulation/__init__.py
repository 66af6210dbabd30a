"""Finite-dimensional experiments, with real tensors or from the same distribution without them."""

from sparsetoken.simulation.alignment import align
from sparsetoken.simulation.descent import descend
from sparsetoken.simulation.message_passing import MessagePassing, pass_messages
from sparsetoken.simulation.minimum import minimize
from sparsetoken.simulation.separability import is_separable
from sparsetoken.simulation.simulate import draw_training_set, simulate

__all__ = [
    "MessagePassing",
    "align",
    "descend",
    "draw_training_set",
    "is_separable",
    "minimize",
    "pass_messages",
    "simulate",
]
__dir__ = __all__.copy
