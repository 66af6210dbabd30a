"""Faults of an experiment of one's own are told in one message that names it."""

import dataclasses

import pytest

from sparsetoken import simulate
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.experiments import (
    Row,
    against_simulation,
    piece,
    register_experiment,
)
from sparsetoken.experiments.core.experiment import Experiment, Sizes
from sparsetoken.experiments.report import reproduce
from sparsetoken.model.models import Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout

pytestmark = pytest.mark.usefixtures("registry")
PAGE = "# Own\n\nA setting.\n\n## Claim: own-claim\n\nOne.\n\n## Found\n\nIt.\n"
SIMULATED = Row("simulated", "mine", 1.0, 0.1, {}, "reduced", 10, 4)


def _work(number):
    return [SIMULATED]


@pytest.fixture
def own(tmp_path):
    """What makes an experiment with a page."""

    def make(text=PAGE, judge=lambda *_: [], **changes):
        page = tmp_path / "own.md"
        page.write_text(text, "utf-8")
        sizes = {"quick": Sizes(), "paper": Sizes()}
        plan = lambda *_: [piece(_work, 1), piece(_work, 1)]  # noqa: E731
        made = Experiment("own", sizes, plan, judge, {}, page=page)
        return dataclasses.replace(made, **changes)

    return make


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("## Found\n", "## Seen\n", "Found"),
        ("One.\n", "", "a text"),
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


def test_a_figure_of_another_experiment_is_refused(own):
    text = PAGE + "\n## Figure: alignment\n\nA line.\n"
    with pytest.raises(InvalidInput, match="figures"):
        register_experiment(own(text, figures={"alignment": None}))


def _compared(*rows, claim="own-claim"):
    theory = Row("theory", "mine", 1.0)
    return lambda *_: [against_simulation(claim, theory, SIMULATED)]


@pytest.mark.parametrize(
    ("judge", "word"),
    [
        (_compared(), "NO_SHIFT"),
        (lambda *_: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_an_error_of_judging_names_the_experiment_and_keeps_the_work(own, tmp_path, judge, word):
    register_experiment(own(judge=judge))
    with pytest.raises(Failure, match=rf"own could not be .*{word}.*kept"):
        reproduce(["own"], out=tmp_path / "out")
    assert len(list((tmp_path / "out" / "work").iterdir())) == 1


def test_equal_pieces_are_done_once(own, tmp_path):
    register_experiment(own())
    steps = []
    reproduce(["own"], out=tmp_path / "out", progress=lambda *step: steps.append(step))
    assert steps == [("own", 1.0, 1.0)]


def test_a_comparison_of_a_claim_that_is_not_on_the_page_is_refused(own):
    theory = Row("theory", "auc", 1.0)
    measured = SIMULATED.but(quantity="auc")
    made = own(judge=lambda *_: [against_simulation("other", theory, measured)])
    with pytest.raises(InvalidInput, match="claim of a comparison"):
        made.compared(Sizes(), [])


def test_coordinates_have_no_name_of_a_field():
    with pytest.raises(InvalidInput, match="coordinates"):
        Row("theory", "auc", 1.0, at={"value": 2.0})


def test_rows_of_a_simulation_need_its_dimension():
    call = (SparseTokenProblem(length=3), Pooled(), Readout(alpha1=0.5))
    with pytest.raises(InvalidInput, match="dimension"):
        piece(simulate, *call, trials=2, rows=("test_error",)).run()
