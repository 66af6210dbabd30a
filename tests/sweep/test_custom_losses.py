"""Sweeps with losses of one's own: never another loss's numbers, in any process."""

import jax.numpy as jnp
import pytest

from sparsetoken import Pooled, Readout, SparseTokenProblem, predict
from sparsetoken.losses import CustomLoss, SquareLoss
from sparsetoken.sweep import (
    Grid,
    GridPlan,
    Store,
    WorkerPool,
    listed,
    run,
    summaries,
    to_pandas,
)
from sparsetoken.validation import InvalidInput

FIXED = {"model": "pooled", "length": 4, "ridge": 0.1, "tolerance": 1e-2, "dimension": 20}


def own(scale):
    """Return one of many losses of one name."""
    return CustomLoss("own", lambda y, z: jnp.logaddexp(0.0, scale * (1.0 - y * z)) / scale)


def grid(*losses, quantities=("theory",)):
    return Grid("learning", [listed("loss", list(losses))], FIXED, quantities=quantities)


def errors(path, plan, executor=None):
    """Run a sweep and return the test errors of its points."""
    with Store(path) as store:
        run(store, plan, executor)
        assert store.counts().failed == 0
        return [found.values["test_error"] for found in summaries(store)]


def predicted(loss):
    readout = Readout(loss, ridge=0.1)
    return predict(SparseTokenProblem(4), Pooled(), readout, tolerance=1e-2).test_error


def test_a_loss_that_is_defined_again_is_another_loss(tmp_path):
    first, second = own(0.5), own(8.0)
    found = [errors(tmp_path / "s.sqlite", GridPlan(grid(loss))) for loss in (first, second)]
    assert found == [[predicted(first)], [predicted(second)]]
    assert found[0] != found[1]
    with Store(tmp_path / "s.sqlite", write=False) as store:
        assert store.counts().done == 2  # a row of one loss is not reused for the other
        assert set(to_pandas(store)["loss"]) == {first.label, second.label}


def test_a_loss_of_equal_content_shares_its_rows(tmp_path):
    for _ in range(2):
        errors(tmp_path / "s.sqlite", GridPlan(grid(own(8.0), "square")))
    with Store(tmp_path / "s.sqlite", write=False) as store:
        assert store.counts().total == 2


def test_built_in_losses_may_be_objects_or_names():
    assert grid(SquareLoss()) == grid("square")
    assert grid(own(8.0)) == grid(own(8.0)) != grid(own(0.5))


def test_worker_processes_compute_the_same(tmp_path):
    plan = GridPlan(grid(own(0.5), own(8.0), quantities=("theory", "simulation")))
    expected = errors(tmp_path / "here.sqlite", plan)
    with WorkerPool(1) as pool:
        assert errors(tmp_path / "there.sqlite", plan, pool) == expected


def test_a_loss_that_cannot_be_sent_is_refused_before_anything_is_written(tmp_path):
    generator = (n for n in range(3))
    bound = CustomLoss("bound", lambda y, z: (y - z) ** 2 + (0.0 if generator else 1.0))
    plan = GridPlan(grid("square", bound))
    with Store(tmp_path / "s.sqlite") as store, WorkerPool(1) as pool:
        with pytest.raises(InvalidInput, match="can be pickled"):
            run(store, plan, pool)
        assert store.sweeps() == {}
        assert run(store, plan).done == 2  # in this process it need not be sent


def test_a_sweep_is_read_without_its_loss_and_runs_only_with_it(tmp_path):
    loss = own(8.0)
    errors(tmp_path / "s.sqlite", GridPlan(grid(loss)))
    with Store(tmp_path / "s.sqlite", write=False) as store:
        read = Grid.from_text(store.sweeps()[1])
    assert read == grid(loss)
    assert read.losses == {}
    with pytest.raises(InvalidInput, match="given as an object"):
        read.check_points()
    Grid(read.experiment, read.axes, read.fixed, losses={loss.label: loss}).check_points()
