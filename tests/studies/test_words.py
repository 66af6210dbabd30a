"""Numbers, formulas and comparisons as a reader sees them."""

import dataclasses
import math
import re

import pytest

from sparsetoken.studies.catalogue import STUDIES
from sparsetoken.studies.compare import NO_SHIFT, Number, Shift, all_true, compare, within
from sparsetoken.studies.words import (
    FILTERS,
    expected_text,
    found_text,
    listed,
    maths,
    number,
    paragraphs,
    pm,
    shifted,
    subject,
)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.12345, 4, "0.1235"),
        (-0.5, 2, "−0.50"),
        (0.000147, 4, "1.5·10⁻⁴"),
        (-4.8e-14, 4, "−4.8·10⁻¹⁴"),
        (-0.01, 1, "0.0"),
        (0.0, 4, "0.0000"),
        (2.5e7, 4, "2.5·10⁷"),
        (math.nan, 4, "–"),
        (math.inf, 4, "∞"),
        (-math.inf, 4, "−∞"),
    ],
)
def test_numbers_in_the_table(value, digits, text):
    assert number(value, digits) == text


def test_shares_in_the_table():
    assert [FILTERS["percent"](share) for share in (0.01234, math.nan)] == ["1.2 %", "–"]


def test_numbers_in_a_sentence():
    assert listed((0.5, 1.0, 1000)) == "0.5, 1, 1000"
    assert listed((0.5, 1.0), ".2f") == "0.50, 1.00"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("η_q > max_iterations", "η<sub>q</sub> &gt; max_iterations"),
        (
            "α*_{pool}, d^{−1/2}, d^2",
            "α*<sub>pool</sub>, d<sup>−1/2</sup>, d<sup>2</sup>",
        ),
        ("from -1.5 to -2, d^{-1/2}", "from −1.5 to −2, d<sup>−1/2</sup>"),
        ("arXiv 2509-25153, n-1, sub-0", "arXiv 2509-25153, n-1, sub-0"),
        ("<i>_{<i>}", "&lt;i&gt;<sub>&lt;i&gt;</sub>"),
    ],
)
def test_formulas_on_the_page(text, html):
    assert maths(text) == html


def test_a_blank_line_is_between_two_paragraphs():
    text = "\nα_q is\n-1.\n\n\n\nIt is <i>.\n\n"
    assert paragraphs(text) == "<p>α<sub>q</sub> is\n−1.</p>\n<p>It is &lt;i&gt;.</p>"


@pytest.mark.parametrize(
    ("error", "text"),
    [(0.002, "0.043 ± 0.002"), (0.00004, "0.04321 ± 0.00004"), (0.0, "0.043 ± 0.000")],
)
def test_an_error_that_is_not_0_is_never_written_as_0(error, text):
    measured = Number(0.04321, error)
    assert (pm(measured, 3), pm(measured, 3, "+")) == (text, f"+{text}")
    assert pm(measured.times(-1), 3) == f"−{text}"


@pytest.mark.parametrize(
    ("scale", "text"), [(1.0, "−0.0200 ± 0.0340"), (1e-13, "−2.0·10⁻¹⁵ ± 3.4·10⁻¹⁵")]
)
def test_a_shift_that_is_not_0_is_never_written_as_0(scale, text):
    measured = Number(scale, scale, "reduced", 100, 8)
    given = ("one", "test_error", Number(scale), measured)
    assert shifted(compare(*given, shift=Shift(-2.0, 0.0, 3.4))) == text
    assert shifted(compare(*given, shift=NO_SHIFT)) == "–"
    assert shifted(compare(*given, shift=NO_SHIFT, bound=0.01)) == "≤ 0.0100"


def test_what_was_compared_is_said_where_digits_are_the_same():
    order = all_true("one", "order", [True] * 11 + [False], [])
    assert (expected_text(order), found_text(order)) == ("all 12", "11 of 12")
    near = within("one", "slope", Number(1 + 4e-9), 1.0, 1e-3)
    assert (expected_text(near), found_text(near)) == ("1.0000", "off by 4.0·10⁻⁹")
    same = dataclasses.replace(near, measured=1.0)
    assert found_text(same) == "the same"
    assert found_text(dataclasses.replace(same, standard_error=0.1)) == "1.0000"
    off = dataclasses.replace(near, measured=1.001)
    assert found_text(off) == "1.0010"


@pytest.mark.parametrize(
    ("quantity", "curve", "html"),
    [
        ("readout_cosine", "", "cos(w₁, ξ)"),
        ("training_error", "", "training error"),
        ("test_error", "<i>_2", "&lt;i&gt;<sub>2</sub>: test error"),
        ("auc", "gated_α_q", "gated_α<sub>q</sub>: AUC"),
    ],
)
def test_the_subject_of_a_comparison_is_in_words_of_readers(quantity, curve, html):
    comparison = within("one", quantity, Number(1.0), 1.0, 0.1, curve=curve)
    assert subject(comparison) == html


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_a_study_is_told_without_code_or_tex(study):
    texts = [study.title, study.caption, study.paper, study.setting(study.sizes["quick"])]
    for text in texts + [claim.text for claim in study.claims]:
        assert not re.search(r"[`$\\]|vectorized|sqrt", text)
        assert not re.search(r"[\^{}]", maths(text))  # each exponent and index has become one
