"""Tokens of a covariance, with an effect of their sample: theory, bag effects and whitening."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.token_covariance.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.token_covariance.rows import Simulated, Theory
from sparsetoken.experiments.token_covariance.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="token-covariance",
    title="Tokens of any covariance",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Theory, Simulated),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
