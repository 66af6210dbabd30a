"""Gradient descent on readout, query and bias together: dynamical mean-field theory."""

from sparsetoken.theory.dynamics.descend import (
    TOLERANCE,
    DescendedQuery,
    descend,
    descended_query,
)

__all__ = ["TOLERANCE", "DescendedQuery", "descend", "descended_query"]
