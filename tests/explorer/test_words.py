"""Sentences of the library, as a class reads them."""

import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.explorer import Settings
from sparsetoken.explorer.views import query
from sparsetoken.explorer.words import refusal, worded


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"positive_rate": 0.06, "informative": 3, "strength": 2.0, "alpha0": 2.0},
            "a larger $η_b$ (step size of the bias), $π$ (rate of positives) or strength can turn "
            "it back.",
        ),
        (
            {"eta_q": 0.1},
            "Raise $η_q$ (step size of the query) or $β$ (inverse temperature of the softmax).",
        ),
    ],
)
def test_advice_names_what_the_sliders_name(values, told):
    (advice,) = next(query(Settings(values)))["advice"]
    assert advice.endswith(told)


def test_words_of_english_and_parts_of_names_stay():
    assert worded("Raise the sharpness, not my_beta or betas.").endswith("my_beta or betas.")
    assert worded("Try squared_hinge.") == "Try squared hinge."


def test_a_refusal_shows_numbers_and_words_but_no_objects():
    error = InvalidInput("tokens", "isotropic", st.model.Isotropic(), "Lower eta_w.")
    assert refusal(error) == "tokens must be isotropic. Lower $η_w$ (step size of the readout)."
    assert refusal(InvalidInput("loss", "smooth", "hinge")) == "loss must be smooth; got 'hinge'."
