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
    with pytest.MonkeyPatch.context() as monkeypatch:
        _replace_experiments(monkeypatch)
        yield


def _replace_experiments(monkeypatch):
    for name in EXPERIMENTS.keys() - _FAKES.ROWS.keys():
        monkeypatch.delitem(EXPERIMENTS, name)
    for name, make in _FAKES.ROWS.items():
        jobs = [Job(make, (), 1.0)]
        fake = dataclasses.replace(EXPERIMENTS[name], jobs=lambda *_, jobs=jobs: jobs)
        monkeypatch.setitem(EXPERIMENTS, name, fake)
