"""Leave-one-out from one fit, against refits and against the predicted test error."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.leave_one_out.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.leave_one_out.rows import Estimated, Refitted, Theory
from sparsetoken.experiments.leave_one_out.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="leave-one-out",
    title="Leave one out",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Theory, Estimated, Refitted),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
