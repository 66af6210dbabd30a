"""Learning curves from work to words; a wrong number fails."""

from sparsetoken import simulation
from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.core.rows import Row
from sparsetoken.experiments.core.rules import against_simulation
from sparsetoken.experiments.learning_curves import EXPERIMENT, known_to_one_sample

SMALL = dict(
    judged=0.005,
    line=0.005,
    alphas=(1.0, 2.0),
    vectorized=(1.0,),
    trials=8,
    dimension=120,
    curve_points=3,
    choice_points=2,
    floor_points=2,
)


def test_from_work_to_words(rows, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, rows)
    assert "d = 120, 8 trials" in words["Setting"]
    assert "the measured test errors are: attention" in words["Found"]
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    assert sum(c.engine == "tensors" for c in comparisons) == 8
    assert all(c.key for c in comparisons if c.engine == "tensors")


def test_a_wrong_number_fails(rows, sizes, changed):
    def verdict(rows):
        found = EXPERIMENT.compared(sizes, rows)
        return verdict_of(c for c in found if c.claim == "learned-error")

    wanted = {"series": "simulated", "quantity": "test_error", "model": "pooled"}
    moved = changed(rows, lambda row: row.but(value=row.value + 0.3, error=1e-3), **wanted)
    assert verdict(rows) == HOLDS
    assert verdict(moved) == FAILS


def test_a_count_of_no_errors_is_known_to_one_sample():
    share = Row("simulated", "training_error", 0.0, 0.0, {"alpha1": 0.5}, "reduced", 40, 8)
    none = known_to_one_sample(share)
    assert none.error == 1 / (8 * 20)
    assert known_to_one_sample(share.but(error=0.1)).error == 0.1
    for expected, verdict in ((1e-100, HOLDS), (0.4, FAILS)):  # 0.4: 64 of 160 misjudged
        theory = Row("theory", "training_error", expected)
        assert against_simulation("score-law", theory, none).verdict == verdict


def test_each_simulated_place_has_random_numbers_of_its_own(sizes):
    pieces = [p for p in EXPERIMENT.work(sizes, 0) if p.work is simulation.simulate]
    seeds = [piece.options["seed"] for piece in pieces]
    assert len(set(seeds)) == len(seeds)
