"""The studies of `sparsetoken reproduce`, which compare theory and simulation."""

from sparsetoken.studies.reproduction import STUDIES, Reproduction, reproduce
from sparsetoken.studies.study import Study

__all__ = ["STUDIES", "Reproduction", "Study", "reproduce"]
