"""One pool of worker processes for all tests of sweeps: they take a second to start."""

import pytest

from sparsetoken.work import WorkerPool


@pytest.fixture(scope="session")
def pool():
    with WorkerPool(2) as processes:
        yield processes
