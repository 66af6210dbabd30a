"""What can be moved on the page is what the library takes."""

import itertools
import re

import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.explorer import PARAMETERS, Settings
from sparsetoken.explorer.page import LOOK, STATIC
from sparsetoken.explorer.settings import PRESETS, SPARSE_TOKEN, controls
from sparsetoken.figures.style import COLOURS
from sparsetoken.model.models import MODELS


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
def test_every_end_of_every_slider_makes_legal_values(parameter):
    ends = parameter.choices or (parameter.range.least, parameter.range.most)
    for end, query in itertools.product(ends, ("two_steps", "given")):
        values = {"length": 20} if parameter.name == "informative" else {}
        value = int(end) if parameter.whole else end
        settings = Settings({**values, "query": query, parameter.name: value})
        assert settings.problem().length == settings["length"]
        assert settings.model("attention").query == settings.query()
        assert settings.readout(2.0).ridge == settings["ridge"]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
def test_values_outside_are_refused_with_the_legal_ones(parameter):
    wrong = ["nothing", None, True, [1.0]]
    if not parameter.choices:
        step = 1 if parameter.whole else 1e-9
        wrong += [
            parameter.range.least - step,
            parameter.range.most + step,
            float("nan"),
            float("inf"),
        ]
    for value in wrong:
        with pytest.raises(InvalidInput, match=parameter.name):
            Settings({parameter.name: value})


def test_an_unknown_name_and_more_informative_tokens_than_tokens_are_refused():
    with pytest.raises(InvalidInput, match="name of a parameter"):
        Settings({"strenght": 1.0})
    with pytest.raises(InvalidInput, match="at most L = 2"):
        Settings({"length": 2, "informative": 3})


def test_an_effect_of_bags_is_a_covariance_of_the_stated_size():
    tokens = Settings({"bag_effect": 2.0, "spectrum": 0.5}).problem().tokens
    assert tokens.within.mean() == pytest.approx(1)
    assert tokens.between == pytest.approx(2 * tokens.within)
    assert not Settings({"bag_effect": 2.0}).isotropic
    assert Settings({}).isotropic


def test_the_page_has_words_for_each_task_and_no_letters_spelt_out():
    state = (STATIC / "state.js").read_text(encoding="utf-8")
    for task in next(p for p in PARAMETERS if p.name == "task").choices:
        assert f"  {task}: {{ words: " in state or task == SPARSE_TOKEN
    helps = {each["name"]: each["help"] for each in controls()}
    assert helps["cosine"] == "Cosine of query and signal, ⟨q, ξ⟩ / |q|."
    for text in helps.values():
        assert not re.search(r"\b(lambda|beta|xi|D[01]|inf)\b|\^", text)


def test_presets_are_legal_and_models_look_as_in_the_figures():
    for preset in PRESETS:
        Settings(preset["settings"])
    assert set(LOOK) - {"bayes"} <= set(MODELS)
    for name in set(LOOK) & set(COLOURS):
        assert LOOK[name][1] == COLOURS[name]
