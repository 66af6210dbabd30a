"""Gradient descent on readout, query and bias together: dynamical mean-field theory."""

from sparsetoken.theory.dynamics.descend import TOLERANCE, descend

__all__ = ["TOLERANCE", "descend"]
