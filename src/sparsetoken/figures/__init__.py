"""Figures: pure functions from points to a matplotlib figure, and attention along bags."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparsetoken.figures.attention import AttentionDisplay
else:  # on first use: the palette needs no matplotlib
    import lazy_loader

    __getattr__, _, _ = lazy_loader.attach(
        __name__, submod_attrs={"attention": ["AttentionDisplay"]}
    )

__all__ = ["AttentionDisplay"]
__dir__ = __all__.copy
