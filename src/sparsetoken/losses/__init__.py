"""Convex losses: value, slope, curvature, prox, Moreau envelope.

The names are loaded on first use; the stub beside this file lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
