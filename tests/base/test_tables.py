"""Tables of results as text and in a notebook."""

import math

import pytest

import sparsetoken as st
from sparsetoken.base.tables import Shown, html, text

PROBLEM = st.SparseTokenProblem(length=8, informative=1, strength=5.0)


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([], ["no points"]),
        (
            [{"test_error": 0.25, "n": 3, "message": ""}],
            ["test error  0.2500", "n                3"],
        ),
        (
            [{"auc": 0.75, "auc_se": 0.5}],
            ["     value  error", "auc   0.75   0.50"],
        ),
        (  # an error far below the digits shown
            [{"auc": 0.75, "auc_se": 2.3e-12}],
            ["      value    error", "auc  0.7500  2.3e-12"],
        ),
        (  # exact numbers beside others
            [{"auc": 0.75, "auc_se": 0.0, "bias": -2.0, "bias_se": 0.031}],
            ["       value  error", "auc   0.7500      0", "bias  -2.000  0.031"],
        ),
        (  # an empty column is left out, and numbers have as many decimals as their errors need
            [
                {"n": 1, "auc": 0.51234, "message": "", "auc_se": 0.0213},
                {"n": 20, "auc": 0.75, "message": "", "auc_se": 0.0013},
            ],
            [" n            auc", " 1  0.512 \xb1 0.021", "20  0.750 \xb1 0.001"],
        ),
        (  # unknown errors, numbers without error and numbers without value
            [
                {"n": 1, "auc": 0.51234, "auc_se": math.nan, "bias": 2.0, "bias_se": 0.0},
                {"n": 2, "auc": math.nan, "auc_se": 0.02, "bias": math.inf, "bias_se": 0.0},
            ],
            ["n    auc   bias", "1  0.512  2.000", "2      -    inf"],
        ),
    ],
)
def test_a_table_of_rows(rows, lines):
    assert text(rows).splitlines() == lines


def test_a_wide_table_goes_on_below_with_the_columns_that_tell_rows_apart():
    rows = [
        {"a": i // 2, "b": i % 2} | {f"c{k}": float(k + i) for k in range(30)} for i in range(4)
    ]
    parts = [part.splitlines() for part in text(rows, ["advice"]).split("\n\n")]
    assert [part[0].split()[:2] for part in parts] == [["a", "b"]] * len(parts)
    assert sum(len(part[0].split()) - 2 for part in parts) == 30
    assert all(len(line) <= 110 for part in parts for line in part)
    assert parts[-1][-1] == "advice"
    assert html(rows, ["advice"]).count("<tr>") == 5


def test_what_all_rows_of_a_wide_table_share_is_a_line():
    rows = [{"a": i, "n": 2} | {f"c{k}": float(k + i) for k in range(30)} for i in range(4)]
    for one in rows:
        one["status"] = "converged"
    *_, last, advice = text(rows, ["advice"]).splitlines()
    assert (last, advice) == ("In all rows: n 2, status converged.", "advice")
    narrow = [{name: one[name] for name in ("a", "n", "c0")} for one in rows]
    assert text(narrow).splitlines()[0].split() == ["a", "n", "c0"]
    assert "In all rows" not in text([rows[0] | {"a": 0}] * 2)  # no two rows differ


def _forecast():
    bags = [[[0.2 * (i % 2) + math.sin(i)]] for i in range(20)]
    return st.forecast(bags, [i % 2 for i in range(20)], progress=False)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: st.oracle.bayes_error(PROBLEM), ["test error", "numerical error", "converged"]),
        (
            lambda: st.oracle.best_error(PROBLEM, st.Pooled()),
            ["test error", "threshold", "positions", "converged"],
        ),
        (
            lambda: st.oracle.critical_strength(st.Pooled(), 8, error_level=0.1),
            ["strength", "numerical error", "converged"],
        ),
        (
            _forecast,
            ["cross-validated", "forecast", "attention", "status", "use", "of their variance"],
        ),
    ],
)
@pytest.mark.usefixtures("few_fits")
def test_results_are_shown_as_tables_in_words(make, words):
    found = make()
    assert isinstance(found, Shown)
    for word in words:
        assert word in repr(found)
        assert word in found._repr_html_()
    assert str(found) == repr(found)
