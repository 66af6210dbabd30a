"""Test error and training loss of three models against the size of the training set."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.learning_curves.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.learning_curves.rows import (
    BestLearner,
    Effect,
    OnLine,
    Simulated,
    Theory,
)
from sparsetoken.experiments.learning_curves.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="learning-curves",
    title="Learning curves",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Theory, OnLine, BestLearner, Effect, Simulated),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
