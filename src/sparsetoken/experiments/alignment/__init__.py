"""How well two gradient steps align query and readout with the signal."""

from sparsetoken.experiments.alignment.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.alignment.rows import OtherSteps, Simulated, Theory
from sparsetoken.experiments.alignment.work import PROFILES, jobs
from sparsetoken.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="alignment",
    title="Query alignment",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Theory, Simulated, OtherSteps),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
