"""Products on a JAX device: names, the product itself, and the same minimiser."""

import jax
import numpy as np
import pytest

from numerics.two_classes import problem
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import get_loss
from sparsetoken.model.models import make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout
from sparsetoken.numerics import products
from sparsetoken.numerics.backend import jax_device
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.theory import predict


def _has_gpu():
    try:
        jax_device("gpu")
    except InvalidInput:
        return False
    return True


HAS_GPU = _has_gpu()
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="JAX has no GPU here")
DEVICES = ["cpu", pytest.param("gpu", marks=needs_gpu)]
LARGE = [(700, 250), (250, 700)]  # conjugate gradients are for 200 rows and columns or more


@pytest.mark.parametrize("name", DEVICES)
def test_a_name_gives_a_device(name):
    assert jax_device(name) == jax.devices(name)[0]


@pytest.mark.parametrize("name", ["abacus", "", "CPU", 0, None])
def test_an_unknown_name_is_refused_with_the_devices_there_are(name):
    with pytest.raises(InvalidInput, match=r"device must be a device that JAX has here: cpu"):
        jax_device(name)


@pytest.mark.skipif(HAS_GPU, reason="JAX has a GPU here")
@pytest.mark.parametrize("name", ["gpu", "cuda"])
def test_without_a_gpu_the_message_says_what_to_install(name):
    with pytest.raises(InvalidInput, match=r'pip install "jax\[cuda12\]"'):
        jax_device(name)


def test_the_readout_refuses_a_device_even_where_it_would_not_use_it():
    with pytest.raises(InvalidInput, match="device"):
        fit_readout(*problem(30, 4), get_loss("logistic"), 0.1, device="abacus")


@pytest.mark.parametrize("device", [None, *DEVICES])
@pytest.mark.parametrize("shape", LARGE)
def test_products_agree_with_float64(device, shape):
    F, _ = problem(*shape)
    rng = np.random.default_rng(1)
    D, v, bias = rng.random(shape[0]), rng.standard_normal(shape[1]), 0.7
    u = D * (F @ v + bias)
    product = products.products(F.astype(np.float32), device).weighted(D)
    total, last = product(v, bias)
    # float32 has 24 bits; TF32, with 11, would miss by 1e-4 of the norm or more
    assert np.linalg.norm(total - F.T @ u) <= 2e-6 * np.linalg.norm(F) * np.linalg.norm(u)
    assert last == pytest.approx(u.sum(), abs=1e-5 * np.abs(u).sum())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", LARGE)
@pytest.mark.parametrize("loss", ["logistic", "square", "squared_hinge", "hinge"])
def test_the_device_does_not_change_the_minimiser(device, shape, loss):
    F, y = problem(*shape)
    here = fit_readout(F, y, get_loss(loss), 0.01)
    there = fit_readout(F, y, get_loss(loss), 0.01, device=device)
    assert here.converged
    assert there.converged
    # each is within 1e-8 (1 + |w|) of the minimiser
    assert np.linalg.norm(there.w - here.w) <= 2e-8 * (1 + np.linalg.norm(here.w))


@pytest.mark.parametrize("shape", LARGE)
def test_the_products_are_those_of_the_device(monkeypatch, shape):
    F, y = problem(*shape)
    places = []
    compiled = products._compiled()

    def seen(*arguments):
        places.append({d for a in arguments for d in a.devices()})
        return compiled(*arguments)

    monkeypatch.setattr(products, "HostProducts", None)
    monkeypatch.setattr(products, "_compiled", lambda: seen)
    assert fit_readout(F, y, get_loss("logistic"), 0.01, device="cpu").converged
    assert places
    assert all(place == {jax_device("cpu")} for place in places)


@needs_gpu
@pytest.mark.parametrize("model", ["attention", "pooled"])
def test_theory_agrees_on_cpu_and_gpu(model):
    task, readout = SparseTokenProblem(4, 1, 2.0), Readout(ridge=0.1, alpha1=3.0)
    found = []
    for name in ("cpu", "gpu"):
        with jax.default_device(jax_device(name)):
            found.append(predict(task, make_model(model), readout).test_error)
    # both in float64, each to twice its numerical error of at most 1e-4
    assert found[0] == pytest.approx(found[1], abs=2e-4)
