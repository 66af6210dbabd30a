"""The same data for the query and for the readout, against fresh data."""

from sparsetoken.experiments.data_reuse.claims import CLAIMS, compare_rows, summary
from sparsetoken.experiments.data_reuse.work import PROFILES, Descended, Reused, Trained, jobs
from sparsetoken.experiments.experiment import Experiment
from sparsetoken.experiments.references import References

EXPERIMENT = Experiment(
    name="data-reuse",
    title="One data set for query and readout",
    claims=CLAIMS,
    profiles=PROFILES,
    rows=(References, Reused, Descended, Trained),
    jobs=jobs,
    compare=compare_rows,
    summary=summary,
)
