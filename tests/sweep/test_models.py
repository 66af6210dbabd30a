"""Sweeps of a model that is registered from outside the package."""

import dataclasses

import pytest

from sparsetoken import predict, simulate
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model import models
from sparsetoken.model.architectures.weights import softmax_weights
from sparsetoken.model.models import ModelEntry, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.sweep import Grid, linear, listed, run, to_frame
from sparsetoken.sweep.compute import check_points
from sparsetoken.work import WorkerPool

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
    check_points(grid)
    assert run(grid, path, executor).failed == 0
    table = to_frame(path)
    return table[table["quantity"] == grid.quantities[0]]["test_error"].tolist()


def grid(*axes, quantities=("theory",), **fixed):
    given = {"model": "magnified", **FIXED, **fixed}
    return Grid("learning", axes, given, quantities=quantities)


def predicted(entry, query, **options):
    model = make_model(entry.name, query, **options)
    return predict(PROBLEM, model, Readout(), tolerance=1e-2).test_error


def test_its_query_is_swept(entry, tmp_path):
    found = errors(tmp_path / "s.zarr", grid(listed("cosine", COSINES)))
    assert found == [predicted(entry, Query(cosine, 1.0)) for cosine in COSINES]
    assert found[0] > found[1] + 0.01


def test_its_fields_are_parameters_with_their_own_defaults(entry, tmp_path):
    found = errors(
        tmp_path / "s.zarr", grid(listed("factor", [0.5, 2]), linear("cosine", 0.2, 0.9, 2))
    )
    queries = [Query(cosine, 1.0) for cosine in COSINES]
    assert found == [predicted(entry, q, factor=f) for f in (0.5, 2.0) for q in queries]
    # without the factor it has its default, the value 2
    assert errors(tmp_path / "default", grid(listed("cosine", [0.9]))) == found[3:]
    assert set(to_frame(tmp_path / "s.zarr")["factor"]) == {0.5, 2.0}


def test_simulations_are_those_of_simulate(entry, tmp_path):
    found = errors(tmp_path / "s.zarr", grid(listed("cosine", COSINES), quantities=("simulation",)))
    expected = [
        simulate(PROBLEM, make_model(entry.name, Query(s, 1.0)), Readout(), dimension=12, trials=1)
        for s in COSINES
    ]
    assert found == [one.mean.test_error for one in expected]


def test_worker_processes_need_not_know_it(entry, tmp_path):
    sweep = grid(listed("cosine", COSINES), quantities=("theory", "simulation"))
    expected = errors(tmp_path / "here", sweep)
    with WorkerPool(1) as pool:
        assert errors(tmp_path / "there", sweep, pool) == expected


def test_a_model_of_another_version_shares_no_results(entry, tmp_path):
    errors(tmp_path / "s.zarr", grid(listed("cosine", COSINES)))
    models.MODELS[entry.name] = dataclasses.replace(entry, version=2)
    with pytest.raises(InvalidInput, match="versions must be that of the store"):
        errors(tmp_path / "s.zarr", grid(listed("cosine", COSINES)))


@pytest.mark.parametrize("name", ["seed", "theory_status"])
def test_a_field_with_a_name_of_the_store_is_refused(entry, name):
    kind = dataclasses.make_dataclass("Kind", [(name, int, 1)], bases=(entry.kind,), frozen=True)
    models.register(dataclasses.replace(entry, kind=kind))
    with pytest.raises(InvalidInput, match=f"without this field; got '{name}'"):
        grid(listed(name, [1, 2]))


def test_a_model_that_is_not_registered_is_refused():
    with pytest.raises(InvalidInput) as caught:
        grid(listed("cosine", COSINES))
    assert caught.value.args[0] == "fixed.model"
