"""The application: its commands, and the file of --config."""

from __future__ import annotations

import os
from pathlib import Path

from cyclopts import App, ArgumentCollection, CycloptsError, Group
from cyclopts import Parameter as Option
from cyclopts.config import Toml

from sparsetoken.base.validation import InvalidInput
from sparsetoken.cli.commands import BAGS, COMMANDS, GROUPS

HELP = (
    "Attention on a few informative tokens among many.  Exact predictions in the proportional "
    "limit, and the same experiments at finite dimension. Models: attention, pooled, vectorized, "
    "elementwise, hard_attention, centred_attention. Messages use the names of Python: alpha1 is "
    "--alpha1. Exit codes: 0 converged, 1 not converged, failed or an unwritable file, 2 bad "
    "input, 130 interrupted."
)


def application() -> App:
    """Return the application with all commands."""
    options = Group("Options", sort_key=20)
    app = App(
        name="sparsetoken",
        help=HELP,
        version=_version,
        group_commands=options,
        group_parameters=options,
        default_parameter=Option(show_default=_shown, negative=""),
    )
    for place, (title, commands) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=place)
        for name, module in commands.items():
            app.command(f"sparsetoken.cli.{module}:{name}", name=name, group=group)
    title = "Bags of your own: fit, predict, score, forecast, report."
    bags = App(name="bags", help=title, group=Group("Your own bags", sort_key=len(GROUPS)))
    for name, module in BAGS.items():
        bags.command(f"sparsetoken.cli.{module}:{name}", name=name)
    app.command(bags)

    app.config = (_of_file,)
    return app


def _of_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Give options the values that the file of --config has for them."""
    option = arguments.get("--config", None)
    if option is None or not option.tokens:
        return
    path = Path(option.tokens[0].value)
    if not path.is_file() or not os.access(path, os.R_OK):
        raise InvalidInput("--config", "a TOML file that can be read", str(path))
    found = Toml(path, use_commands_as_keys=False, source=str(path))
    try:
        config = found.config
    except CycloptsError as error:
        raise InvalidInput("--config", "a TOML file", str(path), f"{error}.") from None
    for key, value in config.items():
        entries = value if isinstance(value, list) and value else [value]
        plain = all(isinstance(entry, int | float | str) for entry in entries)
        if not plain or key in (*COMMANDS, "bags", "config"):
            legal = "a file with options of the command at its top level: numbers, texts or lists"
            raise InvalidInput("--config", legal, key)
    found(app, commands, arguments)


def _shown(default: object) -> str | None:
    """Return what the help says of a default: nothing if there is none, or it is off or empty."""
    if default is False or default in (None, "", ()):
        return None
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _version() -> str:
    import sparsetoken

    return f"sparsetoken {sparsetoken.__version__}"
