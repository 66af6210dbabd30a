"""All sets of bags of a folder, for the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sparsetoken.cli.files import against_rest, check_two_classes, classes_of, read_bags
from sparsetoken.cli.readers import PARQUET
from sparsetoken.cli.show import message

if TYPE_CHECKING:
    from sparsetoken.experiments.forecasts.rows import LeftOut
    from sparsetoken.experiments.forecasts.sets import BagSet


def read_sets(folder: Path, positive: str = "") -> list[BagSet | LeftOut]:
    """Read the .npz and Parquet files of a folder, by name.

    What cannot be read or forecast is told, and returned with the reason.

    Parameters
    ----------
    folder : Path
    positive : str
        The label that is compared with the rest in files of more than two classes.

    Raises
    ------
    InvalidInput
        If there is no such folder, no file in it that can be forecast, or no file of more than
        two classes that has the label.
    """
    from sparsetoken.experiments.forecasts.rows import LeftOut
    from sparsetoken.experiments.forecasts.sets import BagSet
    from sparsetoken.validation import InvalidInput

    legal = f"a folder with {', '.join(('.npz', *PARQUET))} files of bags"
    if not folder.is_dir():
        got = f"{folder}, {'a file' if folder.exists() else 'which is not there'}"
        raise InvalidInput("--bags", legal, got, "Give the folder that the files are in.")
    paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".npz", *PARQUET))
    if not paths:
        raise InvalidInput("--bags", legal, str(folder), "No file in it has such an ending.")
    found: list[BagSet | LeftOut] = []
    used = False
    for path in paths:
        try:
            data = read_bags(path, "", "bag")
            if positive and len(classes_of(data)) > 2:
                data = against_rest(data, positive)
                used = True
            check_two_classes(data)
            found.append(BagSet.of(path.name, data.bags, data.y))
        except ValueError as error:  # InvalidInput, or what the checks of values raise
            # Rows do not depend on where the folder is.
            found.append(LeftOut(path.name, str(error).replace(str(path), path.name)))
    if positive and not used:
        legal = "a label of a file of more than two classes"
        raise InvalidInput("--positive", legal, positive, "Two classes need no --positive.")
    left_out = [one for one in found if isinstance(one, LeftOut)]
    if len(left_out) == len(found):
        remedy = f"None of its files can be forecast. {left_out[0].set}: {left_out[0].reason}"
        raise InvalidInput("--bags", legal, str(folder), remedy)
    for one in left_out:
        message(f"Left out: {one.set}. {one.reason}")
    return found
