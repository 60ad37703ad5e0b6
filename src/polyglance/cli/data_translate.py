"""`polyglance data translate`: translate captions into more languages."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.data import Images
from polyglance.cli.options import listed
from polyglance.cli.translation import TRANSLATOR
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.data import Dataset
    from polyglance.data.convert import Conversion
    from polyglance.translation.fill import Filled

EXTRAS = ("features", "text-only.jsonl.gz")
"""Other contents of a dataset folder."""


def translate_command(
    source: Annotated[
        str, typer.Argument(metavar="DATASET", help="Dataset folder, table or 'generated'.")
    ],
    to: Annotated[str, typer.Option(help="Target languages, such as pt,fr.")],
    translator: Annotated[str, typer.Option(help=TRANSLATOR)],
    out: Annotated[Path, typer.Option(help="Output dataset folder.")],
    from_: Annotated[str, typer.Option("--from", help="Source languages.")] = "en",
    kinds: Annotated[
        str, typer.Option(help="Kinds of captions to translate.")
    ] = "independent,translation",
    captions: Annotated[
        int | None, typer.Option(min=1, help="Captions per image to translate (default: all).")
    ] = None,
    beside: Annotated[
        bool,
        typer.Option(
            "--beside",
            help="Also translate for images that already have captions in the language.",
        ),
    ] = False,
    images: Annotated[Images, typer.Option(help="How to put images into OUT.")] = Images.symlink,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing OUT.")] = False,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Translate captions into languages that images lack; existing captions do not change.

    Translations are cached as they are made: an interrupted run continues where it stopped.
    """
    from polyglance.data.convert import write_folder
    from polyglance.translation import make_translator
    from polyglance.translation.fill import fill_languages

    targets, chosen = listed(to, "--to"), listed(kinds, "--kinds")
    conversion, dataset = _load(source, cache)
    if dataset.root is not None and out.resolve() == dataset.root.resolve():
        raise PolyglanceError(f"{out}: is the dataset itself; choose another folder with --out")
    if not force and out.is_dir() and any(out.iterdir()):
        raise PolyglanceError(f"{out}: exists and is not empty; choose another folder, or --force")
    made, sources = make_translator(translator), listed(from_, "--from")
    filled, photos = [], dataset.images
    for code in sources:
        wanted = [target for target in targets if target != code or len(sources) == 1]
        how = made, wanted, code, chosen, captions, beside, cache
        photos, found = fill_languages(replace(dataset, images=photos), *how)
        filled += found
    if not any(one.captions for one in filled):
        _refuse(filled, from_, chosen)
    conversion.images = photos
    write_folder(out, conversion, images.value, force)
    if dataset.root is not None and dataset.image_folder == dataset.root / "images":
        _copy_extras(dataset.root, out, images)
    for note in conversion.notes:
        typer.echo(f"note: {note}", err=True)
    for one in filled:
        typer.echo(_line(one))
    typer.echo(f"{out}: {len(photos)} images")


def _load(source: str, cache: Path | None) -> "tuple[Conversion, Dataset]":
    """The dataset, and the sources of its images by their new names."""
    from polyglance.data import load_dataset
    from polyglance.data.convert import Conversion
    from polyglance.data.convert.table import convert_table
    from polyglance.data.load import TABLES

    dataset = load_dataset(source, cache)
    if Path(source).suffix.lower() in TABLES:
        conversion = convert_table(Path(source))
        return conversion, replace(dataset, images=conversion.images)
    files = {photo.image: dataset.path(photo) for photo in dataset.images}
    found = {name: path.absolute() for name, path in files.items() if path.is_file()}
    return Conversion(dataset.images, found), dataset


def _copy_extras(root: Path, out: Path, images: Images) -> None:
    """Imported features and text-only captions, linked like the images."""
    for name in EXTRAS:
        old, new = root / name, out / name
        if new.is_symlink():
            new.unlink()
        if not old.exists() or new.exists():
            continue
        if images is not Images.copy:
            new.symlink_to(old.absolute())
        elif old.is_dir():
            shutil.copytree(old, new)
        else:
            shutil.copyfile(old, new)


def _refuse(filled: "list[Filled]", source: str, kinds: list[str]) -> None:
    if any(one.lacking for one in filled):
        raise PolyglanceError("the translator has no translation of any caption; try another one")
    if all(one.kept for one in filled):
        names = ", ".join(one.language for one in filled)
        raise PolyglanceError(f"all images have captions in {names}, or none in '{source}'")
    raise PolyglanceError(f"there are no captions in '{source}' of kind {', '.join(kinds)}")


def _line(one: "Filled") -> str:
    parts = [f"{one.captions} captions translated for {one.images} images"]
    parts += [f"{one.kept} had captions"] if one.kept else []
    parts += [f"{one.lacking} without a translation"] if one.lacking else []
    return f"{one.source} → {one.language}: {', '.join(parts)}"
