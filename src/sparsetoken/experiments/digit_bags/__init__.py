"""Real data: learning curves of bags of handwritten digits, predicted and measured."""

from sparsetoken.experiments.digit_bags.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.digit_bags.rows import Simulated, Theory
from sparsetoken.experiments.digit_bags.work import PROFILES, jobs
from sparsetoken.experiments.experiment import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="digit-bags",
    title="Bags of handwritten digits",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Theory, Simulated),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
