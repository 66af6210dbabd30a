"""The studies of `sparsetoken reproduce`, which compare theory and simulation."""

from sparsetoken.studies.catalogue import STUDIES
from sparsetoken.studies.report import Reproduction, reproduce
from sparsetoken.studies.study import Study

__all__ = ["STUDIES", "Reproduction", "Study", "reproduce"]
