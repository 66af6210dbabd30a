"""The report: a claims table and one self-contained page."""

from sparsetoken.experiments.report.reproduce import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
