"""Exact predictions and experiments for attention on a few informative tokens.

The public names are loaded on first use, so that importing the package is quick; the stub
beside this file lists them.
"""

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name; an unknown one is looked for in the parts that have most names."""
    if name in __all__ or name.startswith("_"):
        return _load(name)
    for part in ("model", "theory", "estimators"):
        if name in _load(part).__all__:
            raise AttributeError(f"No sparsetoken attribute {name}: write st.{part}.{name}")
    return _load(name)  # which says that there is none
