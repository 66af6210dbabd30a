"""The type checker that executes annotations while the tests run."""

from beartype import BeartypeConf, beartype

__all__ = ["checked"]

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float
