"""Numbers, the rule that judges rows case by case, and what a claim makes of its rows."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import sparsetoken as st
from sparsetoken.studies.claims import (
    COLUMNS,
    Claim,
    Finding,
    Number,
    all_true,
    averaged,
    evidence_of,
    findings,
    judged,
    line,
    predicted,
    row,
    to_infinity,
)

THEORY = Number(0.1)
MEASURED = Number(0.1, 0.001, "reduced", 1000, 1001)
PROBLEM, READOUT = st.SparseTokenProblem(length=4, informative=1, strength=2.0), st.Readout()
CLAIM = Claim("one", "It is so.")


def but(number, **changes):
    return dataclasses.replace(number, **changes)


def judge(theory=THEORY, found=MEASURED, **columns):
    """Return the one row, judged."""
    return judged([row(theory, found, claim="one", **columns)]).iloc[0]


def test_what_is_predicted_has_its_own_stated_error():
    readout = st.predict(PROBLEM, st.Pooled(), READOUT)
    number = predicted(readout, "test_error")
    assert (number.value, number.error) == (readout.test_error, readout.numerical_error)
    assert (number.engine, number.dimension, number.converged) == ("theory", 0, True)
    assert predicted(readout, "auc").error == 0  # none is stated
    trajectory = st.descend(PROBLEM, st.Descent(steps=3)).isel(step=-1)
    number = predicted(trajectory, "test_error")
    assert number.error == trajectory.errors.test_error > 0


def test_a_mean_has_its_standard_error_and_needs_all_trials():
    number = averaged([0.1, 0.2, 0.6], dimension=20)
    assert number.value == pytest.approx(0.3)
    assert number.error == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / 3**0.5)
    assert (number.engine, number.dimension, number.trials) == ("reduced", 20, 3)
    assert math.isnan(averaged([0.5], dimension=10).error)
    assert not averaged([0.5, math.nan], dimension=10).converged


def test_a_difference_has_both_errors_and_converges_if_both_numbers_have():
    first, second = but(MEASURED, value=0.2, error=3e-4), Number(0.05, 4e-4, converged=False)
    for less, sign in ((first - second, 1), (second - first, -1)):
        assert (less.value, less.error) == pytest.approx((sign * 0.15, 5e-4))
        assert (less.engine, less.dimension, less.converged) == ("reduced", 1000, False)
    tripled = first.times(-3)
    assert (tripled.value, tripled.error) == pytest.approx((-0.6, 9e-4))


LIMIT, PER, ERROR = 0.2, 1.4, 0.001


def test_two_dimensions_are_extrapolated_with_their_errors():
    quarter, whole = (
        Number(LIMIT + PER / d, e, "reduced", d, n) for d, e, n in ((100, 0.03, 8), (400, 0.01, 9))
    )
    found = to_infinity([quarter, whole])
    assert found.value == pytest.approx(LIMIT)
    assert found.error == pytest.approx(math.hypot(4 * 0.01, 0.03) / 3)
    assert (found.dimension, found.trials, found.converged) == (400, 8, True)
    assert not to_infinity([quarter, but(whole, converged=False)]).converged
    assert to_infinity([whole]) is whole
    counted = to_infinity([but(quarter, error=0.0), but(whole, error=0.0)])
    assert (counted.value, counted.error) == pytest.approx((LIMIT, 0.0))


@pytest.mark.parametrize("sizes", [None, (5, 20, 10)])
def test_a_limit_and_its_error_are_found_over_many_draws(sizes):
    rng, dimensions = np.random.default_rng(1), (100, 400, 200)
    z = []
    for _ in range(400):
        means = [
            Number(LIMIT + PER / size + ERROR * (1 + i) * rng.standard_normal(), ERROR * (1 + i),
                   "reduced", d, 5)
            for i, (d, size) in enumerate(zip(dimensions, sizes or dimensions, strict=True))
        ]  # fmt: skip
        found = to_infinity(means, sizes)
        z.append((found.value - LIMIT) / found.error)
    assert abs(np.mean(z)) < 4 / 20  # 1 / sqrt(400)
    assert np.std(z) == pytest.approx(1, abs=4 / np.sqrt(800))


def test_a_row_of_a_line_has_the_prediction_and_one_with_more_columns_is_refused():
    results = [st.predict(PROBLEM, st.Pooled(), st.Readout(alpha1=a)) for a in (1.0, 2.0)]
    rows = line((1.0, 2.0), results, "auc", panel="here")
    assert [(one["x"], one["theory"], one["panel"]) for one in rows] == [
        (x, one.auc, "here") for x, one in zip((1.0, 2.0), results, strict=True)
    ]
    assert set(rows[0]) == set(COLUMNS)
    with pytest.raises(TypeError, match="shift"):
        row(THEORY, shift=1)


@pytest.mark.parametrize("sign", [-1, 1])
def test_beyond_an_allowance_z_counts_standard_errors(sign):
    def off(by):
        return judge(found=but(MEASURED, value=0.1 + sign * by), allowance=0.005)

    assert off(0.0045).z == 0
    assert off(0.007).z == pytest.approx(sign * 2, rel=0.01)
    assert off(0.0089).verdict == "holds"
    assert off(0.0092).verdict == "fails"


def test_both_errors_count_and_only_that_of_the_trials_is_estimated():
    found = judge(Number(0.1, 0.002), but(MEASURED, value=0.1 + 3 * math.hypot(0.001, 0.002)))
    assert found.z == pytest.approx(3, rel=0.01)
    few = judge(Number(0.1, 0.002), but(MEASURED, value=found.measured, trials=5))
    expected = stats.norm.isf(stats.t.sf(3, 4 * 5**2))  # (scale / standard error)^4 = 25
    assert few.z == pytest.approx(expected)


@pytest.mark.parametrize("trials", [2, 4, 8, 100])
def test_z_of_a_true_theory_is_normal_and_never_beyond_its_t(trials):
    rng = np.random.default_rng(trials)
    values = 0.1 + 0.01 * rng.standard_normal((2000, trials))
    rows = [row(THEORY, averaged(some, dimension=10), claim="one") for some in values]
    z = judged(rows).z
    # 2000 draws: the share below the median of |N(0, 1)| has standard error 0.011.
    assert np.mean(np.abs(z) < 0.6745) == pytest.approx(0.5, abs=0.04)
    assert np.std(z) == pytest.approx(1, abs=4 / np.sqrt(4000))


@pytest.mark.parametrize("value", [0.1, 0.5, math.nan])
@pytest.mark.parametrize("who", ["theory", "found"])
def test_what_did_not_converge_never_holds(who, value):
    numbers = {"theory": THEORY, "found": but(MEASURED, value=value)}
    numbers[who] = but(numbers[who], converged=False)
    assert judge(**numbers).verdict == "not converged"


def test_one_trial_proves_nothing_and_without_any_error_only_the_allowance_counts():
    assert judge(found=but(MEASURED, error=math.nan, trials=1)).verdict == "fails"
    assert judge(found=but(MEASURED, error=0.0)).verdict == "holds"
    assert judge(found=but(MEASURED, error=0.0, value=0.2)).verdict == "fails"


@pytest.mark.parametrize(
    ("value", "error", "converged", "verdict"),
    [
        (1.05, 0.0, True, "holds"),
        (0.85, 0.0, True, "fails"),
        (1.15, 0.02, True, "holds"),
        (1.17, 0.02, True, "fails"),
        (1.0, 0.0, False, "not converged"),
        (math.nan, 0.0, True, "not converged"),
    ],
)
@pytest.mark.parametrize("engine", ["theory", "tensors"])
def test_numbers_that_are_no_means_are_compared_by_the_allowance(
    value, error, converged, verdict, engine
):
    number = Number(value, error * (engine == "theory"), engine, converged=converged)
    found = judge(1.0, number, allowance=0.1 + (engine == "tensors") * 3 * error)
    assert (found.verdict, math.isnan(found.z)) == (verdict, True)


def test_a_measurement_without_theory_speaks_for_no_claim():
    assert judge(None).verdict == "fails"
    assert judge(None, but(MEASURED, value=math.nan)).verdict == "not converged"


def test_a_row_without_a_claim_has_no_verdict():
    frame = judged([row(THEORY, panel="here"), row(THEORY, MEASURED, panel="here")])
    assert frame.verdict.tolist() == ["", ""]


def test_two_numbers_next_to_0_say_nothing_of_a_claim_and_stay_in_the_figure():
    small = but(MEASURED, value=4e-5)
    both, large = judge(Number(4e-5), small, panel="here"), judge(Number(2e-4), small)
    assert (both.claim, both.verdict, both.panel) == ("", "", "here")
    assert (large.claim, large.verdict) == ("one", "holds")
    assert judge(0.0, Number(1e-12), allowance=1e-9).verdict == "holds"  # of computed numbers


def test_a_claim_about_order_must_be_true_in_all_cases():
    def verdict(true, used=()):
        return judged([all_true(true, used, claim="one")]).iloc[0]

    assert verdict([True, True]).verdict == "holds"
    found = verdict([True, False, True, True], [THEORY, but(MEASURED, engine="tensors")])
    assert (found.measured, found.cases, found.verdict) == (0.75, 4, "fails")
    assert found.engine == "tensors"
    assert verdict([True], [but(THEORY, converged=False)]).verdict == "not converged"
    assert verdict([]).verdict == "not converged"


def _frame(*values, keys=()):
    """Return rows whose z is near so many, of which some are key ones."""
    return judged(
        row(THEORY, but(MEASURED, value=0.1 + 0.001 * value), claim="one", key=value in keys)
        for value in values
    )


def test_a_claim_is_as_good_as_its_worst_row():
    frame = _frame(0, 0, 0)
    order = ["fails", "not converged", "holds"]  # the worst first
    frame["verdict"] = order
    for i, verdict in enumerate(order):
        assert Finding(CLAIM, frame.iloc[i:][::-1]).verdict == verdict
    silent = findings([CLAIM, Claim("other", "Silent.")], frame)[1]
    assert (len(silent.comparisons), silent.example, silent.verdict) == (0, None, "not converged")


def test_the_example_of_a_claim_is_what_decides_it_then_what_was_chosen_then_the_worst():
    held = _frame(3.5, 2.0, -3.0, keys=(2.0, -3.0))
    assert Finding(CLAIM, held).example.measured == pytest.approx(0.097)
    failing = _frame(2.0, 9.0, 5.0, keys=(2.0,))
    assert Finding(CLAIM, failing).example.measured == pytest.approx(0.109)


def test_evidence_is_what_was_compared_with_what():
    tensors = but(MEASURED, engine="tensors")
    rows = [(THEORY, MEASURED), (THEORY, tensors), (1.0, Number(1.0))]
    frame = judged(row(*numbers, claim="one") for numbers in rows)
    kinds = {"tensors": 1, "reduced": 1, "computed": 1}
    assert evidence_of(frame) == Finding(CLAIM, frame).evidence == kinds
    assert evidence_of(frame[:1]) == {"reduced": 1}


def test_the_error_that_a_comparison_would_detect():
    frame = judged(
        row(Number(0.1, 0.003), but(MEASURED, error=0.004), claim="one", allowance=allowance)
        for allowance in (0.0, 0.01, 0.03)
    )
    assert Finding(CLAIM, frame).detectable == pytest.approx((0.01 + 4 * 0.005) / 0.1)
    assert math.isnan(Finding(CLAIM, judged([row(1.0, Number(1.0), claim="one")])).detectable)
