"""`polyglance features`: compute image features into the cache."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.device import DEFAULT, DeviceOption
from polyglance.core.terminal import printable
from polyglance.errors import PolyglanceError
from polyglance.storage.files import has_file

if TYPE_CHECKING:
    from polyglance.vision.extraction.features import Features

DEFAULT_FEATURE = "efficientnet-lite2/global"


def features_command(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="DIR",
            help="Dataset folder, folder of images, CSV/TSV/Parquet, or 'generated'.",
        ),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="EXTRACTOR/global, /grid, /gridN or /tencropN; may be repeated. "
            f"Default: {DEFAULT_FEATURE}.",
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Batch size.")] = 8,
    device: DeviceOption = DEFAULT,
    list_: Annotated[bool, typer.Option("--list", help="List the built-in backbones.")] = False,
) -> None:
    """Compute and cache image features; a second run computes only what is missing."""
    if list_:
        _print_backbones()
        return
    if source is None:
        raise PolyglanceError("pass a dataset or a folder of images, or use --list")
    from polyglance.vision.extraction.extract import extract_many

    names = feature or [DEFAULT_FEATURE]
    closed: list[tuple[Path, str]] = []
    paths = _files(source, names[0], cache, closed)
    results = extract_many(paths, names, cache, batch_size, device=device)
    for result in results:
        _print_result(result)
    problems = [*closed, *results[0].problems]
    _print_problems(problems)
    if not results[0].available.any():
        path, reason = problems[0]
        raise PolyglanceError(f"{source}: no image could be read (the first: {path}, {reason})")


def _files(
    source: str, feature: str, cache: Path | None, closed: list[tuple[Path, str]]
) -> list[Path]:
    """The image files of a dataset or a plain folder; unreadable subfolders are added to
    `closed`."""
    from polyglance.data import load_dataset
    from polyglance.data.images.read import list_images
    from polyglance.data.load import source_path
    from polyglance.vision.extraction.extract import check_images

    folder = source_path(source)
    captioned = any(has_file(folder / f"captions.jsonl{end}") for end in ("", ".gz"))
    if not folder.is_dir() or captioned:
        dataset = load_dataset(source, cache)
        check_images(dataset, feature)
        return dataset.paths()
    paths = list_images(folder, closed)
    if not paths:
        raise PolyglanceError(f"{folder}: there are no images in this folder")
    return paths


def _print_result(result: "Features") -> None:
    ready = int(result.available.sum())
    shape = f"dimension {result.dim}"
    if result.form == "set" and ready:
        shape += f", {result.lengths.max()} vectors each"
    typer.echo(f"{result.name}: {ready} of {len(result)} images, {shape}")
    if result.computed:
        rate = result.computed / max(result.seconds, 1e-9)
        typer.echo(f"  computed {result.computed} in {result.seconds:.1f} s ({rate:.1f} images/s)")
    else:
        typer.echo("  nothing to compute")
    typer.echo(f"  {result.store.folder}")


def _print_problems(problems: Sequence[tuple[Path, str]]) -> None:
    if problems:
        typer.echo(f"skipped {len(problems)}:", err=True)
    for path, reason in problems:
        typer.echo(f"  {printable(path)}: {printable(reason)}", err=True)


def _print_backbones() -> None:
    from polyglance.vision.networks.backbones import backbones

    typer.echo(f"{'name':<22} input  dimension  grid")
    for name in backbones:
        lite = backbones.get(name)
        typer.echo(
            f"{name:<22} {lite.preprocessing.size:>5}  {lite.dim:>9}  {lite.side}×{lite.side}"
        )
    typer.echo(
        "also, if the package and weights are installed: timm:NAME[@FILE], "
        "torchvision:NAME[@FILE], transformers:FOLDER"
    )
