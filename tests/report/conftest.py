import dataclasses
import importlib.util
from pathlib import Path

import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.experiment import Job

_SPEC = importlib.util.spec_from_file_location("fakes", Path(__file__).with_name("fakes.py"))
_FAKES = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_FAKES)


@pytest.fixture
def fakes():
    """Made-up rows by experiment."""
    return {name: make() for name, make in _FAKES.ROWS.items()}


@pytest.fixture(scope="module")
def fake_experiments():
    """Let the experiments return the made-up rows at once."""
    real = dict(EXPERIMENTS)
    fakes = {
        name: dataclasses.replace(real[name], jobs=lambda *_, make=make: [Job(make, (), 1.0)])
        for name, make in _FAKES.ROWS.items()
    }
    _put(fakes)
    yield
    _put(real)  # in their order, which other tests see


def _put(experiments):
    EXPERIMENTS.clear()
    EXPERIMENTS.update(experiments)
