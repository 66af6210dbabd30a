"""Sweeps with losses of one's own: never another loss's numbers, in any process."""

import jax.numpy as jnp
import pytest

from sparsetoken import Pooled, Readout, SparseTokenProblem, predict
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss
from sparsetoken.losses.built_in import SquareLoss
from sparsetoken.sweep import Grid, run, to_xarray

FIXED = {"model": "pooled", "length": 4, "ridge": 0.1, "tolerance": 1e-2, "dimension": 20}


def own(scale):
    """Return one of many losses of one name."""
    return CustomLoss("own", lambda y, z: jnp.logaddexp(0.0, scale * (1.0 - y * z)) / scale)


def grid(*losses):
    return Grid("learning", {"loss": list(losses)}, FIXED)


def errors(path, grid):
    """Run a sweep and return the test errors of its points."""
    assert run(grid, path).failed == 0
    return to_xarray(path)["theory_test_error"].values.tolist()


def predicted(loss):
    readout = Readout(loss, ridge=0.1)
    return predict(SparseTokenProblem(4), Pooled(), readout, tolerance=1e-2).test_error


def test_a_loss_that_is_defined_again_is_another_loss(tmp_path):
    first, second = own(0.5), own(8.0)
    assert errors(tmp_path / "first", grid(first)) == [predicted(first)]
    assert predicted(first) != predicted(second)
    assert errors(tmp_path / "first", grid(second)) == [predicted(second)]
    assert errors(tmp_path / "first", grid(own(0.5), second)) == [
        predicted(first),
        predicted(second),
    ]


def test_built_in_losses_may_be_objects_or_names():
    assert grid(SquareLoss()) == grid("square")
    assert grid(own(8.0)) == grid(own(8.0)) != grid(own(0.5))


def test_a_loss_that_cannot_be_sent_is_refused_before_anything_is_written(tmp_path, pool):
    generator = (n for n in range(3))
    bound = CustomLoss("bound", lambda y, z: (y - z) ** 2 + (0.0 if generator else 1.0))
    sweep = grid("square", bound)
    with pytest.raises(InvalidInput, match="can be pickled"):
        run(sweep, tmp_path / "s.zarr", pool)
    assert not (tmp_path / "s.zarr").exists()
    assert run(sweep, tmp_path / "s.zarr").done == 2  # in this process it need not be sent


def test_a_sweep_is_read_without_its_loss(tmp_path):
    loss = own(8.0)
    errors(tmp_path / "s.zarr", grid("square", loss))
    assert to_xarray(tmp_path / "s.zarr")["loss"].values.tolist() == ["square", loss.label]
