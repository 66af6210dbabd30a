"""Tables of trajectories of networks."""

import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.results import NetworkPath, Weights

STEPS = {"dims": ("step",), "coords": {"step": np.arange(3)}}
NAMES = ("q", "w0", "w1")


def _path(directions=("",)):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((3, 6, 3))
    U[0, :, 1] = 0.0
    gram = np.swapaxes(U, 1, 2) @ U
    overlaps = np.swapaxes(U, 1, 2)[..., : len(directions)]
    names = NAMES, ("b",), directions
    weights = Weights.of_columns(overlaps, gram, rng.standard_normal((3, 1)), *names, **STEPS)
    attended = np.full(3, np.nan)
    return NetworkPath(np.array([0.5, 0.2, 0.3]), np.array([0.7, 0.4, 0.1]), attended, weights,
                       **STEPS)  # fmt: skip


@pytest.mark.parametrize("directions", [("",), ("sign",), ("place", "value")])
def test_columns_of_the_table(directions):
    path = _path(directions)
    frame = path.to_frame()
    ends = [f"_{name}" if name else "" for name in directions]
    for j, name in enumerate(NAMES):
        for p, end in enumerate(ends):
            for kind in ("overlap", "cosine"):
                values = getattr(path.weights, f"{kind}s")[:, j, p]
                np.testing.assert_array_equal(frame[f"{kind}_{name}{end}"], values)
        np.testing.assert_array_equal(frame[f"norm_{name}"], path.weights.norms[:, j])
    np.testing.assert_array_equal(frame["weight_b"], path.weights.c[:, 0])
    assert len(frame) == 3
    assert sum(column.startswith("overlap_") for column in frame) == 3 * len(directions)


def test_best_step_has_the_least_test_error_where_it_is_known():
    assert _path().best_step == 1
    assert NetworkPath(
        np.array([np.nan, 0.4, 0.3]), *(np.zeros(3),) * 2, _path().weights, **STEPS
    ).best_step == 2  # fmt: skip


def test_no_known_test_error_has_no_best_step():
    path = _path()
    unknown = NetworkPath(np.full(3, np.nan), np.zeros(3), np.zeros(3), path.weights, **STEPS)
    with pytest.raises(InvalidInput, match="computed at one step or more"):
        _ = unknown.best_step


def test_cosines_are_overlaps_over_lengths_and_0_of_a_column_that_is_0():
    weights = _path(("1", "2")).weights
    assert weights.cosines.shape == (3, 3, 2)
    expected = weights.overlaps[1:] / weights.norms[1:, :, None]
    np.testing.assert_allclose(weights.cosines[1:], expected, rtol=1e-14)
    np.testing.assert_array_equal(weights.cosines[0, 1], 0.0)
