"""Test error over the choices of a training, and the best of them."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.sensitivity.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.sensitivity.rows import Best, Floor, Neighbour, OnMap, Spot
from sparsetoken.experiments.sensitivity.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="sensitivity",
    title="Sensitivity and design",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(OnMap, Spot, Best, Neighbour, Floor),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
