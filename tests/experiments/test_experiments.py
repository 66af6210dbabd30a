"""What holds for every experiment, the keys of its rows, and the faults of one of one's own."""

import dataclasses
import inspect
import re
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from sparsetoken import simulation, theory
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.experiments import EXPERIMENTS, against_simulation, register_experiment
from sparsetoken.experiments.core.claims import Claim
from sparsetoken.experiments.core.experiment import Experiment, Sizes, piece
from sparsetoken.experiments.core.rows import Row
from sparsetoken.experiments.report import reproduce
from sparsetoken.experiments.report.page import KINDS
from sparsetoken.losses import CustomLoss
from sparsetoken.model.models import Pooled
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
    call = (SparseTokenProblem(length=3), Pooled(), Readout(alpha1=0.5))
    with pytest.raises(InvalidInput, match="dimension"):
        piece(simulation.simulate, *call, trials=2, rows=("test_error",)).run()


def test_the_key_of_a_piece_has_all_it_depends_on():
    first = piece(_work, 1, "a")
    others = [
        piece(_work, 2, "a"),
        piece(_other, 1, "a"),
        piece(_work, 1, b="a"),
        piece(_work, 1, "a", rows=("x",)),
        piece(_work, 1, "a", rows=("x",), at={"place": 1}),
    ]
    assert len({one.key for one in (first, *others)}) == 6
    assert piece(_work, 1, "a", cost=2.0).key == first.key
    long = np.linspace(0, 1, 2000)
    assert piece(_work, long).key != piece(_work, long * (1 + 1e-12)).key
    assert dataclasses.replace(first, version=2).key != first.key


def test_own_losses_enter_by_what_they_compute():
    """Two of one name share no key, wherever they stand, and functions have their own."""

    def named(scale):
        return CustomLoss("own", lambda y, z: jnp.logaddexp(0.0, scale * (1.0 - y * z)) / scale)

    for at in (lambda loss: (loss,), lambda loss: (Readout(loss, ridge=0.1),)):
        first, again, other = (piece(_work, *at(named(scale))) for scale in (0.5, 0.5, 8.0))
        assert first.key == again.key != other.key
        assert named(0.5).label in first.name
    assert piece(_work, [_other]).key != piece(_work, [_work]).key


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
    assert len({one.key for one in pieces}) == len(pieces)
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


CLAIM = "One is\none.\n\nSource: Lemma 1; proved\n"
PAGE = f"# Own\n\nA setting.\n\n## Claim: own-claim\n\n{CLAIM}\n## Found\n\nIt.\n"
SIMULATED = Row("simulated", "mine", 1.0, 0.1, {}, "reduced", 10, 4)


@pytest.fixture
def own(tmp_path, registry):
    """What makes an experiment of a user's own, with a page."""

    def make(text=PAGE, judge=lambda *_: [], **changes):
        page = tmp_path / "own.md"
        page.write_text(text, "utf-8")
        sizes = {"quick": Sizes(), "paper": Sizes()}
        plan = lambda *_: [piece(_work, 1.0), piece(_work, 1.0)]  # noqa: E731
        made = Experiment("own", sizes, plan, judge, {}, page=page)
        return dataclasses.replace(made, **changes)

    return make


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("## Found\n", "## Seen\n", "Found"),
        (CLAIM, "", "a text"),
        ("## Found\n", "## Headline: other\n\nOne.\n\n## Found\n", "name of a claim"),
    ],
)
def test_a_page_without_its_parts_is_refused(own, old, new, word):
    with pytest.raises(InvalidInput, match=word):
        register_experiment(own(PAGE.replace(old, new)))


@pytest.mark.parametrize("name", ["data", "../evil", "Own", "z_values"])
def test_names_that_are_no_files_or_the_report_has_are_refused(own, name):
    with pytest.raises(InvalidInput, match="small letters"):
        register_experiment(own(name=name))
    with pytest.raises(InvalidInput, match="small letters"):
        register_experiment(own(figures={name: None}))


def test_names_of_another_experiment_are_refused(own):
    text = PAGE + "\n## Figure: alignment\n\nA line.\n"
    with pytest.raises(InvalidInput, match="figures"):
        register_experiment(own(text, figures={"alignment": None}))
    with pytest.raises(InvalidInput, match="name of an experiment"):
        register_experiment(own(name="alignment"))
    with pytest.raises(InvalidInput, match="query-alignment"):
        register_experiment(own(PAGE.replace("own-claim", "query-alignment")))


def test_an_experiment_of_ones_own_is_registered_and_may_be_changed(own):
    first = own()
    assert register_experiment(first) is first
    changed = register_experiment(dataclasses.replace(first, version=2))
    assert EXPERIMENTS["own"] is changed
    assert first.claims == (Claim("own-claim", "One is one.", False, "Lemma 1", "proved"),)
    assert first.title == "Own"


def test_an_error_of_judging_names_the_experiment_and_keeps_the_work(own, tmp_path):
    """Its two equal pieces are done once."""
    theory, steps = Row("theory", "mine", 1.0), []
    register_experiment(own(judge=lambda *_: [against_simulation("own-claim", theory, SIMULATED)]))
    with pytest.raises(Failure, match=r"own could not be .*NO_SHIFT.*kept"):
        reproduce(["own"], out=tmp_path, progress=lambda *step: steps.append(step))
    assert len(list((tmp_path / "work").iterdir())) == 1
    assert steps == [("own", 1.0, 1.0)]


def test_a_comparison_of_a_claim_that_is_not_on_the_page_is_refused(own):
    theory = Row("theory", "auc", 1.0)
    measured = SIMULATED.but(quantity="auc")
    made = own(judge=lambda *_: [against_simulation("other", theory, measured)])
    with pytest.raises(InvalidInput, match="claim of a comparison"):
        made.compared(Sizes(), [])
