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
        ("strength = []", "strength"),
        ("strength = [[2, 3]]", "strength"),
        ("strength = 2020-01-01", "strength"),
    ],
)
def test_a_section_or_a_key_named_like_a_command_is_refused(text, key, folder):
    (folder / "c.toml").write_text(text)
    said = refused("predict", "pooled", "--config", "c.toml")
    assert f"of the command at its top level: numbers, texts or lists; got {key!r}" in said


def test_no_text_keeps_nothing_in_the_working_folder(folder):
    assert "--keep must be given a value" in refused("align", "--keep", "")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("alhpa0 = 2", "Did you mean --alpha0?"),
        ("json = 'no idea'", "json"),
        ("strength = 'ten'", "strength (theta) must be a finite number"),
        ("strength = ", "a TOML file; got 'c.toml'. TOMLDecodeError: Invalid value"),
    ],
)
def test_a_wrong_key_or_value_is_one_message(text, told, folder):
    (folder / "c.toml").write_text(text)
    assert told in refused("align", "--config", "c.toml")


@pytest.mark.parametrize("command", [["align"], ["bags", "fit"], ["reproduce"]])
def test_the_help_names_it(command):
    assert "--config PATH" in invoke(*command, "--help").stdout


def test_a_file_that_cannot_be_read_is_named(folder, monkeypatch):
    (folder / "c.toml").write_text("strength = 2")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    said = refused("align", "--config", "c.toml")
    assert said == "Error: --config must be a TOML file that can be read; got 'c.toml'.\n"
