"""What holds for every experiment: profiles, plans, pages, and the keys of its rows."""

import dataclasses
import inspect
import re
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from sparsetoken import simulation, theory
from sparsetoken.base.validation import InvalidInput
from sparsetoken.experiments import EXPERIMENTS, register_experiment
from sparsetoken.experiments.core.claims import Claim
from sparsetoken.experiments.core.experiment import Experiment, Sizes, piece
from sparsetoken.experiments.core.rows import Row
from sparsetoken.experiments.report.page import KINDS
from sparsetoken.losses import CustomLoss
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout, TwoSteps


def _work(number):
    return [Row("theory", "number", number)]


def _other(number):
    return []


each = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)


def test_a_result_becomes_rows_with_its_coordinates():
    problem, steps = SparseTokenProblem(length=4), TwoSteps([0.5, 1.0])
    rows = piece(theory.align, problem, steps, rows=("cosine",), at={"place": "a"}).run()
    assert rows.distinct("alpha0") == [0.5, 1.0]
    assert {(row.series, row["place"]) for row in rows} == {("theory", "a")}
    sizes = {"dimension": 20, "trials": 3, "seed": 1, "engine": "tensors"}
    (row,) = piece(simulation.align, problem, TwoSteps(1.0), **sizes, rows=("cosine",)).run()
    assert (row.series, row.engine, row.dimension, row.trials) == ("simulated", "tensors", 20, 3)


def test_a_piece_is_named_by_all_it_depends_on():
    first = piece(_work, 1, "a")
    others = [
        piece(_work, 2, "a"),
        piece(_other, 1, "a"),
        piece(_work, 1, b="a"),
        piece(_work, 1, "a", rows=("x",)),
        piece(_work, 1, "a", rows=("x",), at={"place": 1}),
    ]
    assert len({one.name for one in (first, *others)}) == 6
    assert piece(_work, 1, "a", cost=2.0).key == first.key
    long = np.linspace(0, 1, 2000)
    assert piece(_work, long).key != piece(_work, long * (1 + 1e-12)).key
    assert dataclasses.replace(first, version=2).key != first.key


def test_own_losses_enter_by_what_they_compute():
    """Two of one name share no key, wherever they stand, and a function has none."""

    def named(scale):
        return CustomLoss("own", lambda y, z: jnp.logaddexp(0.0, scale * (1.0 - y * z)) / scale)

    for at in (lambda loss: (loss,), lambda loss: (Readout(loss, ridge=0.1),)):
        first, again, other = (piece(_work, *at(named(scale))) for scale in (0.5, 0.5, 8.0))
        assert first.key == again.key != other.key
        assert named(0.5).label in first.name
    with pytest.raises(InvalidInput, match="told by their text"):
        _ = piece(_work, [_other]).key


WORKING = ("sparsetoken.theory", "sparsetoken.simulation")


def _works(function):
    """Whether it computes; a plan may make seeds, which are hashes of names."""
    module = function.__module__
    return module.startswith(WORKING) and module != "sparsetoken.simulation.seeds"


def _forbid_work(monkeypatch):
    """Let every function of theory and simulation raise, however it was imported."""

    def refuse(*_, **__):
        raise AssertionError("planning computes")

    for name, module in list(sys.modules.items()):
        if name.startswith(("sparsetoken.experiments", *WORKING)):
            for key, value in list(vars(module).items()):
                if inspect.isfunction(value) and _works(value):
                    monkeypatch.setattr(module, key, refuse)


@each
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_every_profile_can_be_planned_and_planning_computes_nothing(
    experiment, profile, monkeypatch
):
    _forbid_work(monkeypatch)
    for function in (theory.align, simulation.simulate):
        with pytest.raises(AssertionError, match="planning computes"):
            function()
    pieces = experiment.plan(profile)
    assert pieces
    assert all(one.cost > 0 for one in pieces)
    assert len({one.name for one in pieces}) == len(pieces)
    assert not re.search(r" object at 0x|namespace\(|\.\.\.", "".join(one.name for one in pieces))


@each
def test_another_seed_changes_all_that_is_random_and_nothing_else(experiment):
    first, second = ({one.name: one for one in experiment.plan("quick", seed)} for seed in (0, 1))
    assert len(first) == len(second)
    for name, one in first.items():
        parameters = list(inspect.signature(one.work).parameters)
        given = dict(zip(parameters, one.arguments, strict=False)) | one.options
        assert (name in second) == ("seed" not in given)
        assert type(given.get("seed", 0)) is int


@each
def test_a_page_has_its_parts_and_no_others(experiment):
    titles = re.findall(r"^## (.*)$", experiment.text, re.MULTILINE)
    wanted = {f"{'Question' if c.open else 'Claim'}: {c.name}" for c in experiment.claims}
    wanted |= {"Found", *(f"Figure: {name}" for name in experiment.figures)}
    headlines = [name.removeprefix("Headline: ") for name in titles if name.startswith("Headline")]
    assert set(headlines) <= {claim.name for claim in experiment.claims}
    assert wanted == {n for n in titles if "Headline" not in n} - {"Left to the paper profile"}
    assert len(titles) == len(set(titles))
    assert experiment.title
    assert not re.search(r"</?[a-z]", experiment.text)


@each
def test_every_claim_has_a_source_that_the_filter_knows(experiment):
    assert experiment.claims
    for claim in experiment.claims:
        assert any(kind.lower() in claim.source.lower() for kind in KINDS)
        assert claim.status
        assert "{{" not in claim.text


@pytest.fixture
def own(tmp_path):
    """An experiment of a user's own."""
    page = tmp_path / "own.md"
    claim = "One is\none.\n\nSource: Lemma 1; proved"
    page.write_text(f"# Own\n\nA setting.\n\n## Claim: own-claim\n\n{claim}\n\n## Found\n\nIt.\n")
    sizes = {"quick": Sizes(), "paper": Sizes()}
    return Experiment("own", sizes, lambda *_: [], lambda *_: [], {}, page=page)


@pytest.mark.usefixtures("registry")
def test_an_experiment_of_ones_own_is_registered_and_may_be_changed(own):
    assert register_experiment(own) is own
    changed = register_experiment(dataclasses.replace(own, version=2))
    assert EXPERIMENTS["own"] is changed
    assert own.claims == (Claim("own-claim", "One is one.", False, "Lemma 1", "proved"),)
    assert own.title == "Own"


@pytest.mark.usefixtures("registry")
def test_names_that_are_taken_are_refused(own):
    with pytest.raises(InvalidInput, match="name of an experiment"):
        register_experiment(dataclasses.replace(own, name="alignment"))
    own.page.write_text(own.text.replace("own-claim", "query-alignment"))
    with pytest.raises(InvalidInput, match="query-alignment"):
        register_experiment(dataclasses.replace(own))
