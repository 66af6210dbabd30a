"""Gradient descent on query, readout and bias together, against the four stages."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.joint_training.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.joint_training.work import PROFILES, AfterSteps, jobs
from sparsetoken.experiments.references import References

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="joint-training",
    title="Joint training of all weights",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(References, AfterSteps),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
