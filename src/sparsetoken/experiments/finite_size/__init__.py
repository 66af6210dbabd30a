"""How the difference between simulation and theory shrinks with the dimension."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.finite_size.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.finite_size.rows import Limit, Simulated
from sparsetoken.experiments.finite_size.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="finite-size",
    title="Finite dimension",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Limit, Simulated),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
