"""What is printed: texts of users are no markup, and no escape sequences."""

import pytest

from command_line import invoke
from sparsetoken.cli.output import message, put, table

HOSTILE = "[/red]1 [b] :smile: \x1b[31m \u202e \udcff\nnext"


@pytest.mark.parametrize("show", [message, put, lambda text: put(*table(text, {text: text}))])
def test_texts_are_printed_as_they_are(show, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    show(HOSTILE)
    found = "".join(capsys.readouterr())
    assert r"[/red]1 [b] :smile: \x1b[31m \u202e \udcff\nnext" in found
    assert "\x1b" not in found


@pytest.mark.parametrize("command", ["sweep", "plot", "results", "fit"])
def test_a_name_that_is_too_long_is_one_message(command):
    done = invoke(command, "9" * 400)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
