"""The query after two gradient steps, and the sign of its cosine."""

from sparsetoken.theory.query.growing_length import growing_length_cosine
from sparsetoken.theory.query.sign import sign_margin, small_step_margin
from sparsetoken.theory.query.two_steps import align

__all__ = ["align", "growing_length_cosine", "sign_margin", "small_step_margin"]
