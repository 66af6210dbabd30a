"""Gradient descent on readout, query and bias together: dynamical mean-field theory."""

from sparsetoken.theory.dynamics.descend import descend, descended_query

__all__ = ["descend", "descended_query"]
