"""Models as values, and the table of what is needed of each."""

import dataclasses
from typing import ClassVar

import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import (
    MODELS,
    Attention,
    Elementwise,
    HardAttention,
    Model,
    ModelEntry,
    Pooled,
    QueriedModel,
    Vectorized,
    entry_of,
    make_model,
    register,
)
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, TwoSteps
from sparsetoken.simulation.features import FeatureSampler, sampler_of
from sparsetoken.theory import predict

QUERY = Query(0.3, 2.0)


@pytest.mark.parametrize("name", MODELS)
def test_a_row_of_the_table_gives_all_that_it_names(name):
    entry = MODELS[name]
    assert entry.name == name == entry.kind.name
    model = make_model(name)
    assert type(model) is entry.kind
    assert entry_of(model) is entry
    law = entry.resolve("theory")
    assert callable(law) or (law is None and entry.has_query)
    assert isinstance(sampler_of(model, SparseTokenProblem()), FeatureSampler)
    assert entry.summary
    if entry.estimator:
        assert entry.estimator.startswith("sparsetoken.estimators:")
    assert entry.has_query == (model.query is not None) == isinstance(model, QueriedModel)


def test_options_are_the_fields_beside_the_query():
    assert MODELS["elementwise"].options == ("activation",)
    for name in ("attention", "hard_attention", "pooled", "vectorized"):
        assert MODELS[name].options == ()


def test_what_a_model_does_not_have_plays_no_part():
    assert make_model("pooled", QUERY, activation="relu") == Pooled()
    assert make_model("attention", QUERY, activation="relu") == Attention(QUERY)
    assert make_model("elementwise", QUERY, activation="relu") == Elementwise(QUERY, "relu")
    assert make_model("hard_attention") == HardAttention(TwoSteps())


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: make_model("transformer"), "model"),
        (lambda: make_model("elementwise", activaton="relu"), "activation"),
        (lambda: make_model("elementwise", activation="gelu"), "activation"),
        (lambda: Elementwise(activation="swish"), "activation"),
        (lambda: Attention(0.9), "query"),
        (lambda: Attention("attention"), "query"),
        (lambda: HardAttention(None), "query"),
        (lambda: entry_of("attention"), "model"),
        (lambda: entry_of(Attention), "model"),
        (lambda: entry_of(None), "model"),
        (lambda: predict(SparseTokenProblem(), "attention"), "model"),
    ],
)
def test_bad_models_are_refused(make, word):
    with pytest.raises(InvalidInput, match=word):
        make()


@pytest.fixture
def _own_table():
    """The table as it was, after the test."""
    before = dict(MODELS)
    yield
    MODELS.clear()
    MODELS.update(before)


def _entry(kind: type[Model]) -> ModelEntry:
    row = MODELS["pooled"]
    return ModelEntry(kind, theory=row.theory, simulation=row.simulation)


def _another(word: str) -> type[Model]:
    @dataclasses.dataclass(frozen=True)
    class Another(Model):
        name: ClassVar[str] = word

    return Another


def test_a_subclass_without_a_row_of_its_own_is_refused():
    @dataclasses.dataclass(frozen=True)
    class Quiet(Attention):
        """It has the name of another model, but not its features."""

    with pytest.raises(InvalidInput, match="register your own model"):
        predict(SparseTokenProblem(), Quiet(QUERY))


@pytest.mark.usefixtures("_own_table")
def test_a_model_from_outside_has_a_name_of_its_own():
    kind = _another("another")
    register(_entry(kind))
    assert entry_of(kind()).kind is kind
    assert make_model("another") == kind()
    with pytest.raises(InvalidInput, match="no other model"):
        register(_entry(_another("attention")))


@pytest.mark.usefixtures("_own_table")
def test_a_cell_that_defines_a_model_can_run_again():
    first, second = _another("another"), _another("another")
    register(_entry(first))
    register(_entry(second))
    assert entry_of(second()).kind is second
    with pytest.raises(InvalidInput, match="register"):
        entry_of(first())


def test_the_weights_of_vectorized_belong_to_positions():
    short, long = SparseTokenProblem(4), SparseTokenProblem(5)
    with pytest.raises(InvalidInput, match="length"):
        Vectorized().check_test_problem(short, long)
    for model in (Vectorized(), Pooled()):
        model.check_test_problem(short, dataclasses.replace(short, strength=1.0))
    Pooled().check_test_problem(short, long)


@pytest.mark.usefixtures("_own_table")
def test_results_of_a_model_from_outside_are_kept_by_its_version_law_and_sampler(tmp_path):
    kind = _another("another")
    register(_entry(kind))

    def kept():
        predict(SparseTokenProblem(), kind(), keep=tmp_path)
        return len([*tmp_path.iterdir()])

    with pytest.raises(InvalidInput, match=r"given a version; got '.*Another'"):
        kept()
    kind.version = "1"
    assert (kept(), kept()) == (1, 1)
    kind.version = "2"
    assert kept() == 2
    law = entry_of(kind()).resolve("theory")
    register(dataclasses.replace(entry_of(kind()), theory=lambda *given: law(*given)))
    assert kept() == 3
