"""The share of separable training sets around the predicted capacity."""

from sparsetoken.experiments.capacity.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.capacity.rows import Separable
from sparsetoken.experiments.capacity.work import PROFILES, jobs
from sparsetoken.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="capacity",
    title="Capacity",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Separable,),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
