"""Finite-dimensional experiments, with real tensors or from the same distribution without them."""

from sparsetoken.numerics.leave_one_out import LeaveOneOut, leave_one_out
from sparsetoken.simulation.alignment import align
from sparsetoken.simulation.descent import descend
from sparsetoken.simulation.message_passing import MessagePassing, pass_messages
from sparsetoken.simulation.minimum import minimize
from sparsetoken.simulation.separability import is_separable
from sparsetoken.simulation.simulate import draw_training_set, simulate

__all__ = [
    "LeaveOneOut",
    "MessagePassing",
    "align",
    "descend",
    "draw_training_set",
    "is_separable",
    "leave_one_out",
    "minimize",
    "pass_messages",
    "simulate",
]
__dir__ = __all__.copy
