"""Beyond the theorems: attention networks of three families, trained end to end."""

from sparsetoken.experiments.architectures.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.architectures.work import PROFILES, Simulated, Trained, jobs
from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.references import References

EXPERIMENT = Experiment(
    name="architectures",
    title="Other architectures, trained end to end",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(References, Simulated, Trained),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
    extra="architectures",
    modules=("equinox", "optax"),
)
