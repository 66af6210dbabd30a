"""What the commands that run on a store share: where the work goes, and how a stop is told."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Annotated

import typer

from sparsetoken.cli.show import message

Cluster = Annotated[
    str, typer.Option("--cluster", help="Address of a dask scheduler, tcp://host:port.")
]


@contextlib.contextmanager
def executor_of(workers: int, address: str) -> Iterator[tuple[Executor, int]]:
    """Return an executor, and the calls that it runs at once.

    The calls go to the cluster at the address, or to so many processes of this machine.
    """
    if address:
        from sparsetoken.sweep.cluster import connected

        with connected(address) as cluster:
            yield cluster
        return
    from sparsetoken.sweep import WorkerPool

    pool = WorkerPool(workers)
    try:
        yield pool, workers
    finally:
        pool.shutdown(wait=False)


@contextlib.contextmanager
def one_message() -> Iterator[None]:
    """Turn trouble with the store or the workers into one message and exit code 1."""
    from sparsetoken.sweep import RunStopped, StoreError

    try:
        yield
    except StoreError as error:
        message(f"Error: {error}")
        raise typer.Exit(1) from None
    except RunStopped as error:
        message(f"Error: {error} The same command goes on from here.")
        raise typer.Exit(1) from None
