"""Two rates: of the query's alignment in alpha0, and of the test error in alpha1."""

from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.rates.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.rates.rows import (
    Abundant,
    Approach,
    Excess,
    Gap,
    MeasuredExcess,
    MeasuredGap,
    Rate,
)
from sparsetoken.experiments.rates.work import PROFILES, jobs

EXPERIMENT = Experiment(
    name="rates",
    title="Rates of alignment and of infinite data",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(Gap, Rate, MeasuredGap, Excess, Approach, MeasuredExcess, Abundant),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
