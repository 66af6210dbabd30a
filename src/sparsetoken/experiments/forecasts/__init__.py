"""Forecasts from pilots beside measured errors, on constructed sets and on sets that are given."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.forecasts.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.forecasts.rows import Forecasted, LeftOut, Simulated
from sparsetoken.experiments.forecasts.work import PROFILES, jobs, set_jobs

EXPERIMENT = Experiment(
    name="forecasts",
    title="Forecasts from pilots",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Forecasted, Simulated, LeftOut),
    jobs=jobs,
    set_jobs=set_jobs,
    compare=compare_rows,
    summary=summary,
)
