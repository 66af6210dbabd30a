"""Learning curves from jobs to words; a wrong number fails."""

import dataclasses

import pytest

from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.learning_curves import EXPERIMENT, work
from sparsetoken.experiments.learning_curves.rows import Simulated
from sparsetoken.experiments.rows import Predicted
from sparsetoken.experiments.rules import judge

TINY = work.Profile(
    (1.0, 2.0),
    (1.0,),
    trials=8,
    dimension=120,
    curve_points=3,
    effect_points=2,
    alpha0s=(0.25, 0.5, 1.0, 2.0, 10.0),
)


@pytest.fixture(scope="module")
def rows(rows_of):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "JUDGED", 5e-3)
        patch.setattr(work, "LINE", 5e-3)
        return rows_of(EXPERIMENT, TINY)


def test_from_jobs_to_words(rows, said_of):
    words = said_of(EXPERIMENT, TINY, rows)
    assert "d = 120, 8 trials" in words["setting"]
    assert "the measured test errors are: attention" in words["result"]
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    assert sum(c.engine == "tensors" for c in comparisons) == 8
    assert all(c.key for c in comparisons if c.engine == "tensors")


def test_a_wrong_number_fails(rows):
    def verdict(rows):
        found = EXPERIMENT.compare(TINY, rows)
        return verdict_of(c for c in found if c.claim == "learned-error")

    def moved(row):
        if isinstance(row, Simulated) and row.model == "pooled":
            value = row.test_error.value + 0.3
            return dataclasses.replace(
                row, test_error=dataclasses.replace(row.test_error, value=value, error=1e-3)
            )
        return row

    assert verdict(rows) == HOLDS
    assert verdict([moved(row) for row in rows]) == FAILS


def test_a_count_of_no_errors_is_known_to_one_sample():
    (row,) = work.simulate("pooled", "square", 0.5, "reduced", 40, 8, 0)
    none = row.training_error
    assert none.value == 0  # 20 samples of 40 features are fitted exactly
    assert none.error == 1 / (8 * 20)
    assert row.training_loss.error != none.error

    def verdict(expected):
        return judge("score-law", "training_error", Predicted(expected), none).verdict

    assert verdict(1e-100) == HOLDS
    assert verdict(0.4) == FAILS  # 64 of 160 were expected to be misjudged


def test_each_simulated_place_has_random_numbers_of_its_own():
    jobs = EXPERIMENT.jobs(TINY, 0)
    seeds = [job.arguments[-1] for job in jobs if job.work is work.simulate]
    assert len(set(seeds)) == len(seeds)
