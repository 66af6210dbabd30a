"""What the best weights can do: critical strength against length, and errors by simulation."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.representation.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.representation.rows import (
    AtCritical,
    BestError,
    Critical,
    FreshSamples,
)
from sparsetoken.experiments.representation.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="representation",
    title="What the best weights can do",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Critical, AtCritical, BestError, FreshSamples),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
