"""polyglance train"""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.device import DEFAULT, DeviceOption
from polyglance.cli.options import ALL, listed
from polyglance.core.memory import keep_freed_memory
from polyglance.errors import PolyglanceError
from polyglance.numerics.torchrun import leads

if TYPE_CHECKING:
    from polyglance.recipes import Recipe
    from polyglance.recipes.load import Changes
    from polyglance.training import Result

MOST_THREADS = max(64, 2 * (os.cpu_count() or 1))
"""Torch crashes if the system runs out of threads."""


def train_command(
    data: Annotated[str, typer.Option(help="Dataset folder, CSV/Parquet, or 'generated'.")],
    out: Annotated[Path, typer.Option(help="Output folder of the run.")],
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

    _check_out(out)
    changes = [parse_overrides(overrides or [])]
    if languages is not None:
        changes.append({"data.languages": listed(languages, "--languages", ALL)})
    if seed is not None:
        changes.append({"training.seed": seed})
    chosen = _recipe(recipe, source, changes)
    if chosen.image.backbone is not None:  # its activations are large, and alike in all updates
        keep_freed_memory()
    dataset = load_dataset(data, cache)

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
    typer.echo(f"best at update {done.best_update}: mean rsum {done.best:.1f}, mR {recalls}")
    if result.still_improving:
        typer.echo(_more(result), err=True)
    if result.gained_nothing:
        typer.echo(_no_gain(result), err=True)
    typer.echo(f"model: {out}")
    if source is not None and not result.model.attends:
        typer.echo(_without_cutoff(out, data, result))


def _recipe(name: str | None, source: str | None, changes: "Sequence[Changes]") -> "Recipe":
    """The named recipe, or the recipe for fine-tuning a model."""
    if name is not None and source is None:
        from polyglance.recipes import load_recipe

        return load_recipe(name, changes)
    if name is not None or source is None:
        raise PolyglanceError(
            "pass a recipe ('polyglance recipes' lists them), or a model to fine-tune with --from; "
            "a model has its own recipe, which --set changes"
        )
    from polyglance.transfer import tuning_recipe

    return tuning_recipe(source, changes)


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


def _without_cutoff(out: Path, data: str, result: "Result") -> str:
    """The command that gives a fine-tuned model a cut-off."""
    recipe = result.model.recipe.data
    held_out = f" --split {recipe.validation_split}" if recipe.validation_split != "val" else ""
    folder = out.with_name(f"{out.name}-exported")
    return (
        "searches with it rank all images, without a cut-off; to add one: polyglance export "
        f"{shlex.quote(str(out))} --onnx {shlex.quote(str(folder))} "
        f"--background {shlex.quote(data)}{held_out}"
    )


def _check_out(out: Path) -> None:
    """Fail early if the folder is not writable; nothing is created yet."""
    place = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not place.is_dir():
        raise PolyglanceError(f"{place}: is a file, not a folder; choose another --out")
    if not os.access(place, os.W_OK):
        raise PolyglanceError(f"{place}: no permission to write there; choose another --out")
