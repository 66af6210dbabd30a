"""Experiments from work to words, each at a small size; a wrong number fails."""

import pytest

from experiment_cases import CASES
from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.claims import BY_EXPERIMENT, FAILS, HOLDS, verdict_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", CASES)
def test_claims_hold_and_the_words_say_so(name, done, said_of):
    experiment, case = EXPERIMENTS[name], CASES[name]
    sizes, rows = done(name)
    comparisons = experiment.compared(sizes, rows)
    assert {c.claim for c in comparisons} == {claim.name for claim in experiment.claims}
    assert {c.verdict for c in comparisons if case.holding(c)} <= {HOLDS, BY_EXPERIMENT}
    words = said_of(experiment, sizes, rows)
    for part, said in case.words:
        assert (said if isinstance(said, str) else said(rows)) in words[part]
    for name, entries in case.legends:
        assert len(experiment.figures[name](rows).figure.legends[0].get_texts()) == entries


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name, case in CASES.items() for wrong in case.wrong]
)
def test_a_wrong_number_fails(name, wrong, done, changed):
    def change(row):
        error = row.error if wrong.error is None else wrong.error
        return row.but(value=wrong.change(row.value), error=error)

    sizes, rows = done(name)
    comparisons = EXPERIMENTS[name].compared(sizes, changed(rows, change, **wrong.chosen))

    def verdict(claim):
        return verdict_of(c for c in comparisons if claim in ("", c.claim))

    assert verdict(wrong.claim) == FAILS
    assert {verdict(claim) for claim in wrong.spared} <= {HOLDS}
