"""Finite-dimensional experiments: real tensors, or the same law without them."""

from sparsetoken.simulation.alignment import (
    AlignmentMoments,
    AlignmentSimulation,
    simulate_alignment,
)
from sparsetoken.simulation.descent import simulate_descent
from sparsetoken.simulation.message_passing import MessagePassing, simulate_message_passing
from sparsetoken.simulation.separability import is_separable
from sparsetoken.simulation.simulate import simulate, simulate_point
from sparsetoken.simulation.training_set import draw_training_set

__all__ = [
    "AlignmentMoments",
    "AlignmentSimulation",
    "MessagePassing",
    "draw_training_set",
    "is_separable",
    "simulate",
    "simulate_alignment",
    "simulate_descent",
    "simulate_message_passing",
    "simulate_point",
]
