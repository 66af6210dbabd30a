"""The query after two gradient steps, and the sign of its cosine."""

from sparsetoken.theory.query.sign import sign_margin, small_step_margin
from sparsetoken.theory.query.two_steps import align

__all__ = ["align", "sign_margin", "small_step_margin"]
