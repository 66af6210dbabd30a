"""Sweeps in TOML files: read, and refused with line and key."""

from pathlib import Path

import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.sweep import Grid, read_spec, run
from sparsetoken.sweep.spec import placed

GOOD = """\
experiment = "learning"
quantities = ["theory", "simulation"]
trials = 3
seed = 5

[fixed]
loss = "square"
dimension = 20

[axes]
model = ["attention", "pooled"]
alpha1 = { from = 1, to = 4, points = 3, scale = "logarithmic" }
strength = { from = 1, to = 2, points = 2 }

[[tied]]
length = [2, 4]
informative = [1, 2]

[plot]
x = "alpha1"
"""


def read(tmp_path, text):
    path = tmp_path / "spec.toml"
    path.write_text(text)
    return read_spec(path)


def read_and_run(tmp_path, text):
    """As the command does: points are checked by a run."""
    grid = read(tmp_path, text)
    with placed(tmp_path / "spec.toml"):
        run(grid, tmp_path / "s")


def test_a_file_and_python_say_the_same(tmp_path):
    axes = {
        "model": ["attention", "pooled"],
        "alpha1": [1.0, 2.0, 4.0],
        "strength": [1.0, 2.0],
        "length+informative": [(2, 1), (4, 2)],
    }
    expected = Grid(
        "learning",
        axes,
        {"loss": "square", "dimension": 20},
        quantities=("theory", "simulation"),
        trials=3,
        seed=5,
        plot={"x": "alpha1"},
    )
    found = read(tmp_path, GOOD)
    assert found == expected
    assert [*found.axes] == [*axes]


def test_a_mark_before_the_text_is_overlooked(tmp_path):
    assert read(tmp_path, f"\ufeff{GOOD}") == read(tmp_path, GOOD)


def test_steps_are_even_with_twelve_digits_and_include_the_ends(tmp_path):
    def steps(values):
        text = GOOD.replace("{ from = 1, to = 2, points = 2 }", values)
        return [*read(tmp_path, text).axes["strength"]]

    assert steps("{ from = 1, to = 2, points = 5 }") == [1.0, 1.25, 1.5, 1.75, 2.0]
    assert steps("{ from = 0, to = 1, points = 4 }")[1] == 0.333333333333
    assert steps("{ from = 1e5, to = 3.0, points = 3 }")[-1] == 3.0
    assert steps('{ from = 0.5, to = 8, points = 5, scale = "logarithmic" }') == [0.5, 1, 2, 4, 8]


def test_the_example_has_2000_points():
    example = Path(__file__).parents[2] / "examples" / "sweep.toml"
    grid = read_spec(example)
    assert grid.size == 2000
    assert grid.quantities == ("theory", "simulation")


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("trials = 3", "trails = 3", 3, "trails"),
        ("dimension = 20", "dimensions = 20", 8, "fixed.dimensions"),
        ("dimension = 20", "dimension = 20\ncosine = 0.5", 9, "fixed.cosine"),
        ('["attention", "pooled"]', "[]", 11, "axes.model"),
        ("points = 3", "points = 0", 12, "axes.alpha1.points"),
        ("points = 3, ", "", 12, "axes.alpha1"),
        ('"logarithmic"', '"cubic"', 12, "axes.alpha1.scale"),
        ("from = 1, to = 4", "from = 0, to = 4", 12, "axes.alpha1"),
        ("points = 3", "points = 100001", 12, "axes.alpha1.points"),
        ("to = 4", "to = inf", 12, "axes.alpha1.to"),
        ("from = 1, to = 2,", "from = -1e308, to = 1e308,", 13, "axes.strength"),
        ("informative = [1, 2]", "informative = [1, 2, 3]", 16, "tied.length"),
        ("informative = [1, 2]", "informative = 3", 17, "tied.informative"),
        ("informative = [1, 2]", "strength = [1, 2]", 13, "axes.strength"),
        ("strength = {", '"strength+ridge" = {', 13, "axes.strength+ridge"),
        ("informative = [1, 2]", "informative = [1, 5]", 17, "tied.informative"),
        ('x = "alpha1"', 'x = "beta"', 20, "plot.x"),
        ("seed = 5", 'seed = 5\naxes.loss = ["hinge"]\n', 5, None),
    ],
)
def test_errors_have_line_and_key(tmp_path, old, new, line, key):
    assert old in GOOD
    with pytest.raises(InvalidInput) as caught:
        read_and_run(tmp_path, GOOD.replace(old, new, 1))
    assert not (tmp_path / "s").exists()
    if key is None:
        assert "TOML" in str(caught.value)
    else:
        assert f"spec.toml, line {line}, {key} must be" in str(caught.value)


NO_SPECS = ["trials = ", "axes = 3\nexperiment = 'learning'", "", "tied = 1"]


@pytest.mark.parametrize("text", [*NO_SPECS, f"seed = {'9' * 5000}"], ids=range(5))
def test_files_that_are_no_spec(tmp_path, text):
    with pytest.raises(InvalidInput, match=r"spec\.toml"):
        read(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="that is there"):
        read_spec(tmp_path / "no.toml")


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="can be read"):
        read_spec(tmp_path / "bytes.toml")
