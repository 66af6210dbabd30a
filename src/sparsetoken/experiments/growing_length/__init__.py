"""Length in proportion to the dimension, against the theory of fixed length."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.growing_length.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.growing_length.work import PROFILES, LongCosine, Place, jobs

EXPERIMENT = Experiment(
    name="growing-length",
    title="Length in proportion to dimension",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Place, LongCosine),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
