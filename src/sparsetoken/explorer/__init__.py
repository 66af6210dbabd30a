"""The explorer: a page on this machine on which the exact theory can be moved.

Its parts import what they need when they run, so that the page answers before the theory is
loaded.
"""

from sparsetoken.explorer.settings import PARAMETERS, Settings

__all__ = ["PARAMETERS", "Settings"]
__dir__ = __all__.copy
