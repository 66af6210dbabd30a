"""The query after two gradient steps, and the boundary of anti-alignment."""

from sparsetoken.theory.alignment.sign import (
    SignBoundary,
    sign_boundary,
    sign_margin,
    small_step_margin,
)
from sparsetoken.theory.alignment.two_steps import align

__all__ = [
    "SignBoundary",
    "align",
    "sign_boundary",
    "sign_margin",
    "small_step_margin",
]
