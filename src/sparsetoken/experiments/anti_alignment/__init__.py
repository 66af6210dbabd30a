"""Where the query turns away from the signal, and how the bias step turns it back."""

from sparsetoken.experiments.anti_alignment.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.anti_alignment.rows import (
    Cell,
    Edge,
    SmallStepEdge,
    SmallStepTrials,
    Trials,
)
from sparsetoken.experiments.anti_alignment.work import PROFILES, jobs
from sparsetoken.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="anti-alignment",
    title="Anti-alignment",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Cell, Edge, SmallStepEdge, Trials, SmallStepTrials),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
