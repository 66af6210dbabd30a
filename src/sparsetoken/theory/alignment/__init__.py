"""The query after two gradient steps, and the boundary of anti-alignment."""

from sparsetoken.theory.alignment.two_steps import (
    SignBoundary,
    align,
    sign_boundary,
    sign_margin,
    small_step_margin,
)

__all__ = [
    "SignBoundary",
    "align",
    "sign_boundary",
    "sign_margin",
    "small_step_margin",
]
