"""Models as values, and classes of one's own."""

import dataclasses

import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import (
    Attention,
    Elementwise,
    HardAttention,
    Model,
    Pooled,
    QueriedModel,
    Vectorized,
    make_model,
    require_model,
)
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.model.tokens import Isotropic, TokenCovariance
from sparsetoken.simulation import simulate
from sparsetoken.theory import capacity, predict

QUERY = Query(0.3, 2.0)


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
        (lambda: require_model("attention"), "model"),
        (lambda: require_model(Attention), "model"),
        (lambda: require_model(None), "model"),
        (lambda: predict(SparseTokenProblem(), "attention"), "model"),
    ],
)
def test_bad_models_are_refused(make, word):
    with pytest.raises(InvalidInput, match=word):
        make()


@dataclasses.dataclass(frozen=True)
class Features(Model):
    """A model without a query that is neither pooled nor vectorized."""


def test_a_model_without_a_query_is_one_of_the_package():
    for run in (predict, capacity, simulate):
        with pytest.raises(InvalidInput, match=r"your own from st\.model\.QueriedModel"):
            run(SparseTokenProblem(), Features())


@pytest.mark.parametrize("kind", [Pooled, Vectorized, Attention, HardAttention])
@pytest.mark.parametrize("law", [Isotropic(), TokenCovariance([1.0, 2.0, 3.0], signal=[1, 0, 0])])
def test_a_subclass_has_the_features_of_its_parent(kind, law):
    other = dataclasses.make_dataclass("Other", [], bases=(kind,), frozen=True)
    given = [QUERY] if issubclass(kind, QueriedModel) else []
    problem, readout = SparseTokenProblem(3, 1, 2.0, tokens=law), Readout(alpha1=2.0)
    for run in (
        lambda model: predict(problem, model, readout, tolerance=0.05),
        lambda model: capacity(problem, model, tolerance=0.05),
        lambda model: simulate(problem, model, readout, dimension=3, trials=2).mean,
    ):
        assert run(other(*given)) == run(kind(*given))


def test_the_weights_of_vectorized_belong_to_positions():
    short, long = SparseTokenProblem(4), SparseTokenProblem(5)
    with pytest.raises(InvalidInput, match="length"):
        Vectorized().check_test_problem(short, long)
    for model in (Vectorized(), Pooled()):
        model.check_test_problem(short, dataclasses.replace(short, strength=1.0))
    Pooled().check_test_problem(short, long)


def test_results_of_a_model_from_outside_are_kept_by_its_version(tmp_path):
    kind = dataclasses.make_dataclass("Own", [], bases=(Attention,), frozen=True)

    def kept():
        predict(SparseTokenProblem(3, 1, 2.0), kind(QUERY), tolerance=0.05, keep=tmp_path)
        return len([*tmp_path.iterdir()])

    with pytest.raises(InvalidInput, match=r"given a version; got '.*Own'"):
        kept()
    kind.version = "1"
    assert (kept(), kept()) == (1, 1)
    kind.version = "2"
    assert kept() == 2
