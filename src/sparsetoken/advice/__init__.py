"""Advice on bags of one's own: what they look like, and which classifier suits them."""

from sparsetoken.advice.curves import Point
from sparsetoken.advice.diagnose import diagnose
from sparsetoken.advice.diagnosis import Diagnosis, Estimate, MoreLabels, Setting
from sparsetoken.advice.gaussianity import TokenCheck

__all__ = [
    "Diagnosis",
    "Estimate",
    "MoreLabels",
    "Point",
    "Setting",
    "TokenCheck",
    "diagnose",
]
