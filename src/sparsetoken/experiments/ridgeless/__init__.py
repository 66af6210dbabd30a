"""The limit of a vanishing ridge: interpolation, its peak, and the largest margin."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.ridgeless.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.ridgeless.jobs import PROFILES, jobs
from sparsetoken.experiments.ridgeless.rows import ROWS

EXPERIMENT = Experiment(
    name="ridgeless",
    title="The ridgeless limit",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=ROWS,
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
