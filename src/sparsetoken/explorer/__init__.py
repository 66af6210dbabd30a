"""The explorer: an interactive page of the exact theory.

Its parts import what they need when they run, so that the page answers before the theory is
loaded.
"""

from sparsetoken.explorer.settings import PARAMETERS, Settings

__all__ = ["PARAMETERS", "Settings"]
__dir__ = __all__.copy
