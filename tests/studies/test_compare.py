"""Numbers, the rule that judges them case by case, shifts, and how comparisons scatter."""

import dataclasses
import math
import pickle
from functools import partial

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.studies.compare import (
    DIFFERENCE,
    NO_SHIFT,
    SHIFTS,
    Claim,
    Finding,
    Number,
    Shift,
    all_true,
    averaged,
    carried_to_infinity,
    compare,
    detectable,
    evidence_of,
    findings,
    fitted_power,
    largest_z,
    measured,
    normal_score,
    outlying_trials,
    predicted,
    report_only,
    scale_of,
    scatter_of,
    to_one_sample,
    verdict_of,
    within,
)
from sparsetoken.studies.study import Run, Size, profiles

THEORY = Number(0.1)
MEASURED = Number(0.1, 0.001, "reduced", 1000, 1001)
ALLOWED = 0.005
SHIFT = Shift(mean=2.0, error=3.0, spread=4.0)  # 0.0002 +- 0.0005 of 0.1 at d = 1000
PROBLEM, READOUT = st.SparseTokenProblem(length=4, informative=1, strength=2.0), st.Readout()
SIMULATE = partial(st.simulate, PROBLEM, st.Pooled(), READOUT)


def but(number, **changes):
    return dataclasses.replace(number, **changes)


def _judged(theory=THEORY, **changes):
    found = but(MEASURED, **changes)
    return compare("learned-error", "test_error", theory, found, shift=NO_SHIFT, bound=ALLOWED)


def test_what_is_predicted_has_its_own_stated_error():
    readout = st.predict(PROBLEM, st.Pooled(), READOUT)
    number = predicted(readout, "test_error")
    assert (number.value, number.error) == (readout.test_error, readout.numerical_error)
    assert (number.engine, number.dimension, number.converged) == ("theory", 0, True)
    assert predicted(readout, "auc").error == 0  # none is stated
    trajectory = st.descend(PROBLEM, st.Descent(steps=3)).isel(step=-1)
    number = predicted(trajectory, "test_error")
    assert number.error == trajectory.errors.test_error > 0


def test_what_is_measured_is_a_mean_with_the_values_of_its_trials():
    simulated = SIMULATE(dimension=20, trials=3)
    number = measured(simulated, "test_error", dimension=20)
    errors = simulated.trials.test_error.tolist()
    assert number.value == pytest.approx(np.mean(errors))
    assert number.error == pytest.approx(np.std(errors, ddof=1) / 3**0.5)
    assert number == averaged(errors, dimension=20, engine="reduced")
    assert (number.dimension, number.trials, number.values) == (20, 3, (tuple(errors),))
    assert math.isnan(averaged([0.5], dimension=10).error)
    assert not averaged([0.5, math.nan], dimension=10).converged
    assert pickle.loads(pickle.dumps(number)) == number


@pytest.mark.parametrize(
    ("call", "quantity", "step", "engine"),
    [
        (SIMULATE, "auc", None, "reduced"),
        (partial(SIMULATE, engine="tensors"), "auc", None, "tensors"),
        (partial(st.simulation.descend, PROBLEM, st.Descent(steps=2)), "test_error", 1, "tensors"),
    ],
    ids=["reduced", "tensors", "descent"],
)
def test_a_run_says_what_measured_a_place_and_at_which_dimension(call, quantity, step, engine):
    call = partial(call, dimension=20, trials=3)
    result = call(progress=False)
    number = Run(None, {}, {"here": result}, {"here": call}).measured("here", quantity, step)
    values = (result if step is None else result.isel(step=step)).trials.columns()[quantity]
    assert number.value == pytest.approx(np.mean(values))
    assert (number.engine, number.dimension, number.trials) == (engine, 20, 3)


def test_profiles_differ_where_two_sizes_are_given():
    sizes = profiles(trials=Size(4, 400), loads=(1.0, 2.0))
    assert [(name, s.trials, s.loads) for name, s in sizes.items()] == [
        ("quick", 4, (1.0, 2.0)),
        ("paper", 400, (1.0, 2.0)),
    ]


def test_a_difference_has_both_errors_and_converges_if_both_numbers_have():
    first, second = but(MEASURED, value=0.2, error=3e-4), Number(0.05, 4e-4, converged=False)
    for less, sign in ((first - second, 1), (second - first, -1)):
        assert (less.value, less.error) == pytest.approx((sign * 0.15, 5e-4))
        assert (less.engine, less.dimension, less.converged) == ("reduced", 1000, False)
    both = but(first, values=((1.0, 2.0),)) - but(first, values=((3.0, 4.0), (1.0, 2.0)))
    assert both.values == ((1.0, 2.0), (3.0, 4.0))
    tripled = but(first, values=((0.1, 0.3),)).times(-3)
    assert (tripled.value, tripled.error) == pytest.approx((-0.6, 9e-4))
    assert tripled.values[0] == pytest.approx((-0.3, -0.9))


def test_no_errors_at_all_are_known_to_one_sample():
    assert to_one_sample(but(MEASURED, error=0.0, trials=10), 50).error == 1 / 500
    assert to_one_sample(but(MEASURED, error=0.1, trials=10), 50).error == 0.1


@pytest.mark.parametrize("sign", [-1, 1])
def test_beyond_a_bound_z_counts_standard_errors(sign):
    assert _judged(value=0.1 + sign * 0.9 * ALLOWED).z == 0
    comparison = _judged(value=0.1 + sign * (ALLOWED + 0.002))
    assert comparison.z == pytest.approx(sign * 2, rel=0.01)
    assert comparison.raw_z == pytest.approx(sign * 7, rel=0.02)  # of Student, without the bound
    assert comparison.verdict == "holds"
    assert _judged(value=0.1 + sign * (ALLOWED + 0.0039)).verdict == "holds"
    assert _judged(value=0.1 + sign * (ALLOWED + 0.0042)).verdict == "fails"


def test_the_shift_of_finite_dimension_moves_and_widens_what_is_expected():
    def judged(value, **changes):
        found = but(MEASURED, value=value, **changes)
        return compare("learned-error", "test_error", THEORY, found, shift=SHIFT)

    middle = judged(0.1 + 0.0002)
    assert (middle.shift, middle.shift_error) == (pytest.approx(0.0002), pytest.approx(0.0005))
    assert middle.z == pytest.approx(0, abs=1e-9)
    # The scale is the root of 0.001^2 + 0.0005^2; without the shift it is 0.001.
    off = judged(0.1 + 0.0002 + 2 * math.hypot(0.001, 0.0005))
    assert off.z == pytest.approx(2, rel=0.01)
    assert off.raw_z == pytest.approx(0.2 + 2 * math.hypot(1, 0.5), rel=0.01)
    # Of that scale only 0.001 is estimated, here from 5 trials.
    expected = normal_score(3 / math.hypot(1, 0.5), 4 * math.hypot(1, 0.5) ** 4)
    assert judged(0.1 + 0.0002 + 0.003, trials=5).z == pytest.approx(expected)


def test_the_shift_of_a_quantity_is_that_measured_elsewhere_unless_another_is_given():
    comparison = compare("learned-error", "test_error", THEORY, MEASURED)
    used = SHIFTS["test_error"]
    assert comparison.shift == pytest.approx(used.mean * 0.1 / 1000)
    assert comparison.shift_error == pytest.approx(used.deviation * 0.1 / 1000)
    larger = compare("learned-error", "test_error", THEORY, MEASURED, size=0.4)
    assert larger.shift_error == pytest.approx(4 * comparison.shift_error)
    with pytest.raises(InvalidInput, match="NO_SHIFT"):
        compare("learned-error", "no-such-quantity", THEORY, MEASURED)


@pytest.mark.parametrize(
    ("quantity", "limit", "size"),
    [("test_error", 0.2, 0.2), ("auc", 0.9, 0.1), ("cosine", -0.8, 0.288)],
)
def test_a_shift_is_relative_to_what_can_still_change(quantity, limit, size):
    assert scale_of(quantity, limit) == pytest.approx(size)
    comparison = compare("one", quantity, Number(limit), but(MEASURED, value=limit))
    assert comparison.shift == pytest.approx(SHIFTS[quantity].mean * size / 1000)


def test_the_shifts_in_use_were_measured_in_many_settings():
    quantities = {"test_error", "training_loss", "training_error", "auc"}
    assert quantities | {"cosine", "readout_cosine", "misalignment"} == set(SHIFTS)
    assert all(shift.settings >= 10 and shift.deviation > 0 for shift in SHIFTS.values())
    assert DIFFERENCE.spread == SHIFTS["test_error"].spread


@pytest.mark.parametrize("who", ["theory", "measured"])
def test_what_did_not_converge_never_holds(who):
    changed = {"theory": but(THEORY, converged=False)} if who == "theory" else {"converged": False}
    assert _judged(**changed).verdict == "not converged"
    assert _judged(value=0.5, **changed).verdict == "not converged"


def test_one_trial_proves_nothing_and_without_any_error_only_the_bound_counts():
    assert _judged(error=math.nan, trials=1).verdict == "fails"
    assert _judged(error=0.0).verdict == "holds"
    assert _judged(error=0.0, value=0.2).verdict == "fails"


@pytest.mark.parametrize("freedom", [1, 3, 7, 99])
def test_normal_score_has_the_tail_of_student(freedom):
    rng = np.random.default_rng(freedom)
    t = rng.standard_t(freedom, 2000)
    z = np.array([normal_score(abs(value), freedom) for value in t])
    # 2000 draws: the share below the median of |N(0, 1)| has standard error 0.011.
    assert np.mean(z < 0.6745) == pytest.approx(0.5, abs=0.04)
    assert normal_score(3.0, freedom) < 3


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
def test_computed_numbers_are_compared_by_the_allowance(value, error, converged, verdict):
    number = Number(value, error, converged=converged)
    comparison = within("alignment-rate", "slope", number, 1.0, 0.1, curve="query")
    assert (comparison.verdict, comparison.curve) == (verdict, "query")


def _mean(trials, *wrong, **changes):
    values = np.random.default_rng(trials).normal(0.2, 0.02, trials)
    values[: len(wrong)] = wrong
    return but(averaged(values, dimension=400, engine="reduced"), **changes)


def _loss(found, value=0.2):
    return compare("loss", "training_loss", Number(value), found)


@pytest.mark.parametrize("trials", [20, 50, 400])
def test_one_wrong_trial_is_for_a_look(trials):
    """It widens the error bar, so that a mean far off would hold."""
    right, wrong = _mean(trials), _mean(trials, 60.0)
    assert abs(wrong.value - 0.2) < 1.1 * wrong.error  # (60 - 0.2)/n, of both
    comparison = _loss(wrong)
    assert comparison.verdict == "look"
    rest = np.array(wrong.values[0][1:])
    assert comparison.outlying == (
        f"60 among {trials} trials, of which the others have mean {rest.mean():.4g} and standard "
        f"deviation {rest.std(ddof=1):.2g}"
    )
    judged = _loss(right)
    assert (judged.verdict, judged.outlying) == ("holds", "")
    assert _loss(right, 0.25).verdict == "fails"


@pytest.mark.parametrize(
    ("values", "far"),
    [
        ([*range(8), 1000], 1),
        ([*range(7)], 0),
        ([*range(6), 1000], 0),  # too few
        ([0.0] * 19 + [1 / 25], 0),  # one count among none
        ([0.0] * 18 + [0.5, 0.6], 2),
        ([0.2] * 19 + [0.2 + 1e-12], 0),
        ([*range(8), math.nan], 0),
    ],
)
def test_trials_far_from_the_median_are_outlying(values, far):
    text = outlying_trials([values])
    assert len(text.partition(" among ")[0].split(", ")) == far if far else text == ""


@pytest.mark.parametrize("law", ["normal", "squares", "errors"])
@pytest.mark.parametrize("trials", [8, 20])
def test_right_trials_are_seldom_outlying(law, trials):
    rng, sets = np.random.default_rng(trials), (2000, trials)
    drawn = {
        "normal": rng.normal(size=sets),
        "squares": rng.normal(size=sets) ** 2,
        "errors": rng.binomial(400, 0.003, sets) / 400,
    }[law]
    # As stated beside FAR, and three binomial standard errors.
    assert np.mean([outlying_trials([values]) != "" for values in drawn]) < 1 / 40 + 3 * math.sqrt(
        1 / 40 / 2000
    )


def test_all_that_rests_on_a_wrong_trial_is_for_a_look():
    right, wrong = _mean(20), _mean(20, 60.0)
    gap, limit = right - wrong, carried_to_infinity([wrong, but(right, dimension=800)])
    power = fitted_power((1, 2), [but(right, value=1.0), wrong.times(2)])
    for number in (gap, limit, power):
        assert compare("loss", "loss", Number(0.2), number, shift=NO_SHIFT).verdict == "look"
        assert within("loss", "loss", number, number.value, 1.0).verdict == "look"
    assert report_only("loss", "loss", wrong).verdict == "look"
    assert all_true("loss", "order", [True], [right, gap]).verdict == "look"
    assert all_true("loss", "order", [True], [right]).verdict == "holds"
    assert _loss(but(wrong, converged=False)).verdict == "not converged"


def test_a_claim_is_as_good_as_its_worst_comparison():
    order = ("fails", "not converged", "look", "holds", "by experiment")  # the worst first
    comparisons = [but(_judged(), verdict=verdict) for verdict in order]
    assert [verdict_of(comparisons[i:][::-1]) for i in range(5)] == list(order)
    assert verdict_of([]) == "not converged"


def test_the_example_of_a_claim_is_what_decides_it_then_what_was_chosen_then_the_worst():
    plain, chosen = _judged(value=0.107), but(_judged(value=0.106), key=True)
    worse, failing = but(_judged(value=0.1065), key=True), _judged(value=0.2)
    other = but(failing, claim="other")
    one, two = findings(
        [Claim("learned-error", "Exact."), Claim("none", "Silent.")], [plain, chosen, worse, other]
    )
    assert (one.example, one.verdict) == (worse, "holds")
    assert Finding(one.claim, [chosen, failing, worse]).example == failing
    assert (two.comparisons, two.example, two.verdict) == ([], None, "not converged")


def test_two_numbers_next_to_0_say_nothing_of_a_claim():
    small = compare("loss", "training_loss", Number(4e-5), but(MEASURED, value=4e-5))
    large = compare("loss", "training_loss", Number(2e-4), but(MEASURED, value=4e-5))
    assert small.verdict == large.verdict == "holds"
    claim = Claim("loss", "It is small.")
    assert findings([claim], [small, large])[0].comparisons == [large]
    assert findings([claim], [small])[0].verdict == "not converged"
    rounded = within("loss", "training_loss", Number(1e-12), 0.0, 1e-9)  # of computed numbers
    none = compare("loss", "gain", Number(0.0), but(MEASURED, value=0.0), shift=NO_SHIFT)
    assert len(findings([claim], [rounded, none])[0].comparisons) == 2


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.1, "by experiment"), (math.nan, "not converged")]
)
def test_a_measurement_without_theory_is_by_experiment(value, verdict):
    number = averaged([value, value], dimension=1000, engine="reduced")
    report = report_only("reuse", "test_error", number, where="one place")
    assert (report.measured, report.engine) == (pytest.approx(value, nan_ok=True), "reduced")
    assert (report.verdict, report.where) == (verdict, "one place")


def test_a_claim_about_order_must_be_true_in_all_cases():
    assert all_true("order", "order", [True, True], []).verdict == "holds"
    comparison = all_true("order", "order", [True, False, True, True], [], curve="all", key=True)
    assert (comparison.theory, comparison.measured, comparison.verdict) == (1.0, 0.75, "fails")
    assert (comparison.curve, comparison.key, comparison.cases) == ("all", True, 4)
    unknown = [but(THEORY, converged=False)]
    assert all_true("order", "order", [True], unknown).verdict == "not converged"
    assert all_true("order", "order", [], []).verdict == "not converged"


def test_evidence_is_what_was_compared_with_what():
    judged, tensors = _judged(), _judged(engine="tensors")
    computed = within("order", "slope", Number(1.0), 1.0, 0.1)
    order = all_true("order", "order", [True], [THEORY, but(MEASURED, engine="tensors")])
    alone = report_only("reuse", "test_error", but(MEASURED, engine="tensors"))
    comparisons = [judged, tensors, computed, order, alone]
    kinds = ["reduced", "tensors", "computed", "tensors", "measured"]
    assert [comparison.evidence for comparison in comparisons] == kinds
    assert evidence_of(comparisons) == {"tensors": 2, "reduced": 1, "computed": 1, "measured": 1}
    finding = Finding(Claim("order", "In order."), [computed, judged])
    assert finding.evidence == {"reduced": 1, "computed": 1}


LIMIT, PER, ERROR = 0.2, 7.0, 0.001


def test_a_limit_and_its_error_are_found_over_many_draws():
    rng = np.random.default_rng(1)

    def mean(d):
        value = LIMIT + PER * LIMIT / d + ERROR * rng.standard_normal()
        return Number(value, ERROR, "reduced", d, 10_000 // d)

    draws = [[mean(d) for d in (100, 400, 200)] for _ in range(400)]
    limits = [carried_to_infinity(means) for means in draws]
    z = [(found.value - LIMIT) / found.error for found in limits]
    assert abs(np.mean(z)) < 4 / 20  # 1 / sqrt(400)
    assert np.std(z) == pytest.approx(1, abs=4 / np.sqrt(800))
    assert (limits[0].dimension, limits[0].trials, limits[0].engine) == (400, 25, "reduced")
    assert limits[0].converged
    assert not carried_to_infinity([*draws[0], but(mean(800), converged=False)]).converged


def test_a_line_is_through_sizes_that_are_no_dimensions_where_they_are_given():
    means = [Number(3.0 - 2.0 / size, 0.1, "tensors", 50, 5) for size in (2, 4, 10)]
    assert carried_to_infinity(means, (2, 4, 10)).value == pytest.approx(3.0)


def test_a_power_is_that_which_made_the_values():
    sizes = (10, 20, 80)
    power = fitted_power(sizes, [Number(2.0 * m**-0.5, 0.1 * m**-0.5) for m in sizes])
    assert power.value == pytest.approx(-0.5, abs=1e-12)
    # Relative errors of 0.05, over the spread of the logarithms of the sizes.
    spread = np.std(np.log(sizes)) * 3**0.5
    assert power.error == pytest.approx(0.05 / spread)


C, BETWEEN, PLACES = 4.0, 6.0, 400


def _made_up(shift=None):
    """Return comparisons whose c varies between places with a known mean and spread."""
    rng, comparisons = np.random.default_rng(7), []
    for _ in range(PLACES):
        c = C + BETWEEN * rng.standard_normal()
        value = 0.3 * (1 + c / 1000) + 0.002 * rng.standard_normal()
        found = Number(value, 0.002, "reduced", 1000, 10_000)
        comparisons.append(compare("claim", "test_error", Number(0.3), found, shift=shift))
    return comparisons


def test_the_error_that_a_comparison_would_detect():
    comparisons = _made_up()
    # Four standard errors, of the trials and of the shift, over the theory.
    expected = 4 * math.hypot(0.002, SHIFTS["test_error"].deviation * 0.3 / 1000) / 0.3
    assert detectable(comparisons) == pytest.approx(expected)
    bounded = but(comparisons[0], allowance=0.03)
    assert detectable([bounded]) == pytest.approx(expected + 0.1)
    assert math.isnan(detectable([within("claim", "slope", Number(1.0), 1.0, 0.1)]))
    assert largest_z(comparisons) == max(abs(c.z) for c in comparisons) > 0
    assert largest_z([]) == 0


def test_with_the_right_shift_z_is_standard_normal():
    scatter = scatter_of(_made_up(Shift(C, 0.0, BETWEEN)))
    assert np.std(scatter.z) == pytest.approx(1, abs=0.15)  # 4 / sqrt(2 * 400)
    assert abs(np.mean(scatter.z)) < 4 / math.sqrt(PLACES)
    # Without it the scale is the standard error alone: sqrt(1 + (6 * 0.3 / 1000 / 0.002)^2).
    assert np.std(scatter.raw) == pytest.approx(math.hypot(1, 0.9), rel=0.15)


def test_comparisons_with_a_bound_or_on_one_side_are_counted_apart():
    def judged(theory, value, **changes):
        found = Number(value, 0.02, "reduced", 1000, 100)
        return compare("claim", "test_error", Number(theory), found, shift=NO_SHIFT, **changes)

    free, bounded, one_sided = judged(0.3, 0.31), judged(0.3, 0.31, bound=0.1), judged(0.0, 0.0)
    slope = within("claim", "slope", Number(1.0), 1.0, 0.1)
    scatter = scatter_of([free, bounded, one_sided, slope])
    assert (scatter.z, scatter.largest, scatter.bounded) == ([free.z], free.z, 2)
    # Two-sided chances of 6.3e-5 in three comparisons.
    assert scatter.false_alarm == pytest.approx(3 * 6.3e-5, rel=0.01)
    nothing = scatter_of([])
    assert (nothing.false_alarm, nothing.largest, nothing.z) == (0, 0, [])


def test_the_largest_z_has_the_chance_of_the_largest_of_so_many_normal_numbers():
    scatter = scatter_of(_made_up(Shift(C, 0.0, BETWEEN)))
    rng = np.random.default_rng(3)
    draws = np.abs(rng.standard_normal((2000, PLACES))).max(axis=1)
    # 2000 draws of a share near one half have standard error 0.011.
    assert scatter.chance == pytest.approx(np.mean(draws > scatter.largest), abs=0.05)
    number, expected = scatter.beyond(2.0)
    assert expected == pytest.approx(0.0455 * PLACES, rel=1e-3)
    assert abs(number - expected) < 4 * expected**0.5
