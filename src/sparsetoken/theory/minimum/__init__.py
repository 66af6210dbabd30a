"""The joint minimum of a network on a task, in the limit of high dimension."""

from sparsetoken.theory.minimum.minimize import minimize

__all__ = ["minimize"]
