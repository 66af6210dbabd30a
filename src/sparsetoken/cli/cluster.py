"""The cluster on which the points of a command are computed."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator

from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

_SECONDS = 10  # to answer in
_LEGAL = "the address of a dask scheduler that is running, such as tcp://host:8786"


@contextlib.contextmanager
def on_cluster(address: str) -> Iterator[None]:
    """Let joblib send the calls of a block to the workers of a dask scheduler, if one is given."""
    if not address:
        yield
        return
    if not re.fullmatch(r"\w+://\S+|\S+:\d+", address):
        raise InvalidInput("--cluster", _LEGAL, address)
    distributed = needed("distributed", "to run on a cluster", "cluster")
    import joblib

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are told once, by us
    try:
        client = distributed.Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        remedy = f"It did not answer in {_SECONDS} s: {' '.join(str(error).split())[:200]}."
        raise InvalidInput("--cluster", _LEGAL, address, remedy) from None
    try:
        if not client.nthreads():
            raise InvalidInput("--cluster", "a scheduler with workers", "no workers")
        with joblib.parallel_config(backend="dask", client=client, wait_for_workers_timeout=60):
            yield
    finally:
        client.close(timeout=2)
