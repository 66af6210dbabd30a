"""Parameters are declared once: ranges, letters, docstrings and the page on notation follow."""

import dataclasses
import inspect
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from sparsetoken.base.parameters import REQUIRED, Log, Range, parameter, parameters_of, value
from sparsetoken.base.validation import InvalidInput
from sparsetoken.explorer.settings import controls
from sparsetoken.losses import get_loss
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Attention, Elementwise, HardAttention
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import LOSSES, Query, Readout, TwoSteps

STAGES = (SparseTokenProblem, TwoSteps, Descent, Readout, Query)
CLASSES = (*STAGES, Attention, HardAttention, Elementwise)
DECLARED = [(kind, one) for kind in CLASSES for one in parameters_of(kind).values()]
NUMBERS = [(kind, one) for kind, one in DECLARED if one.number is not None]


def named(found):
    return found.name if hasattr(found, "name") else found.__name__


def outside(declared):
    """Return values just outside the range, and what is no number."""
    least, above, most, below, infinite = declared.range
    step = 1 if declared.whole else 1e-6
    ends = [least - step if least is not None else above, most and most * 2, below]
    others = [math.nan, "1", True, 10**400, 10**5000, *[2.5] * declared.whole]
    return [*(end for end in ends if end is not None), *others, *[math.inf] * (not infinite)]


@pytest.mark.parametrize(("kind", "declared"), NUMBERS, ids=named)
def test_what_is_outside_is_refused_with_range_and_remedy(kind, declared):
    for wrong in outside(declared):
        with pytest.raises(InvalidInput) as caught:
            declared.checked(wrong)
        name, legal, got, remedy = caught.value.args
        assert name.startswith(declared.name)
        assert declared.legal in legal
        assert got is wrong
        assert declared.remedy in remedy
        with pytest.raises(InvalidInput, match=declared.name):
            dataclasses.replace(made(kind), **{declared.name: wrong})


@pytest.mark.parametrize(("kind", "declared"), DECLARED, ids=named)
def test_every_parameter_has_help_and_a_place_in_the_docstring(kind, declared):
    assert declared.help
    assert not declared.help.endswith(".")
    assert not declared.label.endswith(" ")
    assert declared.symbol or not declared.slider
    text = inspect.getdoc(kind)
    assert text.count("\nParameters\n----------\n") == 1
    assert f"\n{declared.name} : {declared.kind_and_range}\n" in text
    assert text.index("Parameters\n--") < text.index("Examples\n--")
    if declared.default is not REQUIRED:
        assert declared.checked(declared.default) == declared.default
    if declared.slider and declared.number is not None:
        for end in map(declared.number, declared.slider):
            assert declared.checked(end) == end


REQUIRED_FIELDS = {"direction": [1.0], "cosine": 0.5, "sharpness": 1.0}


def made(kind):
    names = parameters_of(kind).keys() & REQUIRED_FIELDS
    return kind(**{name: REQUIRED_FIELDS[name] for name in names})


@pytest.mark.parametrize("kind", CLASSES, ids=named)
def test_values_are_frozen_equal_by_what_they_hold_and_travel(kind):
    one, same = made(kind), made(kind)
    assert one == same == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(same)
    assert all(one != made(other) for other in CLASSES if other is not kind)
    for name, declared in parameters_of(kind).items():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, name, getattr(one, name))
        if declared.slider and declared.number:
            low, high = declared.slider
            numbers = map(declared.number, (low, (low + high) / 3))
            changed = {dataclasses.replace(one, **{name: number}) for number in numbers}
            assert len(changed) == 2


def test_letters_have_three_forms():
    strength, alpha0 = (
        parameters_of(SparseTokenProblem)["strength"],
        parameters_of(TwoSteps)["alpha0"],
    )
    assert (strength.letter, strength.symbol) == (r"\theta", "θ")
    assert (alpha0.symbol, alpha0.equation) == ("α₀", "α₀ = n₀/d")
    assert (strength.title, alpha0.title) == ("strength (theta)", "alpha0 (n0/d)")
    assert parameters_of(TwoSteps)["eta_w"].title == "eta_w"
    assert strength.axis_label == r"signal strength $\theta$"
    assert parameters_of(TwoSteps)["eta_b"].axis_label == r"step size of the bias $\eta_b$"


def test_a_class_of_ones_own_is_checked_and_documented():
    @value
    class Drawn:
        """A sample."""

        size: int = parameter("samples", "n", default=3, whole=True, range=Range(least=1))
        rate: float = parameter("rate of learning", default=0.5, slider=Log(0.1, 1.0))

        def _check_together(self):
            if self.rate > self.size:
                raise InvalidInput("rate", "at most size", self.rate)

    assert Drawn() == Drawn(3, 0.5)
    assert Drawn(rate=1) == Drawn(rate=np.float64(1.0))
    assert inspect.getdoc(Drawn).startswith(
        "A sample.\n\nParameters\n----------\nsize : int >= 1\n"
    )
    with pytest.raises(InvalidInput, match=r"size \(n\) must be an integer >= 1"):
        Drawn(0)
    with pytest.raises(InvalidInput, match="at most size"):
        Drawn(1, 2.0)


def test_words_are_those_of_what_they_stand_for():
    for word in LOSSES:
        assert get_loss(word).name == word == Readout(word).loss.name
    with pytest.raises(InvalidInput, match=r"logistic.*square.*A custom loss"):
        Readout("absolute")


def test_the_page_has_a_control_for_each_slider_it_shows():
    keys = "name label symbol default low high group log whole choices help"
    assert {" ".join(control) for control in controls()} == {keys}


def row(owner, one):
    meaning = one.help.partition(". ")[0].replace("|", r"\|")
    legal = one.legal.removeprefix("a finite number in ")
    return f"| ${one.letter}$ | `{owner}.{one.name}` | {meaning} | {legal} |"


def test_the_page_on_notation_holds_the_declarations():
    page = Path(__file__).parents[2].joinpath("docs", "notation.md").read_text(encoding="utf-8")
    kinds = (*STAGES, Elementwise)
    rows = [row(kind.__name__, one) for kind, one in DECLARED if kind in kinds and one.letter]
    assert [row for row in rows if row not in page] == []
