"""The verdict rule, case by case."""

import dataclasses

import numpy as np
import pytest

from sparsetoken.experiments.claims import (
    ALLOWANCE,
    compare,
    judge,
    judge_all,
    normal_score,
    observed,
    verdict_of,
)
from sparsetoken.experiments.points import Point

THEORY = Point("attention", "test_error", 2.0, 0.1)
MEASURED = dataclasses.replace(
    THEORY, value=0.1, error=0.001, source="reduced", dimension=1000, trials=1001
)
ALLOWED = ALLOWANCE["test_error"] / 1000 * 0.1


def _verdict(theory=None, **changes):
    measured = dataclasses.replace(MEASURED, **changes)
    return judge("learned-error", theory or THEORY, measured)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_difference_within_the_allowance_has_z_0(sign):
    assert _verdict(value=0.1 + sign * 0.9 * ALLOWED).z == 0


@pytest.mark.parametrize("sign", [-1, 1])
def test_beyond_the_allowance_z_counts_standard_errors(sign):
    claim = _verdict(value=0.1 + sign * (ALLOWED + 0.002))
    assert claim.z == pytest.approx(sign * 2, rel=0.01)
    assert claim.verdict == "holds"
    assert _verdict(value=0.1 + sign * (ALLOWED + 0.0031)).verdict == "fails"


def test_numerical_error_widens_the_scale():
    loose = dataclasses.replace(THEORY, error=0.01)
    assert _verdict(loose, value=0.1 + ALLOWED + 0.02).z == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize("who", ["theory", "measured"])
def test_what_did_not_converge_never_holds(who):
    fallen = dataclasses.replace(THEORY if who == "theory" else MEASURED, status="max_iterations")
    claim = _verdict(fallen) if who == "theory" else _verdict(status="max_iterations")
    assert claim.verdict == "not converged"


def test_a_value_that_is_nan_never_holds():
    assert _verdict(value=float("nan")).verdict == "not converged"


def test_one_trial_proves_nothing():
    assert _verdict(error=float("nan"), trials=1).verdict == "fails"


def test_without_any_error_only_the_allowance_counts():
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


def test_judge_all_pairs_points_and_marks_the_key_ones():
    other = dataclasses.replace(MEASURED, x=3.0)
    tensors = dataclasses.replace(MEASURED, source="tensors")
    points = [THEORY, MEASURED, tensors, other, dataclasses.replace(THEORY, x=3.0)]
    claims = judge_all("learned-error", points, key_x=())
    assert [(c.x, c.engine, c.key) for c in claims] == [
        (2, "reduced", False),
        (2, "tensors", True),
        (3, "reduced", False),
    ]
    assert judge_all("learned-error", points, key_x=(3.0,))[2].key


def test_points_without_theory_are_not_judged():
    assert judge_all("learned-error", [MEASURED]) == []


def test_points_of_a_map_are_paired_by_both_coordinates():
    theory, apart = dataclasses.replace(THEORY, y=1.0), dataclasses.replace(THEORY, y=2.0)
    measured = dataclasses.replace(MEASURED, y=2.0)
    assert len(judge_all("learned-error", [theory, apart, measured])) == 1
    assert judge_all("learned-error", [theory, measured]) == []


def test_the_allowance_of_an_auc_is_relative_to_what_is_missing_to_1():
    theory = dataclasses.replace(THEORY, quantity="auc", value=0.99)
    claim = judge("score-law", theory, dataclasses.replace(MEASURED, quantity="auc"))
    assert claim.allowance == pytest.approx(ALLOWANCE["auc"] / 1000 * 0.01)


@pytest.mark.parametrize(
    ("found", "error", "converged", "verdict"),
    [
        (1.05, 0.0, True, "holds"),
        (0.95, 0.0, True, "holds"),
        (1.15, 0.0, True, "fails"),
        (1.15, 0.02, True, "holds"),
        (1.0, 0.0, False, "not converged"),
        (float("nan"), 0.0, True, "not converged"),
    ],
)
def test_computed_numbers_are_compared_by_the_allowance(found, error, converged, verdict):
    claim = compare(
        "alignment-rate",
        "query",
        "slope",
        where="",
        expected=1.0,
        found=found,
        allowance=0.1,
        error=error,
        converged=converged,
    )
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "fails", "not converged"], "fails"),
        (["holds", "not converged"], "not converged"),
        (["by experiment", "by experiment"], "by experiment"),
        (["by experiment", "holds"], "holds"),
        ([], "not converged"),
    ],
)
def test_a_statement_is_as_good_as_its_worst_comparison(verdicts, whole):
    claims = [dataclasses.replace(_verdict(), verdict=verdict) for verdict in verdicts]
    assert verdict_of(claims) == whole


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.1, "by experiment"), (float("nan"), "not converged")]
)
def test_a_measurement_without_theory_is_by_experiment(value, verdict):
    point = dataclasses.replace(MEASURED, value=value, group="reuse")
    claim = observed("reuse", point, where="one place")
    assert (claim.measured, claim.engine, claim.group) == (
        pytest.approx(value, nan_ok=True),
        "reduced",
        "reuse",
    )
    assert claim.verdict == verdict
