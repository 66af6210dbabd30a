"""Exact predictions and experiments for attention on a few informative tokens.

The public names are loaded on first use, so that importing the package is quick; the stub
beside this file lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
