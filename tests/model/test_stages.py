"""How weights are found, as values: validation, losses, arrays."""

import math
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss, get_loss
from sparsetoken.model.descent import Descent
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.model.values import broadcast


def test_schedules_are_one_value():
    descent = Descent(steps=3, rates={"w": [1.0, 0.0, 0.5], "q": np.arange(3)}, rate_c=[1, 0, 2])
    assert descent.rate_c == (1.0, 0.0, 2.0)
    same = Descent(steps=3, rates={"q": (0.0, 1.0, 2.0), "w": (1, 0, 0.5)}, rate_c=(1.0, 0.0, 2.0))
    assert descent == same
    assert hash(descent) == hash(pickle.loads(pickle.dumps(descent)))
    grid = broadcast(descent, Readout(alpha1=[1.0, 2.0]))
    assert list(grid.coords) == ["alpha1"]


def test_infinite_data_are_a_readout():
    assert Readout(alpha1=math.inf).alpha1 == math.inf
    assert Readout(alpha1=[1.0, np.inf]).alpha1 == (1.0, math.inf)


@pytest.mark.parametrize("kind", [TwoSteps, Readout])
def test_a_loss_is_given_by_name_or_as_itself(kind):
    assert kind().loss == get_loss("logistic")
    assert kind(loss="hinge") == kind(loss=get_loss("hinge"))
    assert hash(kind(loss="hinge")) == hash(kind(loss=get_loss("hinge")))
    assert kind(loss="hinge") != kind(loss="square")
    mine = CustomLoss("mine", lambda y, z: jnp.logaddexp(0.0, -2.0 * y * z))
    assert kind(loss=mine).loss is mine


def test_an_error_survives_the_way_between_processes():
    with pytest.raises(InvalidInput) as caught:
        Query(2.0, 1.0)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (
        str(again) == str(caught.value) == "cosine (s) must be a finite number in [-1, 1]; got 2.0."
    )
