"""When attention loses to mean pooling, and what alignment is worth for long sequences."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.misalignment.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.misalignment.rows import Abundant, AtCosine, Crossing, Pooled, Trials
from sparsetoken.experiments.misalignment.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="misalignment",
    title="When attention loses",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(AtCosine, Pooled, Crossing, Trials, Abundant),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
