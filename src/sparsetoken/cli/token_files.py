"""Tokens of bags where they lie: GeoJSON of their squares, as QuPath reads it, and pictures."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.cli.output import Answer, counted, not_written

if TYPE_CHECKING:
    from sparsetoken.bags import LabelledBags

ENDINGS = (".geojson", "")
_UNSAFE = re.compile(r'[%/\\:*?"<>|\x00-\x1f]')  # in names of files, on some system


def placed(model: Any, data: LabelledBags, out: Path, tile: float | None) -> Answer:
    """Write a bag as GeoJSON, or a folder with that and a picture of each bag that has tokens."""
    from sparsetoken.base.files import write_whole
    from sparsetoken.estimators import token_table

    bags, folder = data.bags, not out.suffix
    if not folder and len(bags) != 1:
        remedy = "QuPath reads one file for each slide; a folder has them all."
        raise InvalidInput("--out", "a folder for more than one bag", str(out), remedy)
    corners = _corners(data, out)
    sides = _sides(corners, tile)
    table = token_table(model, bags, data.ids)
    look = _look(table, bags.offsets)
    try:
        if folder:
            out.mkdir(exist_ok=True)
        for i in range(len(bags)):
            own = {name: column[slice(*bags.offsets[i : i + 2])] for name, column in table.items()}
            name = str(data.ids[i])
            path = out / f"{_UNSAFE.sub(_quoted, name)}.geojson" if folder else out
            write_whole(path, json.dumps(features(own, corners[i], sides[i])).encode())
            if folder and len(corners[i]):
                picture = _picture(own, corners[i], name, **look)
                write_whole(path.with_suffix(".png"), picture)
    except OSError as error:
        told = not_written("out", Path(error.filename or out), error)
        return Answer("", {"saved": None}, ["Saved: not all"], shortfall=told, code=1)
    told = f"{counted(len(bags.tokens), 'tokens')} of {counted(len(bags), 'bags')}"
    line = f"Saved: {out}, {told}"
    return Answer("", {"bags": len(bags), "tokens": len(bags.tokens), "saved": str(out)}, [line])


def _quoted(found: re.Match[str]) -> str:
    return quote(found[0], safe="")


def features(table: Mapping[str, np.ndarray], corners: np.ndarray, side: float) -> dict[str, Any]:
    """Return the tokens of a bag as a GeoJSON FeatureCollection of tiles, in QuPath's terms.

    The class of a token is the one that it makes its bag of with the largest probability, if that
    is 1/2 or more. All columns but id and coordinates are measurements.
    """
    from sparsetoken.figures.token_map import CORNERS

    measured = [name for name in table if name not in {"bag", *"xy"}]
    classes = [name.partition("_")[2] for name in measured if name.startswith("probability_")]
    squares = corners[:, None] + side * CORNERS[[0, 1, 2, 3, 0]]
    found = []
    cells = zip(*(table[name].tolist() for name in measured), strict=True)
    for square, row in zip(squares.tolist(), cells, strict=True):
        properties = {"objectType": "tile", "measurements": dict(zip(measured, row, strict=True))}
        chances = row[len(row) - len(classes) :]
        if classes and max(chances) >= 0.5:
            properties["classification"] = {"name": classes[chances.index(max(chances))]}
        geometry = {"type": "Polygon", "coordinates": [square]}
        found.append({"type": "Feature", "geometry": geometry, "properties": properties})
    return {"type": "FeatureCollection", "features": found}


def _corners(data: LabelledBags, out: Path) -> list[np.ndarray]:
    """Return the coordinates of each bag, which must have two for each token."""
    from sparsetoken.figures.token_map import checked_places

    bags = data.bags
    if bags.coordinates is None:
        remedy = "--coordinates names their array; tables, .parquet or .csv, need none."
        raise InvalidInput("--out", "a table for bags without coordinates", str(out), remedy)
    each = np.split(bags.coordinates, bags.offsets[1:-1])
    names = [f"coordinates of {one}" for one in data.ids.tolist()]
    return [checked_places(name, one, len(one)) for name, one in zip(names, each, strict=True)]


def _sides(corners: list[np.ndarray], tile: float | None) -> list[float]:
    """Return the side of the squares of each bag, that of the others for one of a single token."""
    from sparsetoken.figures.token_map import spacing

    if tile is not None:
        return [real("--tile", tile, 0.0, open_low=True)] * len(corners)
    sides = [spacing(one) for one in corners]
    known = [side for side in sides if side]
    if not known:
        raise InvalidInput("--tile", "given where all tokens of a bag are in one place", "none")
    return [side or float(np.median(known)) for side in sides]


def _look(table: Mapping[str, np.ndarray], offsets: np.ndarray) -> dict[str, Any]:
    """Return what pictures show, with one scale for all of them: probabilities, or weights."""
    from sparsetoken.figures.attention import largest_of

    if columns := [name for name in table if name.startswith("probability_")]:
        return {"columns": columns, "values": "probabilities"}
    columns = [name for name in table if name.startswith("attention")]
    weights = [w for name in columns for w in np.split(table[name], offsets[1:-1]) if len(w)]
    return {"columns": columns, "values": "weights", "vmax": largest_of(weights)}


def _picture(
    table: Mapping[str, np.ndarray], corners: np.ndarray, name: str, columns: list[str], **look: Any
) -> bytes:
    """Return a bag as a picture, with a map for each class."""
    from matplotlib import pyplot

    from sparsetoken.figures import AttentionDisplay

    n, values = len(columns), [table[one] for one in columns]
    names = [f"{name}, {one.replace('_', ' of ', 1)}" for one in columns]
    figure = AttentionDisplay.from_predictions(
        values, coordinates=[corners] * n, names=names, **look
    ).figure_
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=200)
    pyplot.close(figure)
    return content.getvalue()
