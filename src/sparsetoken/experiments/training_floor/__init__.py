"""How far the ways of training stay above the floor under every learner."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.training_floor.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.training_floor.rows import (
    Levels,
    MessagesPassed,
    Schedule,
    Searched,
)
from sparsetoken.experiments.training_floor.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="training-floor",
    title="The floor under every training",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Levels, Schedule, Searched, MessagesPassed),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
