"""Options from the file of --config, and what is refused of it."""

import json

import pytest

from command_line import invoke, refused


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", [("--config", "c.toml"), ("--config=c.toml",)])
def test_a_file_gives_options(words, folder):
    (folder / "c.toml").write_text("strength = [2, 3]\npositive_rate = 0.4\njson = true")
    expected = invoke("align", "--strength", "2,3", "--positive-rate", 0.4, "--json").stdout
    assert invoke("align", *words).stdout == expected
    assert invoke(*words, "align").stdout == expected
    typed = json.loads(invoke("align", *words, "--strength", "5").stdout)
    assert "points" not in typed


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[predict]\nstrength = 2", "predict"),
        ("bags = 3", "bags"),
        ("[capacity]", "capacity"),
        ("[task]\nstrength = 2", "task"),
        ("config = 'other.toml'", "config"),
        ("'--help' = true", "--help"),
    ],
)
def test_a_section_or_a_key_named_like_a_command_is_refused(text, key, folder):
    (folder / "c.toml").write_text(text)
    said = refused("predict", "pooled", "--config", "c.toml")
    assert f"key {key!r} in c.toml must be an option, at the top level of the file" in said


def test_two_spellings_of_a_key_are_refused(folder):
    (folder / "c.toml").write_text("positive_rate = 0.3\npositive-rate = 0.4")
    said = refused("align", "--config", "c.toml")
    assert "key 'positive-rate' in c.toml must be given once; got 'positive_rate as well'" in said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("keep = true", "key 'keep' in c.toml must be a path, in quotes; got True"),
        ("keep = 3", "key 'keep' in c.toml must be a path, in quotes; got 3"),
        ("keep = ['a', 'b']", "key 'keep' in c.toml must be a path, in quotes"),
        ("keep = ''", "--keep must be"),
        ("cluster = true", "key 'cluster' in c.toml must be a number or text; got True"),
    ],
)
def test_a_value_of_another_kind_is_refused(text, told, folder):
    (folder / "c.toml").write_text(text)
    assert told in refused("align", "--config", "c.toml")
    assert [path.name for path in folder.iterdir()] == ["c.toml"]


def test_no_text_keeps_nothing_in_the_working_folder(folder):
    assert "--keep must be" in refused("align", "--keep", "")
    assert list(folder.iterdir()) == []


def test_a_second_file_is_refused(folder):
    (folder / "c.toml").write_text("strength = 2")
    for second in (("--config", "c.toml"), ("--config=d.toml",)):
        said = refused("align", "--config", "c.toml", *second)
        assert said == "Error: --config must be given once; got '2 files'.\n"


@pytest.mark.parametrize("command", [["align"], ["bags", "fit"], ["reproduce"]])
def test_the_help_names_it(command):
    assert "--config PATH" in invoke(*command, "--help").stdout


def test_a_file_that_cannot_be_read_is_named(folder, monkeypatch):
    (folder / "c.toml").write_text("strength = 2")

    def denied(path, *args, **more):
        raise PermissionError(13, "Permission denied", str(path))

    for step in ("is_file", "read_text"):
        with monkeypatch.context() as context:
            context.setattr("pathlib.Path." + step, denied)
            said = refused("align", "--config", "c.toml")
        assert "--config must be a TOML file; got" in said
        assert "c.toml: PermissionError" in said


def test_results_do_not_replace_it(folder):
    (folder / "c.csv").write_text("strength = 2")
    said = refused("align", "--config", "c.csv", "--out", "c.csv")
    assert "--out must be a file other than the input" in said
    assert (folder / "c.csv").read_text() == "strength = 2"
