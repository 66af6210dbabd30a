"""The store: leases, results, two processes, other versions, no room."""

import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from sparsetoken.sweep import (
    Grid,
    GridPlan,
    JobPlan,
    Store,
    StoreError,
    export_table,
    linear,
    run,
    summaries,
    to_pandas,
    to_xarray,
)
from sparsetoken.sweep import leases as leases_module
from sparsetoken.sweep.estimate import estimate
from sparsetoken.sweep.leases import started_at
from sparsetoken.sweep.records import Answer, Counts, Result
from sparsetoken.sweep.schema import SCHEMA_VERSION, EmptyStore
from sparsetoken.validation import InvalidInput

ROWS = [{"n": n} for n in range(20)]
GRID = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.sqlite"


def opened(path, version="1", rows=ROWS, text="sweep"):
    store = Store(path)
    store.begin(version)
    return store, store.add_sweep(text, rows)


def answers(leases, value=1.0):
    return [Answer(lease.id, Result({"value": value})) for lease in leases]


def test_every_row_is_leased_once_and_in_order(path):
    store, sweep = opened(path)
    first = store.lease(sweep, 0, 8)
    second = store.lease(sweep, first[-1].id, 100)
    assert [lease.configuration for lease in first + second] == ROWS
    assert store.lease(sweep, 0, 100) == []
    store.finish(answers(first))
    assert store.counts(sweep) == Counts(done=8, failed=0, left=12, not_converged=0)


def test_a_batch_has_one_shape(path):
    store = Store(path)
    store.begin("1")
    sweep = store.add_sweep("sweep", ROWS, lambda row: row["n"] // 3)
    assert [lease.configuration["n"] for lease in store.lease(sweep, 0, 10)] == [0, 1, 2]


def series_of_leases(path, rows, limits, grouping):
    """Return the series of the rows of successive batches."""
    store = Store(path)
    store.begin("1")
    sweep = store.add_sweep("sweep", [{"n": n} for n in range(rows)], series=grouping)
    batches = []
    while batch := store.lease(sweep, 0, *limits):
        batches.append([lease.series for lease in batch])
    return batches


def test_a_batch_ends_with_a_series_where_it_is_short(path):
    batches = series_of_leases(path, 20, (4, 8), lambda row: row["n"] // 6)
    assert batches == [[0] * 6, [1] * 6, [2] * 6, [3] * 2]


def test_a_long_series_is_cut_and_does_not_lengthen_the_batch_before(path):
    batches = series_of_leases(path, 20, (4, 8), lambda row: int(row["n"] > 2))
    assert batches == [[0] * 3, [1] * 8, [1] * 8, [1]]


def test_the_same_sweep_adds_nothing_and_another_shares_rows(path):
    store, sweep = opened(path)
    assert store.add_sweep("sweep", []) == sweep
    store.finish(answers(store.lease(sweep, 0, 100)))
    more = store.add_sweep("more", [*ROWS, {"n": 20}])
    assert more != sweep
    assert store.counts(more) == Counts(20, 0, 1, 0)
    assert store.counts().total == 21


def test_a_sweep_that_was_cut_while_it_was_written_down_is_completed(path):
    store = Store(path)

    def cut():
        yield from ROWS[:5]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.add_sweep("sweep", cut())
    sweep = store.add_sweep("sweep", ROWS)
    assert store.counts(sweep).total == 20


def test_a_row_keeps_its_first_result(path):
    store, sweep = opened(path)
    (lease,) = store.lease(sweep, 0, 1)
    store.finish(answers([lease], 1.0))
    store.finish(answers([lease], 2.0))
    (row,) = store.rows(sweep)
    assert row.values == {"value": 1.0}


def test_what_a_row_has(path):
    store, sweep = opened(path)
    (lease,) = store.lease(sweep, 0, 1)
    values = {"a": float("nan"), "b": float("inf"), "c": [1, "x"]}
    seed = 2**127 + 1
    store.finish([Answer(lease.id, Result(values, "no_limit", "try", seed), 0.5)], '{"numpy": "2"}')
    (row,) = store.rows()
    assert row.configuration == {"n": 0}
    assert repr(row.values) == repr(values)
    assert (row.status, row.message, row.seed, row.seconds) == ("no_limit", "try", seed, 0.5)
    assert row.environment == {"numpy": "2"}
    assert store.counts(sweep) == Counts(1, 0, 19, 1)


def test_failed_rows_run_again_only_if_asked(path):
    store, sweep = opened(path)
    (lease,) = store.lease(sweep, 0, 1)
    store.finish([Answer(lease.id, Result({}, "failed", "ValueError: no"))])
    assert lease.id not in {c.id for c in store.lease(sweep, 0, 100)}
    assert store.counts(sweep).failed == 1
    store.retry_failed(sweep)
    assert [c.id for c in store.lease(sweep, 0, 100)] == [lease.id]
    assert list(store.rows()) == []


def test_closing_frees_the_leased_rows(path):
    store, sweep = opened(path)
    store.lease(sweep, 0, 5)
    store.close()
    again, sweep = opened(path)
    assert len(again.lease(sweep, 0, 100)) == 20


def test_two_live_stores_share_the_rows(path):
    one, sweep = opened(path)
    two, _ = opened(path)
    mine, yours = one.lease(sweep, 0, 12), two.lease(sweep, 0, 100)
    assert {c.id for c in mine}.isdisjoint(c.id for c in yours)
    assert len(mine) + len(yours) == 20
    two.release_dead()
    assert two.lease(sweep, 0, 100) == []


def test_the_rows_of_a_dead_process_are_freed(path, monkeypatch):
    one, sweep = opened(path)
    one.lease(sweep, 0, 12)
    # The number of a process that has ended may belong to another one now.
    one._connection.execute("UPDATE holders SET started = 'before'")
    two, _ = opened(path)
    assert len(two.lease(sweep, 0, 100)) == 20


def test_a_process_elsewhere_lives_as_long_as_it_gives_signs(path, monkeypatch):
    one, sweep = opened(path)
    one.lease(sweep, 0, 12)
    one._connection.execute("UPDATE holders SET host = 'elsewhere'")
    two, _ = opened(path)
    assert len(two.lease(sweep, 0, 100)) == 8
    monkeypatch.setattr(leases_module, "LEASE_SECONDS", -1.0)
    two.release_dead()
    assert len(two.lease(sweep, 0, 100)) == 12


@pytest.mark.parametrize("clock", [1e6, 0.0, -1e6])
def test_rows_of_a_machine_are_freed_after_the_lease_whatever_its_clock_says(
    path, clock, monkeypatch
):
    one, sweep = opened(path)
    one.lease(sweep, 0, 12)
    one._connection.execute(
        "UPDATE holders SET host = 'elsewhere', heartbeat = heartbeat + ?", (clock,)
    )
    two, _ = opened(path)
    assert len(two.lease(sweep, 0, 100)) == 8  # it may still run
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + leases_module.LEASE_SECONDS - 5)
    two.release_dead()
    assert two.lease(sweep, 0, 100) == []
    one._connection.execute("UPDATE holders SET heartbeat = heartbeat + 1 WHERE host = 'elsewhere'")
    two.release_dead()
    monkeypatch.setattr(time, "monotonic", lambda: now + leases_module.LEASE_SECONDS + 5)
    two.release_dead()
    assert two.lease(sweep, 0, 100) == []  # it gave a sign ten seconds ago
    monkeypatch.setattr(time, "monotonic", lambda: now + 2 * leases_module.LEASE_SECONDS)
    two.release_dead()
    assert len(two.lease(sweep, 0, 100)) == 12


def test_another_version_elsewhere_is_waited_for_as_long_as_it_may_run(path, monkeypatch):
    one, _ = opened(path, "1")
    one._connection.execute("UPDATE holders SET host = 'elsewhere', heartbeat = heartbeat + 1e6")
    monkeypatch.setattr(leases_module, "LEASE_SECONDS", 0.05)
    monkeypatch.setattr("sparsetoken.sweep.store.POLL_SECONDS", 0.1)
    Store(path).begin("2")


def test_signs_of_life_are_given(path, monkeypatch):
    monkeypatch.setattr(leases_module, "HEARTBEAT_SECONDS", 0.01)
    store, _ = opened(path)
    ((first,),) = store.query("SELECT heartbeat FROM holders")
    pause = threading.Event()
    for _ in range(1000):
        pause.wait(0.01)
        ((now,),) = store.query("SELECT heartbeat FROM holders")
        if now > first:
            return
    pytest.fail("no sign of life in 10 s")


def test_start_of_a_process():
    assert started_at(os.getpid()) == started_at(os.getpid()) != ""
    assert started_at(2**22 + 1) == ""  # beyond the largest process number


def test_another_version_running_is_refused_and_loses_nothing(path):
    one, sweep = opened(path, "1")
    leases = one.lease(sweep, 0, 5)
    two = Store(path)
    with pytest.raises(StoreError, match="Version 1 of sparsetoken is running"):
        two.begin("2")
    one.finish(answers(leases))
    assert one.counts(sweep).done == 5
    one.close()
    two.begin("2")


@pytest.mark.parametrize(
    ("version", "word"), [(SCHEMA_VERSION + 1, "newer"), (SCHEMA_VERSION - 1, "older")]
)
def test_a_store_of_another_format_is_refused(path, version, word):
    opened(path)[0].close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("PRAGMA writable_schema = 1")
        other = (f"format {SCHEMA_VERSION}", f"format {version}")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?)", other)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match=f"made by an? {word} version"):
        Store(path)
    assert path.read_bytes() == before


def test_another_database_is_refused(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(InvalidInput, match="another SQLite file"):
        Store(path)


def test_reading_creates_no_file(path):
    with pytest.raises(InvalidInput, match="that is there"):
        Store(path, write=False)
    assert not path.exists()
    path.touch()
    with pytest.raises(InvalidInput, match="empty"):
        Store(path, write=False)


def test_a_store_whose_creation_was_interrupted_is_finished(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert path.stat().st_size == 4096  # SQLite has begun, and there are no tables
    with pytest.raises(EmptyStore, match="its sweep can be run on this file"):
        Store(path, write=False)
    store, sweep = opened(path)
    assert store.counts(sweep).left == 20


def test_a_full_disk_is_one_message_and_loses_nothing(path):
    store, sweep = opened(path)
    store.finish(answers(store.lease(sweep, 0, 5)))
    pages = store.query("PRAGMA page_count")[0][0]
    store.query(f"PRAGMA max_page_count = {pages}")  # SQLite's own way to say that it is full
    leases = store.lease(sweep, 0, 5)
    large = [Answer(lease.id, Result({"value": "x" * 20_000})) for lease in leases]
    with pytest.raises(StoreError, match="full"):
        store.finish(large)
    assert store.counts(sweep).done == 5
    store.query(f"PRAGMA max_page_count = {10 * pages}")
    store.finish(large)
    assert store.counts(sweep).done == 10
    assert len(list(store.rows())) == 10


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened or created"):
        Store(tmp_path / "no" / "store.sqlite")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="cannot be opened or created"):
            Store(tmp_path / "store.sqlite")
    finally:
        tmp_path.chmod(0o700)


def test_a_store_that_cannot_be_written(path):
    store, sweep = opened(path)
    store.query("PRAGMA query_only = 1")  # as on a file system that is read-only
    with pytest.raises(StoreError, match="cannot be written"):
        store.lease(sweep, 0, 1)


def test_many_may_create_the_same_store_at_once(tmp_path):
    barrier = threading.Barrier(4)

    def create(_):
        for i in range(60):
            barrier.wait(timeout=10)
            Store(tmp_path / f"{i}.sqlite").close()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(create, range(4))) == [None] * 4


@pytest.mark.parametrize("kind", [str, lambda path: path])
@pytest.mark.parametrize(
    "call",
    [
        lambda store: run(store, GridPlan(GRID)),
        lambda store: estimate(GRID, store),
        lambda store: JobPlan([], str).known(store),
        lambda store: JobPlan([], str).results(store),
        lambda store: export_table(store, "table.csv"),
        summaries,
        to_pandas,
        to_xarray,
    ],
)
def test_a_path_is_no_store(path, kind, call):
    with Store(path) as store:
        run(store, GridPlan(GRID))
    message = r"store must be an open Store; got .*store\.sqlite.*with Store\(path\) as store"
    with pytest.raises(InvalidInput, match=message):
        call(kind(path))
