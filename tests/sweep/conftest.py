"""What tests of sweeps share."""

import contextlib
import sqlite3

import pytest

from sparsetoken.sweep import Store


@pytest.fixture(autouse=True)
def _stores_of_the_test_are_closed(request, monkeypatch):
    """Close the stores that a test leaves open, but none that the package should have closed."""
    opened = []

    class Closed(Store):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            opened.append(self)

    if hasattr(request.module, "Store"):
        monkeypatch.setattr(request.module, "Store", Closed)
    yield
    for store in opened:
        with contextlib.suppress(sqlite3.ProgrammingError):  # a thread of the test closed its own
            store.close()
