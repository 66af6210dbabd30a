"""A classifier trained on one problem and tested on another: longer, rarer, weaker."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.shifted_test.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.shifted_test.rows import Simulated, Theory
from sparsetoken.experiments.shifted_test.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="shifted-test",
    title="Test data of another law",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Theory, Simulated),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
