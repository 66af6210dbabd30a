"""Capacity of the three models against cosine, strength and length."""

from sparsetoken.experiments.capacity_curves.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.capacity_curves.rows import AtPlace, Crossing, OnLine, Separable
from sparsetoken.experiments.capacity_curves.work import PROFILES, jobs
from sparsetoken.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="capacity-curves",
    title="Capacity against cosine, strength and length",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(OnLine, Crossing, AtPlace, Separable),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
