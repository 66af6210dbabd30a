"""The verdict rule, case by case."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

from sparsetoken.experiments.core.claims import Claim, Finding, evidence_of, verdict_of
from sparsetoken.experiments.core.finite_dimension import (
    NO_SHIFT,
    SHIFTS,
    Shift,
    carried_to_infinity,
)
from sparsetoken.experiments.core.rows import (
    Row,
    Rows,
    averaged,
    difference,
)
from sparsetoken.experiments.core.rules import (
    against_simulation,
    against_value,
    fraction_true,
    normal_score,
    report_only,
)

THEORY = Row("theory", "test_error", 0.1)
MEASURED = Row("simulated", "test_error", 0.1, 0.001, {}, "reduced", 1000, 1001)
ALLOWED = 0.005
SHIFT = Shift(mean=2.0, error=3.0, spread=4.0)  # 0.0002 +- 0.0005 of 0.1 at d = 1000


def _verdict(theory=None, **changes):
    measured = dataclasses.replace(MEASURED, **changes)
    bounded = {"shift": NO_SHIFT, "bound": ALLOWED}
    return against_simulation("learned-error", theory or THEORY, measured, **bounded)


@pytest.mark.parametrize("sign", [-1, 1])
def test_beyond_a_bound_z_counts_standard_errors(sign):
    assert _verdict(value=0.1 + sign * 0.9 * ALLOWED).z == 0
    comparison = _verdict(value=0.1 + sign * (ALLOWED + 0.002))
    assert comparison.z == pytest.approx(sign * 2, rel=0.01)
    assert comparison.verdict == "holds"
    assert _verdict(value=0.1 + sign * (ALLOWED + 0.0039)).verdict == "holds"
    assert _verdict(value=0.1 + sign * (ALLOWED + 0.0042)).verdict == "fails"


def test_the_shift_of_finite_dimension_moves_and_widens_what_is_expected():
    def judged(value):
        measured = dataclasses.replace(MEASURED, value=value)
        return against_simulation("learned-error", THEORY, measured, shift=SHIFT)

    middle = judged(0.1 + 0.0002)
    assert (middle.shift, middle.shift_error) == (pytest.approx(0.0002), pytest.approx(0.0005))
    assert middle.z == pytest.approx(0, abs=1e-9)
    # The scale is the root of 0.001^2 + 0.0005^2; without the shift it is 0.001.
    off = judged(0.1 + 0.0002 + 2 * math.hypot(0.001, 0.0005))
    assert off.z == pytest.approx(2, rel=0.01)
    assert off.raw_z == pytest.approx(0.2 + 2 * math.hypot(1, 0.5), rel=0.01)
    # Of that scale only 0.001 is estimated, here from 5 trials.
    few = dataclasses.replace(MEASURED, value=0.1 + 0.0002 + 0.003, trials=5)
    expected = normal_score(3 / math.hypot(1, 0.5), 4 * math.hypot(1, 0.5) ** 4)
    assert against_simulation("one", THEORY, few, shift=SHIFT).z == pytest.approx(expected)


def test_the_shift_of_a_quantity_is_that_measured_elsewhere_unless_another_is_given():
    comparison = against_simulation("learned-error", THEORY, MEASURED)
    used = SHIFTS["test_error"]
    assert comparison.shift == pytest.approx(used.mean * 0.1 / 1000)
    assert comparison.shift_error == pytest.approx(used.deviation * 0.1 / 1000)
    larger = against_simulation("learned-error", THEORY, MEASURED, size=0.4)
    assert larger.shift_error == pytest.approx(4 * comparison.shift_error)


@pytest.mark.parametrize("who", ["theory", "measured"])
def test_what_did_not_converge_never_holds(who):
    fallen = dataclasses.replace(THEORY if who == "theory" else MEASURED, status="max_iterations")
    comparison = _verdict(fallen) if who == "theory" else _verdict(status="max_iterations")
    assert comparison.verdict == "not converged"
    assert _verdict(value=float("nan")).verdict == "not converged"


def test_one_trial_proves_nothing_and_without_any_error_only_the_bound_counts():
    assert _verdict(error=float("nan"), trials=1).verdict == "fails"
    assert _verdict(error=0.0).verdict == "holds"
    assert _verdict(error=0.0, value=0.2).verdict == "fails"


@pytest.mark.parametrize("freedom", [1, 3, 7, 99])
def test_normal_score_has_the_tail_of_student(freedom):
    rng = np.random.default_rng(freedom)
    t = rng.standard_t(freedom, 200_000)
    z = np.array([normal_score(abs(value), freedom) for value in t[:2000]])
    # 2000 draws: the share below the median of |N(0, 1)| has standard error 0.011.
    assert np.mean(z < 0.6745) == pytest.approx(0.5, abs=0.04)
    assert normal_score(3.0, freedom) < 3


@pytest.mark.parametrize(
    ("value", "error", "status", "verdict"),
    [
        (1.05, 0.0, "converged", "holds"),
        (0.85, 0.0, "converged", "fails"),
        (1.15, 0.02, "converged", "holds"),
        (1.0, 0.0, "max_iterations", "not converged"),
        (float("nan"), 0.0, "converged", "not converged"),
    ],
)
def test_computed_numbers_are_compared_by_the_allowance(value, error, status, verdict):
    given = {"curve": "query", "expected": 1.0, "allowance": 0.1, "error": error}
    rows = [MEASURED, THEORY.but(status=status)]
    comparison = against_value("alignment-rate", "slope", value, rows, **given)
    assert (comparison.verdict, comparison.curve) == (verdict, "query")


def _mean(trials, *wrong, **at):
    values = np.random.default_rng(trials).normal(0.2, 0.02, trials)
    values[: len(wrong)] = wrong
    return averaged(values, "training_loss", dimension=400, engine="reduced", **at)


LOSS = Row("theory", "training_loss", 0.2)


@pytest.mark.parametrize("trials", [20, 50, 400])
def test_one_wrong_trial_is_for_a_look(trials):
    """It widens the error bar, so that a mean far off would hold."""
    right, wrong = _mean(trials), _mean(trials, 60.0)
    assert abs(wrong.value - 0.2) < 1.1 * wrong.error  # (60 - 0.2)/n, of both
    comparison = against_simulation("loss", LOSS, wrong)
    assert comparison.verdict == "look"
    rest = np.array(wrong.values[1:])
    assert comparison.outlying == (
        f"60 among {trials} trials, of which the others have mean {rest.mean():.4g} and standard "
        f"deviation {rest.std(ddof=1):.2g}"
    )
    judged = against_simulation("loss", LOSS, right)
    assert (judged.verdict, judged.outlying) == ("holds", "")
    assert against_simulation("loss", LOSS.but(value=0.25), right).verdict == "fails"


def test_all_that_rests_on_a_wrong_trial_is_for_a_look():
    right, wrong = _mean(20), _mean(20, 60.0, load=1.0)
    gap = difference(right, wrong)
    limit = carried_to_infinity([wrong, right.but(dimension=800)])
    for row in (gap, limit):
        assert against_simulation("loss", LOSS, row, shift=NO_SHIFT).verdict == "look"
        assert pickle.loads(pickle.dumps(Rows([row]))) == Rows([row])
    assert report_only("loss", wrong).verdict == "look"
    assert fraction_true("loss", "order", [True], [right, gap]).verdict == "look"
    assert fraction_true("loss", "order", [True], [right]).verdict == "holds"
    fallen = wrong.but(status="max_iterations")
    assert against_simulation("loss", LOSS, fallen).verdict == "not converged"


def test_a_claim_is_as_good_as_its_worst_comparison():
    order = ("fails", "not converged", "look", "holds", "by experiment")  # the worst first
    comparisons = [dataclasses.replace(_verdict(), verdict=verdict) for verdict in order]
    assert [verdict_of(comparisons[i:][::-1]) for i in range(5)] == list(order)
    assert verdict_of([]) == "not converged"


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.1, "by experiment"), (float("nan"), "not converged")]
)
def test_a_measurement_without_theory_is_by_experiment(value, verdict):
    report = report_only("reuse", MEASURED.but(value=value), where="one place")
    assert (report.measured, report.engine) == (pytest.approx(value, nan_ok=True), "reduced")
    assert report.verdict == verdict


def test_a_claim_about_order_must_be_true_in_all_cases():
    assert fraction_true("order", "order", [True, True]).verdict == "holds"
    comparison = fraction_true("order", "order", [True, False, True, True], curve="all", key=True)
    assert (comparison.theory, comparison.measured, comparison.verdict) == (1.0, 0.75, "fails")
    assert (comparison.curve, comparison.key) == ("all", True)
    unknown = [THEORY.but(status="no_limit")]
    assert fraction_true("order", "order", [True], unknown).verdict == "not converged"


def test_evidence_is_what_was_compared_with_what():
    judged, tensors = _verdict(), _verdict(engine="tensors")
    computed = against_value("order", "slope", 1.0, [THEORY], expected=1.0, allowance=0.1)
    tokens = [THEORY, MEASURED.but(engine="tensors")]
    measured_order = fraction_true("order", "order", [True], tokens)
    alone = report_only("reuse", dataclasses.replace(MEASURED, engine="tensors"))
    comparisons = [judged, tensors, computed, measured_order, alone]
    kinds = ["reduced", "tensors", "computed", "tensors", "measured"]
    assert [comparison.evidence for comparison in comparisons] == kinds
    assert evidence_of(comparisons) == {"tensors": 2, "reduced": 1, "computed": 1, "measured": 1}
    finding = Finding(Claim("order", "In order."), [computed, judged])
    assert finding.evidence == {"reduced": 1, "computed": 1}
    assert finding.best_evidence == "reduced"
