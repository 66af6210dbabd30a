"""Theory against simulation at random settings: z scores; and where theory falls short.

    python benchmarks/agreement.py [readouts networks minima depth queries passes sequences]
    python benchmarks/agreement.py convergence
    python benchmarks/agreement.py stated stated_passes

A z score is a difference over its standard error, Student's law turned into a normal one; no
allowance is made for finite dimension.
`convergence` asks for predictions, capacities and alignments at 500 random points of the documented
domain. `stated` compares the numbers of random predictions with those on other nodes, in stated
errors, and `stated_passes` those of one pass. With `--quick` there are two settings of each.
What was computed is kept in results/cache, so that a second run goes on: delete it after a change
of the code.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory, Parallel, delayed
from scipy import stats

import sparsetoken as st
from agreement_settings import (
    deep_network,
    joint_minimum,
    network,
    one_pass,
    prediction,
    random_query,
    sequence,
    static,
)
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import make_model
from sparsetoken.theory import dynamics, laws, predict, predict_readouts, predict_task
from sparsetoken.theory.laws import importance, tokens

Row = dict[str, Any]


def row(
    quantity: str,
    theory: float,
    error: float,
    found: float,
    se: float,
    trials: int,
) -> Row:
    """Return a comparison with its z score; that of what is not random is no number."""
    scale, z = math.hypot(error, se), math.nan
    if scale > 1e-9 and math.isfinite(found - theory):
        t = (found - theory) / scale
        freedom = (trials - 1) * (scale / se) ** 4 if se > 0 else math.inf
        z = math.copysign(stats.norm.isf(stats.t.sf(abs(t), min(freedom, 1e6))), t)
    return {
        "quantity": quantity,
        "theory": theory,
        "error": error,
        "found": found,
        "se": se,
        "z": z,
    }


def readouts(index: int) -> Iterator[Row]:
    """All models, among isotropic tokens and tokens of any covariance."""
    setting = static(index)
    theory = st.predict(*setting)
    size = {"dimension": 400} if index % 4 == 0 else {}  # a covariance has its own
    for engine, trials in {"tensors": 10, "reduced": 20}.items():
        ran = st.simulate(
            *setting, trials=trials, seed=1000 + index, engine=engine, progress=False, **size
        )
        for name in ("test_error", "training_loss", "auc"):
            found, se = getattr(ran.mean, name), getattr(ran.standard_error, name)
            known = getattr(theory, name), getattr(theory.errors, name)
            yield row(f"{name}, {engine}", *known, found, se, trials)


def descents(index: int) -> Iterator[Row]:
    """Descents of networks, after half of the steps and after all that have a limit."""
    task, descent, _ = network(index)
    trajectory = st.theory.descend(task, descent, replicas=8, progress=False)
    known = int(np.isfinite(trajectory.test_error).sum()) - 1
    at = sorted({max(known // 2, 1), known})
    ran = st.simulation.descend(task, descent, dimension=600, trials=12, seed=index, at=at)
    for t in at:
        names, known_values = _named(trajectory, t)
        rest = (_named(path, t)[1] for path in (trajectory.errors, ran.mean, ran.standard_error))
        for name, theory, error, found, se in zip(names, known_values, *rest, strict=True):
            extra = trajectory.numerical_error if name == "test_error" else 0.0
            yield row(f"{name}, tensors", theory, math.hypot(error, extra), found, se, 12)


def minima(index: int) -> Iterator[Row]:
    """Joint minima in two dimensions, by their status.

    Of the ends of L-BFGS from starts with and without the signals the lower one counts.
    """
    setting = joint_minimum(index)
    theory = st.minimize(*setting, progress=False)
    trials = 16
    for d in (200, 400):
        with_signal, without = (
            st.simulation.minimize(
                *setting, dimension=d, trials=trials, seed=index, start=start, progress=False
            ).trials
            for start in ("informed", "uninformed")
        )
        lower = without.objective < with_signal.objective
        known, errors, ends, others = map(
            _of_minimum, (theory, theory.errors, with_signal, without)
        )
        for name in known:
            found = np.where(lower, others[name], ends[name])
            se = found.std(ddof=1) / math.sqrt(trials)
            what = f"{name}, {theory.status.code}, d = {d}"
            yield row(what, float(known[name]), float(errors[name]), found.mean(), se, trials)


def _of_minimum(outcome: Any) -> dict[str, np.ndarray]:
    """Return test error, loss, objective and the squared lengths of columns."""
    squares = np.einsum("...ii->i...", outcome.weights.gram)
    of_columns = zip(outcome.weights.names, squares, strict=True)
    three = {name: getattr(outcome, name) for name in ("test_error", "training_loss", "objective")}
    return three | {f"|{name}|^2": square for name, square in of_columns}


def deep_descents(index: int) -> Iterator[Row]:
    """Descents of networks of several layers, after all steps, in two dimensions."""
    task, descent = deep_network(index)
    trajectory = st.descend(task, descent, replicas=8, progress=False)
    if trajectory.status == "approximate":  # normalised steps in directions by chance
        return
    t = int(np.isfinite(trajectory.test_error).sum()) - 1
    own = getattr(getattr(task, "tokens", None), "dimension", None)
    for d in [own] if own else (400, 800):
        ran = st.simulation.descend(task, descent, dimension=d, trials=16, seed=index, at=[t])
        names, known = _named(trajectory, t, whole=True)
        _, errors = _named(trajectory.errors, t, whole=True)
        found, se = (_named(path, t, whole=True)[1] for path in (ran.mean, ran.standard_error))
        for name, *numbers in zip(names, known, errors, found, se, strict=True):
            yield row(f"{name}, d = {d}", *numbers, 16)


def _named(path: Any, t: int, whole: bool = False) -> tuple[list[str], list[float]]:
    """Return test error, loss, attended share, overlaps and squared lengths after a step.

    The whole Gram matrix has the inner products of different columns too.
    """
    overlaps, squares = path.weights.overlaps[t].ravel(), np.diagonal(path.weights.gram[t])
    names = ["test_error", "training_loss", "attended"]
    names += ["overlap"] * len(overlaps) + ["squared length"] * len(squares)
    three = [path.test_error[t], path.training_loss[t], path.attended[t]]
    products = path.weights.gram[t][np.tril_indices(len(squares), -1)] if whole else []
    names += ["inner product"] * len(products)
    return names, [float(value) for value in (*three, *overlaps, *squares, *products)]


def passes(index: int) -> Iterator[Row]:
    """One pass over fresh bags at its last time, in two dimensions."""
    yield from _in_two_dimensions(*one_pass(index), index)


def sequences(index: int) -> Iterator[Row]:
    """One task after another, the error on the first included, in two dimensions."""
    first, then = sequence(index)
    train = st.minimize if isinstance(first[1], st.Minimum) else st.descend
    yield from _in_two_dimensions(*then(train(*first, progress=False)), index)


def _in_two_dimensions(task: Any, trained: Any, index: int) -> Iterator[Row]:
    theory, trials = st.descend(task, trained, progress=False), 16
    known, errors = _of_path(theory), _of_path(theory.errors)
    for d in (200, 400):
        settings = {"dimension": d, "trials": trials, "seed": index, "progress": False}
        ran = st.simulation.descend(task, trained, **settings)
        found, se = _of_path(ran.mean), _of_path(ran.standard_error)
        for i, (name, value) in enumerate(known):
            numbers = value, errors[i][1], found[i][1], se[i][1], trials
            yield row(f"{name}, d = {d}", *numbers)


def _of_path(path: Any) -> list[tuple[str, float]]:
    """Return test errors, loss, overlaps, inner products and further weights at the end."""
    at = path.weights.isel(**{path.dims[-1]: -1})
    parts = {"test_error": path.test_error[-1], "training_loss": path.training_loss[-1]}
    if path.previous_task_error is not None:
        parts["previous_task_error"] = path.previous_task_error[-1]
    parts |= {"overlap": at.overlaps, "inner product": at.gram[np.tril_indices(len(at.gram))]}
    parts["further weight"] = at.c
    return [(name, float(x)) for name, values in parts.items() for x in np.ravel(values)]


def queries(index: int) -> Iterator[Row]:
    """Mean and spread of the test error over queries trained on real tokens.

    The readout's test error given the query is the theory's, which is exact.
    """
    setting, draws = random_query(index)
    problem, model, readout = setting
    d = problem.tokens.dimension
    known = predict(problem, model, readout, dimension=d, progress=False)
    rng = np.random.default_rng(np.random.SeedSequence(18, spawn_key=(index, 1)))
    errors = []
    for _ in range(draws):
        q = _query_of_tensors(problem, model.query, rng)
        sharpness = math.sqrt(float(q @ (problem.tokens.within * q)))
        given = st.Attention(st.Query(vector=q.tolist(), sharpness=sharpness))
        errors.append(predict_readouts(problem, given, [readout], 1e-3)[0].test_error)
    mean, sd = np.mean(errors), np.std(errors, ddof=1)
    again = np.random.default_rng(18).choice(errors, (1000, draws)).std(axis=1, ddof=1)
    error = known.numerical_error
    se = sd / math.sqrt(draws)
    yield row("mean over queries", known.test_error, error, mean, se, draws)
    # The fit to few draws knows the spread to a twentieth.
    spread_error = float(np.std(np.log(again)))
    yield row("log spread", math.log(known.spread), 0.05, math.log(sd), spread_error, draws)


def _query_of_tensors(
    problem: st.SparseTokenProblem, steps: st.TwoSteps, rng: np.random.Generator
) -> np.ndarray:
    """Return q2: two gradient steps on real tokens, as they are defined."""
    d = problem.tokens.dimension
    n = round(steps.alpha0 * d)
    X, y = problem.sample(n, problem.tokens.signal, rng)
    mean = X.mean(axis=1)
    h = np.asarray(steps.loss.slope(y, np.zeros(n)), dtype=float)
    w, b = -steps.eta_w * (h @ mean) / n, -steps.eta_b * h.mean()
    h = np.asarray(steps.loss.slope(y, mean @ w + b), dtype=float)
    scores = (X - mean[:, None]) @ w
    gradient = (h[:, None] * scores).ravel() @ X.reshape(-1, d) / (n * problem.length)
    return -steps.eta_q * steps.beta * gradient


COMPARED: dict[str, tuple[Callable[[int], Iterator[Row]], int]] = {
    "readouts": (readouts, 48),
    "networks": (descents, 30),
    "minima": (minima, 64),
    "depth": (deep_descents, 24),
    "queries": (queries, 10),
    "passes": (passes, 6),
    "sequences": (sequences, 4),
}
"""Tables with the number of their settings."""


def compared(table: str, index: int) -> list[Row]:
    """Return the comparisons of one setting."""
    return [{"table": table, "setting": index, **r} for r in COMPARED[table][0](index)]


def extrapolated(rows: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons with 2 m(800) - m(400), which is without the part in 1/d."""
    ends = [rows[rows["quantity"].str.endswith(f", d = {d}")] for d in (400, 800)]
    half, whole = (r[r["setting"].isin(ends[0]["setting"])].reset_index(drop=True) for r in ends)
    return pd.DataFrame(
        {
            "table": one["table"],
            "setting": one["setting"],
            **row(
                two["quantity"].replace("d = 800", "extrapolated"),
                two["theory"],
                two["error"],
                2 * two["found"] - one["found"],
                math.hypot(2 * two["se"], one["se"]),
                16,
            ),
        }
        for (_, one), (_, two) in zip(half.iterrows(), whole.iterrows(), strict=True)
    )


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how z scores are spread, by table and quantity; a normal law has mean 0 and sd 1."""
    rows = rows.dropna(subset="z")
    groups = rows.groupby(["table", "quantity"], sort=False)["z"]
    return groups.agg(
        numbers="size",
        mean="mean",
        sd="std",
        largest=lambda z: z.abs().max(),
        beyond_3=lambda z: int((z.abs() > 3).sum()),
        kolmogorov_smirnov_p=lambda z: stats.kstest(z, "norm").pvalue,
    )


# Where theory converges.

LOSSES = ["square", "logistic", "hinge", "squared_hinge"]
DRAWN = {"attention": 0.4, "elementwise": 0.3, "pooled": 0.15, "vectorized": 0.15}


def ends(index: int) -> list[Row]:
    """Return how three commands end at a point of the domain, with default tolerances."""
    rng = np.random.default_rng([0, index])
    length = int(np.floor(np.exp(rng.uniform(0, np.log(65)))))
    name = str(rng.choice(list(DRAWN), p=list(DRAWN.values())))
    activation = str(rng.choice(list(ACTIVATIONS)))
    loss = str(rng.choice(LOSSES))
    informative, strength = int(rng.integers(1, min(length, 8) + 1)), rng.uniform(0, 8)
    problem = st.SparseTokenProblem(length, informative, strength, rng.uniform(0.02, 0.98))
    cosine = rng.uniform(-1, 1)
    sharpness = 10 ** rng.uniform(-2, 1) if rng.random() < 0.95 else 0.0
    alpha = 10 ** rng.uniform(math.log10(0.05), 2) if rng.random() < 0.9 else math.inf
    ridge = 10 ** rng.uniform(-6, 1) if rng.random() < 0.9 else 0.0
    alpha0, eta = 10 ** rng.uniform(math.log10(0.05), 2), 10 ** rng.uniform(-1, 1)
    model = make_model(name, st.Query(cosine, sharpness), activation=activation)
    commands = {
        "predict": lambda: st.predict(problem, model, st.Readout(loss, ridge, alpha)),
        "capacity": lambda: st.capacity(problem, model),
        "align": lambda: st.align(problem, st.TwoSteps(alpha0, eta_w=eta, loss=loss)),
    }
    return [
        {"point": index, "command": command, "model": name, **_ended(act)}
        for command, act in commands.items()
    ]


def _ended(act: Callable[[], Any]) -> Row:
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            end = str(act().status.code)
    except InvalidInput:
        end = "refused"
    except Exception as error:  # how often this happens is what is asked
        end = type(error).__name__
    return {"end": end, "seconds": time.process_time() - start}


# Whether stated errors cover what other nodes give.

MEANS = ("test_error", "training_loss", "training_error", "auc")
FINER = 4  # times the tolerance is what a reference has


@contextlib.contextmanager
def other_nodes() -> Iterator[None]:
    """Draw all nodes of predictions from other random numbers."""
    seeds = [(tokens, "SEED"), (importance, "_SEED"), (predict_task, "_SEED")]
    kept = [getattr(module, name) for module, name in seeds]
    tokens._kept_tokens.cache_clear()
    for module, name in seeds:
        setattr(module, name, 7)
    try:
        yield
    finally:
        tokens._kept_tokens.cache_clear()
        for (module, name), seed in zip(seeds, kept, strict=True):
            setattr(module, name, seed)


def stated(index: int) -> list[Row]:
    """Return how far numbers of a prediction are from those on other nodes, in stated errors."""
    setting = prediction(index)
    tolerance = 1e-4 if isinstance(setting.problem, st.SparseTokenProblem) else 1e-3
    found = st.predict(*setting, tolerance=tolerance)
    with other_nodes():
        reference = st.predict(*setting, tolerance=tolerance / FINER)
    if not (found.converged and np.isfinite(reference.test_error)):
        return []
    rows = []
    values, references = found.columns(), reference.columns()
    better = reference.errors.columns()
    for name, error in found.errors.columns().items():
        both = math.hypot(float(error), float(better[name]))
        if both > 1e-13 and not name.startswith(("norm_q", "overlap_q", "cosine_q")):
            z = float(values[name] - references[name]) / both
            what = name if name in MEANS else "weights"
            kind = type(found).__name__
            rows.append({"setting": index, "kind": kind, "quantity": what, "name": name, "z": z})
    return rows


def stated_passes(index: int) -> list[Row]:
    """Return how far numbers of one pass are from those on other bags, in stated errors.

    There are 40 settings, each several times. Each time has bags of its own: what shares them is
    wrong together.
    """
    setting = one_pass(index % 40)
    kept = laws.task._SEED, dynamics.outcomes._SEED, dynamics.one_pass._RTOL
    try:
        _set_bags(4 * index, 4 * index + 1)
        found = st.descend(*setting, progress=False)
        dynamics.one_pass._RTOL = kept[2] / 10
        _set_bags(4 * index + 2, 4 * index + 3)
        finer = st.descend(*setting, replicas=2 * int(found.replicas), progress=False)
    finally:
        dynamics.one_pass._RTOL = kept[2]
        _set_bags(*kept[:2])
    rows = []
    parts = zip(*map(_of_path, (found, found.errors, finer, finer.errors)), strict=True)
    for (name, value), (_, error), (_, reference), (_, better) in parts:
        if (both := math.hypot(error, better)) > 1e-13:
            z = (value - reference) / both
            rows.append(
                {"setting": index % 40, "kind": "one pass", "quantity": name, "name": name, "z": z}
            )
    return rows


def _set_bags(of_pass: int, of_test: int) -> None:
    laws.task._SEED, dynamics.outcomes._SEED = of_pass, of_test
    laws.task.nodes_of.cache_clear()
    dynamics.outcomes._nodes.cache_clear()


def covered(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often a number is inside twice its error."""
    groups = rows[rows["name"] != "susceptibility"].groupby(["kind", "quantity"])
    return groups.agg(
        settings=("setting", "nunique"),
        numbers=("z", "size"),
        inside=("z", lambda z: (z.abs() <= 2).mean()),
        sd=("z", "std"),
        largest=("z", lambda z: z.abs().max()),
    )


def main() -> None:
    """Compute what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*COMPARED, "convergence", "stated", "stated_passes"]
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="two settings of each table")
    asked = parser.parse_args()
    if unknown := set(asked.tables) - set(names):
        parser.error(f"no table {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = asked.tables or [*COMPARED, "convergence"]
    memory, run = Memory("results/cache", verbose=0), Parallel(2, verbose=1)
    most = functools.partial(min, 2 if asked.quick else math.inf)
    cached = map(memory.cache, (compared, ends, stated, stated_passes))
    compare, end, cover, cover_passes = cached
    works = [(t, i) for t in chosen if t in COMPARED for i in range(most(COMPARED[t][1]))]
    if works:
        found = run(delayed(compare)(*work) for work in works)
        rows = pd.DataFrame([r for some in found for r in some])
        rows = pd.concat([rows, extrapolated(rows[rows["table"] == "depth"])], ignore_index=True)
        print("Comparisons with |z| > 3:")
        print(rows[rows["z"].abs() > 3].to_string(index=False))
        print(summary(rows).round(2).to_string())
    if "convergence" in chosen:
        found = run(delayed(end)(i) for i in range(most(500)))
        table = pd.DataFrame([r for some in found for r in some])
        by = [table["command"], table["model"]]
        print(pd.crosstab(by, table["end"], margins=True).to_string())
        seconds = table.groupby("command")["seconds"]
        print(seconds.quantile([0.5, 0.9, 0.99]).unstack().round(3).to_string())
    for name, how, count in (("stated", cover, 240), ("stated_passes", cover_passes, 120)):
        if name not in chosen:
            continue
        found = run(delayed(how)(i) for i in range(most(count)))
        rows = pd.DataFrame([r for some in found for r in some])
        print(rows[rows["z"].abs() > 4].to_string(index=False))
        print(covered(rows).round(3).to_string())


if __name__ == "__main__":
    main()
