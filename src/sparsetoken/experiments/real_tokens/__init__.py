"""Real tokens: learning curves of bags of digits and of textures, predicted and measured."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.real_tokens.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.real_tokens.rows import Simulated, Theory
from sparsetoken.experiments.real_tokens.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="real-tokens",
    title="Bags of digits and of textures",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Theory, Simulated),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
