"""polyglance train"""

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.device import DEFAULT, DeviceOption
from polyglance.cli.options import ALL, listed
from polyglance.core.memory import keep_freed_memory
from polyglance.errors import PolyglanceError
from polyglance.numerics.torchrun import leads

if TYPE_CHECKING:
    from polyglance.data import Dataset
    from polyglance.recipes import Recipe
    from polyglance.recipes.load import Changes
    from polyglance.training import Result

MOST_THREADS = max(64, 2 * (os.cpu_count() or 1))
"""Torch crashes if the system runs out of threads."""


def train_command(
    data: Annotated[str, typer.Option(help="Dataset folder, CSV/Parquet, or 'generated'.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Output folder of the run (default with --from: runs/NAME of the data)."),
    ] = None,
    recipe: Annotated[str | None, typer.Argument(help="Name of a recipe, or a YAML file.")] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Fine-tune this model instead: a run, an exported model, or base (included).",
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="path=value, such as training.lr=1e-3.")
    ] = None,
    languages: Annotated[
        str | None, typer.Option(help="Languages to train on, such as en,de.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Shorthand for --set training.seed=…")] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Resume a killed run, or extend a finished one with more training.epochs.",
        ),
    ] = False,
    cache: Annotated[Path | None, typer.Option(help="Cache folder for features.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=MOST_THREADS, help="Number of CPU threads.")
    ] = None,
    device: DeviceOption = DEFAULT,
) -> None:
    """Train a recipe, or fine-tune a trained model, on images with captions."""
    from polyglance.data import load_dataset
    from polyglance.recipes import parse_overrides

    _check_source(recipe, source)
    out = _chosen_out(out, data, source)
    _check_out(out)
    changes = [parse_overrides(overrides or [])]
    if languages is not None:
        changes.append({"data.languages": listed(languages, "--languages", ALL)})
    if seed is not None:
        changes.append({"training.seed": seed})
    dataset = load_dataset(data, cache, None if source is None else _default_language(source))
    chosen = _recipe(recipe, source, changes, dataset)
    if chosen.image.backbone is not None:  # its activations are large, and alike in all updates
        keep_freed_memory()

    import torch

    from polyglance.transfer import train_recipe

    if threads is not None:
        torch.set_num_threads(threads)
    result = train_recipe(chosen, dataset, out, resume, cache, device=device)
    if not leads():
        return
    done = result.progress
    best = next(e for e in done.evaluations if e["update"] == done.best_update)
    typer.echo(f"{done.finished}; {done.update} updates in {done.seconds:.0f} s")
    recalls = " ".join(f"{code} {value:.1f}" for code, value in best["mr"].items())
    typer.echo(f"best at update {done.best_update}: mean rsum {best['rsum']:.1f}, mR {recalls}")
    if result.still_improving:
        typer.echo(_more(result), err=True)
    if result.gained_nothing:
        typer.echo(_no_gain(result), err=True)
    typer.echo(f"model: {out}")
    if source is not None and not result.model.attends and not result.gained_nothing:
        typer.echo(_as_export(out, data, dataset, result))


def _check_source(name: str | None, source: str | None) -> None:
    if (name is None) == (source is None):
        raise PolyglanceError(
            "pass a recipe ('polyglance recipes' lists them), or a model to fine-tune with --from; "
            "a model has its own recipe, which --set changes"
        )


def _chosen_out(out: Path | None, data: str, source: str | None) -> Path:
    if out is not None:
        return out
    if source is None:
        raise PolyglanceError("pass an output folder for the run with --out")
    return Path("runs") / Path(data).absolute().stem


def _default_language(source: str) -> str | None:
    """The language of captions in a table without a column for it: any, if the model reads all."""
    from polyglance.core.languages import UNDETERMINED
    from polyglance.transfer.subwords import reads_all_languages

    return UNDETERMINED if reads_all_languages(source) else None


def _recipe(
    name: str | None, source: str | None, changes: "Sequence[Changes]", dataset: "Dataset"
) -> "Recipe":
    """The named recipe, or the recipe for fine-tuning a model on a dataset."""
    if source is None:
        from polyglance.recipes import load_recipe

        assert name is not None
        return load_recipe(name, changes)
    from polyglance.transfer import tuning_recipe

    return tuning_recipe(source, changes, dataset)


def _more(result: "Result") -> str:
    """What to do if the last evaluation was the best."""
    training, done = result.model.recipe.training, result.progress
    longer = f"training.updates={2 * done.update}"
    if not training.updates:
        longer = f"training.epochs={2 * (done.update // result.updates_per_epoch)}"
    return (
        "note: the last evaluation was the best, so more training may help; to continue, repeat "
        f"the command with --resume --set {longer}"
    )


def _no_gain(result: "Result") -> str:
    """What the user should know if the initial weights were the best."""
    training = result.model.recipe.training
    return (
        "note: nothing was gained: no evaluation was better than the model before training, so "
        "its weights are unchanged; use more images and captions, or a lower learning rate "
        f"(--set training.lr={training.lr / 3:.1e})"
    )


def _as_export(out: Path, data: str, dataset: "Dataset", result: "Result") -> str:
    """The command that makes a small model of a fine-tuned run, with a cut-off if possible."""
    from polyglance.data.hold_out import hold_out_for_tuning
    from polyglance.runtime.background import FEWEST_IMAGES
    from polyglance.training.checkpoint import FILE

    size, resumed = (_megabytes(files) for files in (out.rglob("*"), [out / FILE]))
    split = result.model.recipe.data.validation_split
    command = f"polyglance export {shlex.quote(str(out))} --onnx "
    command += shlex.quote(str(out.with_name(f"{out.name}-exported")))
    held_out = hold_out_for_tuning(dataset, split).split(split).images
    known = set(result.model.languages)
    enough = sum(not known.isdisjoint(one.captions) for one in held_out) >= FEWEST_IMAGES
    if enough:
        command += f" --background {shlex.quote(data)}"
        command += f" --split {split}" if split != "val" else ""
    made = (
        "a small model with a cut-off"
        if enough
        else "a small model (the data has too few images for a cut-off)"
    )
    return (
        f"the run takes {size:.0f} MB, {resumed:.0f} of them for --resume, and searches with it "
        f"rank all images, without a cut-off; to make {made}: {command}"
    )


def _megabytes(files: Iterable[Path]) -> float:
    return sum(file.stat().st_size for file in files if file.is_file()) / 2**20


def _check_out(out: Path) -> None:
    """Fail early if the folder is not writable; nothing is created yet."""
    place = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not place.is_dir():
        raise PolyglanceError(f"{place}: is a file, not a folder; choose another --out")
    if not os.access(place, os.W_OK):
        raise PolyglanceError(f"{place}: no permission to write there; choose another --out")
