"""Gradient descent on query, readout and bias together: exact lines under simulated points."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.joint_training.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.joint_training.rows import AtStep, Followed
from sparsetoken.experiments.joint_training.work import PROFILES, jobs
from sparsetoken.experiments.references import References

EXPERIMENT = Experiment(
    name="joint-training",
    title="Joint training of all weights",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(References, AtStep, Followed),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
