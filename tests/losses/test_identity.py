"""A loss is what it computes: equality, hashes, and the way to other processes."""

import copy
import functools
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss, get_loss
from sparsetoken.losses.built_in import SquareLoss
from sparsetoken.losses.gaussian_means import smoothed_at
from sparsetoken.losses.logistic import LogisticLoss

BUILT_IN = ["square", "logistic", "hinge", "squared_hinge"]


def rounded_hinge(scale, name="rounded_hinge"):
    return CustomLoss(name, lambda y, z: jnp.logaddexp(0.0, scale * (1.0 - y * z)) / scale)


def means(loss):
    """Return the mean envelope at one point, by the compiled route of the theory."""
    with jax.enable_x64(True):
        point = (np.array([a]) for a in (1.0, 0.3, 1.2, 0.8))
        return float(smoothed_at(loss, *point).M[0])


@functools.cache
def known_losses():
    """Return losses that all differ, made once."""
    return different_losses()


def different_losses():
    weights = np.linspace(0.0, 1.0, 50)
    return [
        rounded_hinge(2.0),
        rounded_hinge(2.0 + 1e-15),
        rounded_hinge(2.0, "another_name"),
        CustomLoss("rounded_hinge", lambda y, z: (y - z) ** 2),
        CustomLoss("rounded_hinge", lambda y, z: jnp.sum(weights * (y - z) ** 2)),
        CustomLoss("rounded_hinge", lambda y, z: jnp.sum(weights**2 * (y - z) ** 2)),
        *map(get_loss, BUILT_IN),
    ]


def test_losses_of_different_content_or_name_differ():
    losses = known_losses()
    assert len(set(losses)) == len(losses)
    assert len({loss.label for loss in losses}) == len(losses)


def test_losses_of_equal_content_and_name_are_equal():
    for one, two in zip(known_losses(), different_losses(), strict=True):
        assert one == two
        assert hash(one) == hash(two)
        assert one.label == two.label
    assert get_loss("square") == SquareLoss()
    assert get_loss("square") != "square"


@jax.custom_jvp
def straight(z):
    return z


straight.defjvp(lambda at, along: (at[0], 1.0 * along[0]))


@jax.custom_jvp
def too_steep(z):
    return z


too_steep.defjvp(lambda at, along: (at[0], 2.0 * along[0]))


def test_a_derivative_given_by_rule_is_content():
    true = CustomLoss("ruled", lambda y, z: straight(z) ** 2)
    wrong = CustomLoss("ruled", lambda y, z: too_steep(z) ** 2)
    assert true.slope(1.0, 1.0) != wrong.slope(1.0, 1.0)
    assert true != wrong


def test_a_loss_stays_what_it_is_when_a_variable_changes():
    variables = {"scale": 1.0}

    def value(y, z):
        return variables["scale"] * (y - z) ** 2

    loss = CustomLoss("scaled", value)
    before = loss.value(1.0, 3.0)
    variables["scale"] = 2.0
    assert loss.value(1.0, 3.0) == before == 4.0
    np.testing.assert_array_equal(loss.value(np.ones(3), 3.0), 4.0)  # another shape is compiled
    assert CustomLoss("scaled", value).value(1.0, 3.0) == 8.0
    assert loss != CustomLoss("scaled", value)


@pytest.mark.slow
def test_compiled_means_are_those_of_the_loss_not_of_its_name():
    first, second = means(rounded_hinge(1.0)), means(rounded_hinge(4.0))
    assert first != second
    assert means(rounded_hinge(1.0)) == first


def test_losses_of_equal_content_share_compiled_code():
    traced = []

    @functools.partial(jax.jit, static_argnums=0)
    def value(loss, z):
        traced.append(loss)
        return loss.value(1.0, z)

    losses = [rounded_hinge(scale) for scale in (1.0, 4.0, 1.0, 4.0)]
    for loss in losses:
        value(loss, 0.5)
    assert traced == losses[:2] == losses[2:]


@pytest.mark.parametrize(
    "loss", [*map(get_loss, BUILT_IN), rounded_hinge(3.0)], ids=lambda loss: loss.name
)
def test_pickles_and_copies_are_equal(loss):
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(loss))))
    assert again == loss == copy.deepcopy(loss)
    z = np.linspace(-3, 3, 7)
    np.testing.assert_array_equal(again.prox(1.0, z, 2.0), loss.prox(1.0, z, 2.0))


def test_a_loss_travels_to_another_process():
    loss = rounded_hinge(3.0)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(loss.value, 1.0, 0.5).result() == loss.value(1.0, 0.5)
        assert pool.submit(LogisticLoss().value, 1.0, 0.5).result() > 0
        assert pool.submit(str.format, "{0.label}", loss).result() == loss.label


def test_a_loss_that_cannot_travel_is_refused():
    generator = (n for n in range(3))
    loss = CustomLoss("bound", lambda y, z: (y - z) ** 2 + (0.0 if generator else 1.0))
    with pytest.raises(InvalidInput, match="can be pickled"):
        pickle.dumps(loss)


def test_a_loss_whose_variables_have_changed_is_not_sent_as_another():
    variables = {"scale": 1.0}
    loss = CustomLoss("scaled", lambda y, z: variables["scale"] * (y - z) ** 2)
    variables["scale"] = 2.0
    with pytest.raises(InvalidInput, match="variables have changed"):
        pickle.dumps(loss)


def test_a_loss_that_means_something_else_where_it_arrives_is_refused():
    sent = rounded_hinge(3.0).__reduce__()
    read, (name, digest, _) = sent
    other = read(name, digest, rounded_hinge(4.0).__reduce__()[1][2])
    with pytest.raises(InvalidInput, match="computes something else here"):
        other.value(1.0, 0.5)
    broken = read(name, digest, b"not a pickle")
    with pytest.raises(InvalidInput, match="cannot be read back"):
        broken.value(1.0, 0.5)
