"""A loss is its class, or its function: equality, hashes, and the way to other processes."""

import copy
import dataclasses
import functools
import pickle

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss, Loss, get_loss
from sparsetoken.losses.gaussian_means import smoothed_at

BUILT_IN = ["square", "logistic", "hinge", "squared_hinge"]


def soft(y, z):
    return jnp.logaddexp(0.0, 3.0 * (1.0 - y * z)) / 3.0


def rounded_hinge(scale):
    return CustomLoss("rounded", lambda y, z: jnp.logaddexp(0.0, scale * (1.0 - y * z)) / scale)


class Straight(Loss):
    name = "straight"

    def value(self, y, z):
        return -y * z

    def slope(self, y, z):
        return -y + 0.0 * z

    def curvature(self, y, z):
        return 0.0 * y * z


class Scaled(Straight):
    def __init__(self, size):
        self.size = size


@dataclasses.dataclass(frozen=True)
class ScaledValue(Straight):
    size: float


def test_losses_of_one_function_name_and_version_are_equal():
    one = CustomLoss("soft", soft)
    assert one == CustomLoss("soft", soft)
    assert hash(one) == hash(CustomLoss("soft", soft))
    others = [
        CustomLoss("softer", soft),
        CustomLoss("soft", soft, version="1"),
        CustomLoss("soft", lambda y, z: soft(y, z)),
        rounded_hinge(3.0),
        rounded_hinge(3.0),
        *map(get_loss, BUILT_IN),
    ]
    assert len({one, *others}) == 1 + len(others)
    assert get_loss("square") != "square"


def test_losses_by_their_methods_are_equal_where_the_class_says_so():
    assert Straight() == Straight()
    assert Straight() != Scaled(1.0)
    assert Scaled(1.0) != Scaled(1.0)
    assert ScaledValue(1.0) == ScaledValue(1.0)
    assert ScaledValue(1.0) != ScaledValue(2.0)


def test_compiled_means_are_those_of_the_loss_not_of_its_name():
    def means(loss):
        point = (np.array([a]) for a in (1.0, 0.3, 1.2, 0.8))
        return float(smoothed_at(loss, *point).M[0])

    first = rounded_hinge(1.0)
    before = means(first)
    assert means(rounded_hinge(4.0)) != before
    assert means(first) == before


def test_equal_losses_share_compiled_code():
    traced = []

    @functools.partial(jax.jit, static_argnums=0)
    def value(loss, z):
        traced.append(loss)
        return loss.value(1.0, z)

    losses = [CustomLoss("soft", soft, version=version) for version in "1212"]
    for loss in losses:
        value(loss, 0.5)
    assert traced == losses[:2] == losses[2:]


@pytest.mark.parametrize(
    "loss", [*map(get_loss, BUILT_IN), CustomLoss("soft", soft)], ids=lambda loss: loss.name
)
def test_pickles_and_copies_are_equal(loss):
    loss.value(1.0, 0.5)  # compiled by now
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(loss))))
    assert again == loss == copy.deepcopy(loss)
    z = np.linspace(-3, 3, 7)
    np.testing.assert_array_equal(again.prox(1.0, z, 2.0), loss.prox(1.0, z, 2.0))


def test_a_local_function_travels_by_cloudpickle():
    loss = rounded_hinge(3.0)
    again = pickle.loads(cloudpickle.dumps(loss))
    assert again.value(1.0, 0.5) == loss.value(1.0, 0.5)


def test_a_loss_by_its_methods_that_is_written_for_numpy_is_refused():
    class OfNumPy(Straight):
        name = "of_numpy"

        def slope(self, y, z):
            return -np.asarray(y) + 0.0 * z

    problem = st.SparseTokenProblem(4)
    with pytest.raises(InvalidInput, match=r"loss must be written with jax\.numpy"):
        st.predict(problem, st.Pooled(), st.Readout(OfNumPy(), ridge=0.1))
