"""From slides' files and a sheet of labels to a model and its tokens, on the command line."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_fits
from command_line import Finished, invoke, limited
from sparsetoken.bags import Bags, read
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import (
    BagClassifier,
    BagRegressor,
    PooledClassifier,
    token_table,
)
from sparsetoken.estimators.saving import load, save

PATIENTS, D = 24, 4


def run(*words: object) -> Finished:
    return invoke("bags", *words)


pytestmark = pytest.mark.usefixtures("few_fits")


@pytest.fixture(autouse=True, scope="module")
def few_trees() -> Any:
    with small_fits.few_trees():
        yield


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with slides/, two of each patient, and labels.csv."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "slides").mkdir()
    rng, rows = np.random.default_rng(0), ["slide,patient,grade"]
    for patient in range(PATIENTS):
        grade = "high" if patient % 2 else "low"
        for slide in "ab":
            name = f"{patient:03}{slide}"
            features = rng.standard_normal((5, D)).astype(np.float32)
            features[2, 0] += 5 * (grade == "high")
            coords = 256 * np.stack([np.arange(5), np.zeros(5, int)], axis=1)
            np.savez(folder / "slides" / f"{name}.npz", features=features, coords=coords)
            rows.append(f"{name}.svs,{patient:03},{grade}")
    (folder / "labels.csv").write_text("\n".join(rows))
    return folder


@pytest.fixture(scope="module")
def sheet(slides: Path) -> list[Any]:
    columns = ["--labels", "grade", "--id", "slide", "--groups", "patient"]
    return ["--sheet", slides / "labels.csv", *columns]


@pytest.fixture(scope="module")
def model(slides: Path, sheet: list[Any]) -> Path:
    pytest.importorskip("pandas", reason="pandas, of the extra data, is not installed")
    labels = slides / "labels.csv"
    found = read(slides / "slides", sheet=labels, labels="grade", id="slide", groups="patient")
    save(BagClassifier().fit(found.bags, found.y, groups=found.groups), slides / "model.skops")
    return slides / "model.skops"


@pytest.mark.slow
def test_a_folder_and_a_sheet_are_fitted(
    slides: Path, sheet: list[Any], model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model.skops"
    found = run("fit", slides / "slides", *sheet, "--folds", 2, "--out", out)
    assert found.exit_code == 0, found.stderr
    bags = read(slides / "slides", labels=None).bags
    scores = load(out).decision_function(bags)
    np.testing.assert_array_equal(scores, load(model).decision_function(bags))


def test_a_folder_and_a_sheet_pass_through_all_commands(
    slides: Path, sheet: list[Any], model: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "packed"
    assert run("pack", slides / "slides", *sheet, "--out", packed).exit_code == 0
    bags = read(packed)
    assert bags.groups is not None
    assert bags.bags.coordinates is not None
    for data, words in ((slides / "slides", sheet), (packed, [])):
        scores = json.loads(run("score", model, data, *words, "--json").stdout)
        assert (scores["bags"], scores["auc"]["value"] > 0.9) == (2 * PATIENTS, True)
    predicted = json.loads(run("predict", model, slides / "slides", "--json").stdout)
    assert [row["bag"] for row in predicted["predictions"]] == bags.ids.tolist()
    patients = run("predict", model, slides / "slides", *sheet, "--merge-groups", "--json")
    rows = json.loads(patients.stdout)["predictions"]
    assert [row["bag"] for row in rows] == [f"{patient:03}" for patient in range(PATIENTS)]


@pytest.mark.slow
def test_patients_are_forecast(slides: Path, sheet: list[Any]) -> None:
    found = run("forecast", slides / "slides", *sheet, "--merge-groups", "--json")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["curves"]["pooled"][0]["n"] == PATIENTS


def test_refusals_name_what_helps(slides: Path, sheet: list[Any], tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("\n".join((slides / "labels.csv").read_text().splitlines()[:-1]))
    words = ["--labels", "grade", "--id", "slide"]
    for command in (("pack", "--out", tmp_path / "p"), ("fit",)):
        told = run(command[0], slides / "slides", *command[1:], "--sheet", few, *words).stderr
        assert "1 of 48 bags without a row or value: 023b" in told
        assert "--partial leaves such out" in told
    told = run("fit", slides / "slides", "--sheet", few, "--labels", "stage", *words[2:]).stderr
    assert "with the column stage" in told
    assert "--labels names another" in told
    told = run("fit", tmp_path / "nowhere", "--sheet", few, *words).stderr
    assert "FILE must be a file or a folder that is there" in told
    told = run("fit", slides / "slides", *sheet, "--dataset", "feats").stderr
    assert "--dataset names the array" in told
    told = run("fit", slides / "slides", "--labels", "grade").stderr
    assert "labels and groups must be in a sheet" in told
    assert "labels" in told


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_tokens_are_written_with_their_coordinates(
    ending: str, slides: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"tokens{ending}"
    found = run("tokens", model, slides / "slides", "--out", out)
    assert found.exit_code == 0, found.stderr
    before = out.read_bytes()
    with limited(100):
        full = run("tokens", model, slides / "slides", "--out", out)
    assert (full.exit_code, full.stdout) == (1, "Saved: nothing\n")
    reason = "was not written: File too large. Name another file with --out."
    assert full.stderr == f"Error: {out} {reason}\n"
    assert (out.read_bytes(), [*tmp_path.iterdir()]) == (before, [out])
    if ending == ".csv":
        with out.open(newline="") as file:
            table = list(csv.DictReader(file))
    else:
        table = pytest.importorskip("pandas").read_parquet(out).to_dict("records")
    assert list(table[0]) == ["bag", "place", "x", "y", "attention", "probability_high"]
    fitted, data = load(model), read(slides / "slides", labels=None)
    expected = token_table(fitted, data.bags, data.ids)
    for name, values in expected.items():
        kind = values.dtype.type
        assert [kind(row[name]) for row in table] == values.tolist()
    chances = np.concatenate(fitted.predict_token_proba(data.bags))
    np.testing.assert_array_equal(expected["probability_high"], chances)
    assert expected["x"].tolist() == data.bags.coordinates[:, 0].tolist()  # type: ignore[index]


def test_tokens_of_a_slide_are_tiles_of_qupath(slides: Path, model: Path, tmp_path: Path) -> None:
    """In the terms of QuPath's own reader: objectType, classification, measurements."""
    out = tmp_path / "tokens.geojson"
    slide = slides / "slides" / "001a.np?"
    assert run("tokens", model, slide, "--out", out).exit_code == 0
    found = json.loads(out.read_text())
    table = token_table(load(model), read(slide, labels=None).bags)
    assert found["type"] == "FeatureCollection"
    for i, one in enumerate(found["features"]):
        x = 256 * i  # corners are 256 apart, and so is the side of the tile
        ring = [[x, 0], [x + 256, 0], [x + 256, 256], [x, 256], [x, 0]]
        assert one["geometry"] == {"type": "Polygon", "coordinates": [ring]}
        names = ["place", "attention", "probability_high"]
        measured = {name: table[name][i].item() for name in names}
        assert one["properties"]["measurements"] == measured
        assert one["properties"]["objectType"] == "tile"
        clear = measured["probability_high"] >= 0.5
        assert one["properties"].get("classification") == ({"name": "high"} if clear else None)
    assert {"classification" in one["properties"] for one in found["features"]} == {True, False}
    assert run("tokens", model, slide, "--out", out, "--tile", 100).exit_code == 0
    square = json.loads(out.read_text())["features"][1]["geometry"]["coordinates"][0]
    assert square[0] + square[2] == [256, 0, 356, 100]


def test_a_folder_has_a_file_and_a_picture_of_each_slide(model: Path, tmp_path: Path) -> None:
    """Names are those of the slides, also of one in another folder."""
    few, out = tmp_path / "few", tmp_path / "maps"
    (few / "P1").mkdir(parents=True)
    for name, n in (("ä b", 4), ("P1/c", 1)):
        places = 100 * np.stack([np.arange(n), np.zeros(n)], axis=1)
        np.savez(few / f"{name}.npz", features=np.ones((n, D), np.float32), coords=places)
    for _ in range(2):  # into a folder that is there, too
        found = run("tokens", model, few, "--out", out)
        assert (found.exit_code, found.stdout) == (0, f"Saved: {out}, 5 tokens of 2 bags\n")
    names = {f"{name}{ending}" for name in ("ä b", "P1%2Fc") for ending in (".geojson", ".png")}
    assert {path.name for path in out.iterdir()} == names
    (alone,) = json.loads((out / "P1%2Fc.geojson").read_text())["features"]
    assert alone["geometry"]["coordinates"][0][2] == [100, 100]  # the side is that of the others
    assert (out / "ä b.png").read_bytes().startswith(b"\x89PNG")
    with limited(100):
        full = run("tokens", model, few, "--out", out)
    assert (full.exit_code, full.stdout) == (1, "Saved: not all\n")
    assert "was not written: File too large" in full.stderr


def test_places_that_are_not_known_are_refused(slides: Path, model: Path, tmp_path: Path) -> None:
    many, here = slides / "slides", tmp_path / "slides"
    here.mkdir()
    told = run("tokens", model, many, "--out", tmp_path / "tokens.geojson").stderr
    assert "--out must be a folder for more than one bag" in told
    assert "file other than the input" in run("tokens", model, many, "--out", many).stderr
    for places, word in (
        ({}, "--out must be a table for bags without coordinates"),
        (
            {"coords": np.zeros((1, 2))},
            "--tile must be given where all tokens",
        ),
        ({"coords": np.full((1, 2), np.nan)}, "magnitude at most 1e+12; got nan"),
        ({"coords": np.array([[0, 1e300]])}, "magnitude at most 1e+12; got 1e+300"),
        (
            {"coords": np.zeros((1, 3))},
            "coordinates of here must be an array of shape (1, 2)",
        ),
    ):
        np.savez(here / "here.npz", features=np.ones((1, D), np.float32), **places)
        assert word in run("tokens", model, here, "--out", tmp_path / "maps").stderr
    assert not (tmp_path / "maps").exists()
    told = run("tokens", model, here, "--out", tmp_path / "t.csv", "--tile", 9).stderr
    assert "--tile must be left out for a table; got 9" in told


def test_a_table_is_packed(tmp_path: Path) -> None:
    rows = [f"{name},{k},{k + 0.5},{y}" for name, y in (("a", 0), ("b", 1)) for k in range(3)]
    (tmp_path / "rows.csv").write_text("\n".join(["slide,u,v,grade", *rows]))
    words = ["--bag", "slide", "--labels", "grade", "--columns", "v"]
    found = run("pack", tmp_path / "rows.csv", *words, "--out", tmp_path / "packed")
    assert found.exit_code == 0, found.stderr
    bags, y, ids = read(tmp_path / "packed")
    assert (bags.feature_names, y.tolist(), ids.tolist()) == (("v",), [0, 1], ["a", "b"])
    assert bags[1].ravel().tolist() == [0.5, 1.5, 2.5]
    again = run("pack", tmp_path / "rows.csv", *words, "--out", tmp_path / "packed")
    assert again.stderr.startswith("Error: --out must be a path that is not there yet; got")


def test_slides_that_are_left_out_are_named(
    slides: Path, sheet: list[Any], model: Path, tmp_path: Path
) -> None:
    (tmp_path / "slides").mkdir()
    for path in (slides / "slides").iterdir():
        (tmp_path / "slides" / path.name).symlink_to(path)
    (tmp_path / "slides" / "000a.npz").unlink()
    np.savez(tmp_path / "slides" / "000a.npz", features=np.full((2, D), np.nan, np.float32))
    told = "Warning: Left out 1 of 48 bags without a token, or with NaN or infinity: 000a.\n"
    words = [tmp_path / "slides", *sheet, "--skip-invalid"]
    assert run("pack", *words, "--out", tmp_path / "packed").stderr == told
    found = run("score", model, *words, "--json")
    assert (found.stderr, json.loads(found.stdout)["bags"]) == (told, 47)
    refused = run("score", model, *words[:-1]).stderr
    assert "NaN or infinity in 000a.npz" in refused
    assert "--skip-invalid leaves such out" in refused


def test_tokens_as_json(slides: Path, model: Path) -> None:
    """Of a slide that the model has not seen."""
    new = slides / "new.npz"
    np.savez(new, X=np.ones((3, D)), bag=["n"] * 3, coordinates=[[1, 2], [3, 4], [5, 6]])
    found = json.loads(run("tokens", model, new, "--json").stdout)
    assert len(found["tokens"]) == 3
    assert set(found["tokens"][0]) == {"bag", "place", "attention", "probability", "coordinates"}
    assert [one["coordinates"] for one in found["tokens"]] == [[1, 2], [3, 4], [5, 6]]
    for name in ("attention", "probability"):  # in one form for any number of classes
        assert all(list(one[name]) == ["high"] for one in found["tokens"])
    assert [one["place"] for one in found["tokens"]] == [0, 1, 2]
    plain = run("tokens", model, new).stdout.splitlines()
    assert plain[0] == "bag,place,x,y,attention,probability_high"


@pytest.mark.slow
def test_tokens_have_a_column_for_each_of_three_classes(tmp_path: Path) -> None:
    rng, y = np.random.default_rng(0), np.arange(45) % 3
    X = rng.standard_normal((45, 4, 3))
    X[np.arange(45), 1, y] += 4
    np.savez(tmp_path / "three.npz", X=X, y=y)
    model = tmp_path / "three.skops"
    assert run("fit", tmp_path / "three.npz", "--folds", 2, "--out", model).exit_code == 0
    found = run("tokens", model, tmp_path / "three.npz", "--json")
    values = json.loads(found.stdout)
    chances = [f"probability_{k}" for k in range(3)]
    for name in ("attention", "probability"):
        assert list(values["tokens"][0][name]) == ["0", "1", "2"]
    table = token_table(load(model), X)
    best = np.argmax([table[name].reshape(45, 4)[:, 1] for name in chances], axis=0)
    assert (best == y).mean() > 0.8  # four standard deviations in one token


def test_what_has_no_tokens_to_tell_of(slides: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3, D)), np.arange(30) % 2
    save(PooledClassifier().fit(X, y), tmp_path / "pooled.skops")
    told = run("tokens", tmp_path / "pooled.skops", slides / "slides").stderr
    assert "MODEL must be fitted with attention" in told
    for out in ("tokens.txt", "none/tokens.csv"):
        words = ("tokens", tmp_path / "pooled.skops", slides / "slides", "--out", tmp_path / out)
        assert "--out must be" in run(*words).stderr
    model = BagRegressor().fit(X, X[:, 0, 0])
    bags = Bags(X.reshape(-1, D), np.arange(0, 91, 3), coordinates=np.ones((90, 3)))
    table = token_table(model, bags)
    assert list(table) == ["bag", "place", "x", "y", "z", "attention"]
    with pytest.raises(InvalidInput, match="ids must be one for each of 30 bags"):
        token_table(model, bags, ["a"])


def test_a_table_of_tokens_does_not_replace_what_is_read(
    slides: Path, model: Path, tmp_path: Path
) -> None:
    sheet, link = tmp_path / "sheet.csv", tmp_path / "link.csv"
    sheet.write_bytes((slides / "labels.csv").read_bytes())
    link.symlink_to(sheet)
    before = sheet.read_bytes()
    for out in (sheet, link):
        found = run("tokens", model, slides / "slides", "--sheet", sheet, "--out", out)
        assert found.exit_code == 2
        assert "--out must be a file other than the input" in found.stderr
        assert sheet.read_bytes() == before


def test_input_that_cannot_be_read_is_named(
    slides: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "Permission denied"

    def denied(path: str, **more: Any) -> None:
        raise PermissionError(13, reason, path)

    for path in (str(model), str(slides / "slides" / "a.npz")):
        monkeypatch.setattr("sparsetoken.cli.bags.loaded_model", lambda *_, p=path: denied(p))
        found = run("predict", model, slides / "slides")
        assert (found.exit_code, found.stdout) == (2, "")
        assert found.stderr == f"Error: {path} cannot be read: {reason}.\n"
