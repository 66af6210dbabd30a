"""More gradient steps on the query than the two of the theory."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.query_steps.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.query_steps.work import PROFILES, AfterStep, jobs
from sparsetoken.experiments.references import References

EXPERIMENT = Experiment(
    name="query-steps",
    title="More steps on the query",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(References, AfterStep),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
