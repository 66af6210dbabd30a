"""The readout on features whose noise has any covariances: the general convex readout."""

from sparsetoken.theory.covariance.nodes import FeatureNodes
from sparsetoken.theory.covariance.outcomes import (
    ReadoutOutcome,
    readout_outcome,
    scores_on,
    spread_over_scrambles,
)
from sparsetoken.theory.covariance.readout import ConvexReadout, SolvedReadout
from sparsetoken.theory.covariance.spectra import (
    CommutingCovariances,
    Covariances,
    Directions,
    FullCovariances,
    covariances,
)

__all__ = [
    "CommutingCovariances",
    "ConvexReadout",
    "Covariances",
    "Directions",
    "FeatureNodes",
    "FullCovariances",
    "ReadoutOutcome",
    "SolvedReadout",
    "covariances",
    "readout_outcome",
    "scores_on",
    "spread_over_scrambles",
]
