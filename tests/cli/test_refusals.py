"""Every declared option refuses what is outside its range; the cases follow from declarations."""

import pkgutil

import pytest

from command_line import invoke
from sparsetoken.cli.app import COMMANDS
from sparsetoken.cli.command import option_name

MODEL = {name: ["attention"] for name in ("predict", "capacity", "simulate")}
PAIRED = {"cosine": ["--sharpness=1"], "sharpness": ["--cosine=0.5"]}


def declared_of(name):
    command = pkgutil.resolve_name(f"sparsetoken.cli.{COMMANDS[name]}:{name}")
    return command.declared.values()


DECLARED = [(name, one) for name in COMMANDS for one in declared_of(name)]


def outside(declared):
    """Return words for values that are not legal, though of the right type."""
    if declared.choices:
        return ["nothing"]
    low, above, most, below, _ = declared.range
    step = 1 if declared.whole else 1e-6
    ends = [None if low is None else low - step, above, None if most is None else 2 * most, below]
    return [str(end) for end in ends if end is not None] + ["nan"] * (not declared.whole)


@pytest.mark.parametrize(
    ("name", "declared"), DECLARED, ids=lambda given: getattr(given, "name", given)
)
def test_values_outside_are_one_message_with_option_range_and_value(name, declared):
    option = option_name(declared.name)
    for wrong in outside(declared):
        pair = PAIRED.get(declared.name, [])
        found = invoke(name, *MODEL.get(name, []), *pair, f"{option}={wrong}", "--json")
        assert (found.exit_code, found.stdout) == (2, ""), found
        assert found.stderr.startswith(f"Error: {option}")
        for word in declared.choices or [declared.legal]:
            assert word in found.stderr
        assert wrong.rstrip("0").rstrip(".") in found.stderr
        assert len(found.stderr.splitlines()) == 1
    if declared.number and not declared.per_step:
        found = invoke(name, *MODEL.get(name, []), *pair, f"{option}=ten")
        assert found.exit_code == 2
        assert found.stderr.startswith(f"Error: {option}")
        assert f"{declared.legal}; got 'ten'" in found.stderr
