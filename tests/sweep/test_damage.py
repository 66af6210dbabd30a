"""Damaged stores: nothing wrong is read, all that is whole is, and a sweep mends the rest."""

import contextlib
import csv
import random
import shutil
import sqlite3

import pytest

from sparsetoken.sweep import Grid, GridPlan, Store, StoreError, export_table, linear, run
from sparsetoken.sweep.integrity import read_whole_rows
from sparsetoken.sweep.records import Answer, Result
from sparsetoken.sweep.repair import repair
from sparsetoken.sweep.salvage import opened_as_far_as_possible
from sparsetoken.sweep.schema import PAGE
from sparsetoken.validation import InvalidInput

GRID = Grid(
    "alignment",
    [linear("strength", 1, 5, 20)],
    {"length": 4, "dimension": 8},
    quantities=("theory", "simulation"),
    trials=2,
)
ROWS = 60


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "s.sqlite"
    with Store(path) as store:
        run(store, GridPlan(GRID))
        export_table(store, path.with_suffix(".csv"))
    return path


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copyfile(whole, tmp_path / "s.sqlite")


def change(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def lines(path):
    with path.open(newline="") as file:
        return {frozenset((k, v) for k, v in row.items() if v) for row in csv.DictReader(file)}


def exported(path):
    """Return the rows that can be read of a store, and what is told to be lost."""
    table = path.with_name("t.csv")
    with opened_as_far_as_possible(path) as (store, _):
        losses = export_table(store, table)
    return lines(table), losses


def go_on(path, whole):
    """Run the sweep; return the rows that were damaged, once it has the bytes of the whole one."""
    found = []
    with Store(path) as store:
        run(store, GridPlan(GRID), on_damaged=found.append)
        export_table(store, path.with_name("after.csv"))
    assert path.with_name("after.csv").read_bytes() == whole.with_suffix(".csv").read_bytes()
    return sum(found)


DAMAGE = {
    "a parameter": (
        "UPDATE configurations SET content = replace(content, '1.0', '1.5') WHERE id = 1",
        1,
    ),
    "the names of a configuration": (
        "UPDATE configurations SET layout = (SELECT layout FROM results WHERE id = 1) "
        "WHERE id = 30",
        1,
    ),
    "a value": ("UPDATE results SET content = replace(content, '0.', '1.') WHERE id = 3", 1),
    "the names of a result": (
        "UPDATE results SET layout = (SELECT layout FROM results WHERE id = 30) WHERE id = 3",
        1,
    ),
    "a status": ("UPDATE results SET status = 'converfed' WHERE id = 3", 1),
    "a message": ("UPDATE results SET message = 'x' WHERE id = 3", 1),
    "a seed": ("UPDATE results SET seed = NULL WHERE id = 30", 1),
    "a time": ("UPDATE results SET seconds = seconds + 1 WHERE id = 3", 1),
    "an environment": ("UPDATE results SET environment = environment - 1 WHERE id = 3", 1),
    "a type": ("UPDATE configurations SET content = CAST(content AS BLOB) WHERE id = 3", 1),
    "a text that is none": (
        "UPDATE results SET content = CAST(x'5bff5d' AS TEXT) WHERE id = 3",
        1,
    ),
    "a checksum": ("UPDATE results SET checksum = checksum - 1 WHERE id = 3", 1),
    "the number of a result": ("UPDATE results SET id = 99 WHERE id = 3", 1),
    "a lost result": ("DELETE FROM results WHERE id = 3", 1),
    "a lost configuration": ("DELETE FROM configurations WHERE id = 3", 1),
    "two results in the place of one another": (
        "UPDATE results SET id = CASE id WHEN 3 THEN -4 WHEN 4 THEN -3 ELSE id END;"
        "UPDATE results SET id = -id WHERE id < 0",
        2,
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_part_of_a_row_loses_this_row_and_is_computed_anew(what, path, whole):
    statements, rows = DAMAGE[what]
    change(path, *statements.split(";"))
    known = lines(whole.with_suffix(".csv"))
    found, losses = exported(path)
    assert found < known
    assert len(found) == ROWS - rows
    assert losses == (rows, 0)
    assert go_on(path, whole) == rows
    assert go_on(path, whole) == 0


STATES = {
    "finished without a result": "UPDATE tasks SET state = 2 WHERE id = 3",
    "leased by nobody": "UPDATE tasks SET state = 1 WHERE id = 3",
    "no state": "UPDATE tasks SET state = 7 WHERE id = 3",
    "a parameter": "UPDATE configurations SET content = replace(content, '1.', '2.') WHERE id = 3",
    "a key": "UPDATE tasks SET key = x'00' WHERE id = 3",
    "a member": "DELETE FROM members WHERE task = 3",
    "a task": "DELETE FROM tasks WHERE id = 3",
    "no row at all": "UPDATE sweeps SET complete = 0",
    "the text of the sweep": "UPDATE sweeps SET text = replace(text, '5.0', '4.0')",
}


@pytest.mark.parametrize("what", STATES)
def test_a_damaged_row_that_waits_is_computed_as_the_sweep_says(what, path, whole):
    change(
        path,
        "UPDATE tasks SET state = 0 WHERE id = 3",
        "DELETE FROM results WHERE id = 3",
        STATES[what],
    )
    assert go_on(path, whole) <= 1


def test_a_sweep_that_says_too_early_that_it_is_complete(path, whole):
    change(
        path,
        "DELETE FROM members WHERE task > 40",
        "DELETE FROM tasks WHERE id > 40",
        "DELETE FROM configurations WHERE id > 40",
        "DELETE FROM results WHERE id > 40",
    )
    go_on(path, whole)


def test_a_damaged_sweep_is_not_drawn(path):
    change(path, "UPDATE sweeps SET text = replace(text, '\"trials\":2', '\"trials\":1')")
    with (
        Store(path, write=False) as store,
        pytest.raises(StoreError, match=r"Sweep 1 of .*damaged"),
    ):
        store.sweeps()


@pytest.mark.parametrize("table", ["texts", "copies"])
def test_what_many_rows_share_is_kept_twice(table, path, whole):
    change(path, f"UPDATE {table} SET text = replace(text, 'o', 'p')")
    found, losses = exported(path)
    assert found == lines(whole.with_suffix(".csv"))
    assert losses == (0, 0)
    assert go_on(path, whole) == 0


def test_an_index_that_does_not_match_its_table_is_rebuilt(path, whole):
    with sqlite3.connect(path) as connection:
        ((key,),) = connection.execute("SELECT key FROM tasks WHERE id = 3").fetchall()
    connection.close()
    data = bytearray(path.read_bytes())
    data[data.rindex(key)] ^= 1  # in the index or in the table
    path.write_bytes(data)
    assert len(exported(path)[0]) == ROWS
    assert go_on(path, whole) <= 1


@pytest.mark.parametrize("place", [0, 18, 28, 44, 60, 68, 100, 105, 1000])
def test_a_damaged_first_page_hides_nothing(place, path, whole):
    data = bytearray(path.read_bytes())
    data[place : place + 3] = b"\x5a\xa5\x5a"
    path.write_bytes(data)
    found, losses = exported(path)
    assert found == lines(whole.with_suffix(".csv"))
    assert losses == (0, 0)


def test_a_file_cut_short_behind_its_indexes_tells_exactly_what_is_lost(path, whole):
    """Also where the file ends within the page of a table or of an index."""
    change(path, "UPDATE tasks SET state = 0 WHERE id = 7", "DELETE FROM results WHERE id = 7")
    data, known = path.read_bytes(), lines(whole.with_suffix(".csv"))
    tables = "SELECT max(rootpage) FROM sqlite_master"
    with Store(path, write=False) as store:
        ((first,),) = store.query(tables)
    for size in range(first * PAGE, len(data), 1500):
        path.write_bytes(data[:size])
        found, losses = exported(path)
        assert found <= known
        assert losses == (ROWS - 1 - len(found), 0)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_file_cut_short_gives_what_it_holds_and_a_store_to_go_on_with(share, path, whole):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(StoreError, match=r"--export NEW\.sqlite"):
        Store(path)
    found, losses = exported(path)
    assert found <= lines(whole.with_suffix(".csv"))
    assert losses.finished <= ROWS - len(found) <= losses.finished + losses.unknown
    new = path.with_name("new.sqlite")
    with opened_as_far_as_possible(path) as (store, _):
        export_table(store, new)
    with Store(new, write=False) as store:
        assert len(list(store.rows())) == len(found)
    assert go_on(new, whole) == 0


def test_rows_that_are_in_the_log_alone_are_read_of_a_damaged_file(path):
    path.unlink()
    store = Store(path)
    store.query("PRAGMA wal_autocheckpoint = 0")
    store.begin("1")
    leases = store.lease(store.add_sweep("t", [{"n": n} for n in range(5)]), 0, 5)
    store.finish([Answer(lease.id, Result({"v": 1.0})) for lease in leases])
    for ending in ("", "-wal"):  # as a machine leaves them that loses its power
        shutil.copyfile(f"{path}{ending}", path.with_name(f"copy.sqlite{ending}"))
    store.close()
    copy = path.with_name("copy.sqlite")
    data = bytearray(copy.read_bytes())
    data[16:18] = b"\xff\xff"
    copy.write_bytes(data)
    found, losses = exported(copy)
    assert len(found) == 5
    assert losses == (0, 0)


def test_the_last_row_before_a_damaged_page_is_read(path):
    data = path.read_bytes()
    sql = "SELECT * FROM results r JOIN configurations g ON g.id = r.id WHERE r.id = ?"
    hit = 0
    for first in range(PAGE, len(data), PAGE):
        path.write_bytes(data[:first] + b"\0" + data[first + 1 :])  # a page of no kind
        readable, connection = set(), sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        for row in range(1, ROWS + 1):
            with contextlib.suppress(sqlite3.Error):
                readable.update(one[0] for one in connection.execute(sql, (row,)))
        connection.close()
        found = []
        with opened_as_far_as_possible(path) as (store, _):
            read_whole_rows(store, found.extend)
        assert readable <= {row.id for row in found}
        hit += 0 < len(readable) < ROWS
    assert hit


def test_bits_that_flip_anywhere_export_nothing_wrong(path, whole):
    known, data = lines(whole.with_suffix(".csv")), path.read_bytes()
    rng = random.Random(0)
    for _ in range(60):
        place, spoilt = rng.randrange(8 * len(data)), bytearray(data)
        spoilt[place // 8] ^= 1 << place % 8
        path.write_bytes(spoilt)
        found, losses = exported(path)
        assert found <= known
        assert losses.finished + losses.unknown >= ROWS - len(found)
    with contextlib.suppress(StoreError, InvalidInput):
        go_on(path, whole)


def test_a_row_that_is_damaged_while_a_sweep_runs_is_not_computed(path):
    path.unlink()
    with Store(path) as store:
        store.begin("1")
        sweep = store.add_sweep("t", [{"n": n} for n in range(3)])
        change(path, "UPDATE configurations SET content = '[7]' WHERE id = 2")
        with pytest.raises(StoreError, match=r"Row 2 of .* is damaged\. Run the same sweep again"):
            store.lease(sweep, 0, 3)
        assert repair(store) == 1
        assert store.add_sweep("t", [{"n": n} for n in range(3)]) == sweep
        leases = store.lease(sweep, 0, 3)
        assert sorted(lease.configuration["n"] for lease in leases) == [0, 1, 2]


def test_a_result_keeps_to_the_configuration_that_was_leased(path):
    path.unlink()
    with Store(path) as store:
        store.begin("1")
        (lease,) = store.lease(store.add_sweep("t", [{"n": 1}]), 0, 1)
        change(path, "UPDATE configurations SET content = '[7]'", "UPDATE tasks SET key = x'00'")
        store.finish([Answer(lease.id, Result({"v": 1.0}))])
        with pytest.raises(StoreError, match=r"Row 1 .* is damaged"):
            list(store.rows())
