"""Sweeps of a model that is registered from outside the package."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import pytest

from sparsetoken import predict, simulate
from sparsetoken.base.parameters import parameter, value
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss
from sparsetoken.model import models
from sparsetoken.model.architectures.weights import softmax_weights
from sparsetoken.model.models import ModelEntry, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.sweep import Grid, compute, run, to_frame

COSINES = [0.2, 0.9]
FIXED = {"sharpness": 1.0, "length": 4, "dimension": 12, "tolerance": 1e-2}
PROBLEM = SparseTokenProblem(4)


def magnified():
    """Return an entry whose classes and functions belong to no module that a worker can import."""

    @dataclasses.dataclass(frozen=True)
    class Magnified(models.QueriedModel):
        """Attention whose sharpness is multiplied by a factor."""

        name = "magnified"
        query: Query | TwoSteps = TwoSteps()
        factor: float = 2.0

        def weights(self, scores):
            return softmax_weights(self.factor * scores)

    return ModelEntry(Magnified)


@pytest.fixture
def entry(monkeypatch):
    monkeypatch.setattr(models, "MODELS", models.MODELS)
    models.register(entry := magnified())
    yield entry
    del models.MODELS[entry.name]


def errors(path, grid, executor=None):
    assert run(grid, path, executor).failed == 0
    table = to_frame(path)
    return table[table["quantity"] == grid.quantities[0]]["test_error"].tolist()


def grid(axes, quantities=("theory",), **fixed):
    given = {"model": "magnified", **FIXED, **fixed}
    return Grid("learning", axes, given, quantities=quantities)


def predicted(entry, query, **options):
    model = make_model(entry.name, query, **options)
    return predict(PROBLEM, model, Readout(), tolerance=1e-2).test_error


def test_its_query_is_swept(entry, tmp_path):
    found = errors(tmp_path / "s.zarr", grid({"cosine": COSINES}))
    assert found == [predicted(entry, Query(cosine, 1.0)) for cosine in COSINES]
    assert found[0] > found[1] + 0.01


def test_its_fields_are_parameters_with_their_own_defaults(entry, tmp_path):
    found = errors(tmp_path / "s.zarr", grid({"factor": [0.5, 2], "cosine": COSINES}))
    queries = [Query(cosine, 1.0) for cosine in COSINES]
    assert found == [predicted(entry, q, factor=f) for f in (0.5, 2.0) for q in queries]
    # without the factor it has its default, the value 2
    assert errors(tmp_path / "default", grid({"cosine": [0.9]})) == found[3:]
    assert set(to_frame(tmp_path / "s.zarr")["factor"]) == {0.5, 2.0}


def test_simulations_are_those_of_simulate(entry, tmp_path):
    found = errors(tmp_path / "s.zarr", grid({"cosine": COSINES}, quantities=("simulation",)))
    expected = [
        simulate(PROBLEM, make_model(entry.name, Query(s, 1.0)), Readout(), dimension=12, trials=1)
        for s in COSINES
    ]
    assert found == [one.mean.test_error for one in expected]


def test_worker_processes_need_not_know_it_nor_a_loss(entry, tmp_path, pool):
    own = CustomLoss("own", lambda y, z: jnp.logaddexp(0.0, 8.0 * (1.0 - y * z)) / 8.0)
    sweep = grid({"cosine": COSINES}, quantities=("theory", "simulation"), loss=own)
    expected = errors(tmp_path / "here", sweep)
    assert errors(tmp_path / "there", sweep, pool) == expected


def test_a_model_of_another_version_shares_no_results(entry, tmp_path, monkeypatch):
    tried = compute._tried
    errors(tmp_path / "s.zarr", grid({"cosine": COSINES}))
    models.MODELS[entry.name] = dataclasses.replace(entry, version=2)
    calls = []
    monkeypatch.setattr(compute, "_tried", lambda *given: calls.extend(given[0]) or tried(*given))
    errors(tmp_path / "s.zarr", grid({"cosine": COSINES}))
    assert len(calls) == 2


@pytest.mark.parametrize("name", ["seed", "theory_status"])
def test_a_field_with_a_name_of_the_store_is_refused(entry, name, tmp_path):
    kind = dataclasses.make_dataclass("Kind", [(name, int, 1)], bases=(entry.kind,), frozen=True)
    models.register(dataclasses.replace(entry, kind=kind))
    with pytest.raises(InvalidInput, match=f"without this field; got '{name}'"):
        run(grid({name: [1, 2]}), tmp_path / "s")


def test_a_model_that_is_not_registered_is_refused():
    with pytest.raises(InvalidInput) as caught:
        grid({"cosine": COSINES})
    assert caught.value.args[0] == "fixed.model"


def test_words_that_stand_for_something_have_results_of_their_own(entry, tmp_path):
    factors = {"soft": (0.5,), "sharp": (2.0,)}

    @value
    class Named(entry.kind):
        """Attention with a word for its factor."""

        factor: Any = parameter(
            "its factor", default="soft", choices=tuple(factors), find=lambda g: factors.get(g, g)
        )

        def weights(self, scores):
            return softmax_weights(self.factor[0] * scores)

    models.register(dataclasses.replace(entry, kind=Named))
    found = errors(tmp_path / "s", grid({"factor": list(factors)}, cosine=0.9))
    query = Query(0.9, 1.0)
    assert found == [predicted(entry, query, factor=word) for word in factors]
    assert found[0] > found[1] + 0.002


def test_a_field_with_the_name_of_a_parameter_of_all_models_is_refused_there_alone(entry, tmp_path):
    before = errors(tmp_path / "before", grid({"cosine": [0.9]}, model="attention"))
    kind = dataclasses.make_dataclass(
        "Kind", [("strength", float, 1.0)], bases=(entry.kind,), frozen=True
    )
    models.register(dataclasses.replace(entry, kind=kind))
    with pytest.raises(InvalidInput, match="without this field; got 'strength'"):
        run(grid({"cosine": [0.9]}), tmp_path / "s")
    assert errors(tmp_path / "after", grid({"cosine": [0.9]}, model="attention")) == before
