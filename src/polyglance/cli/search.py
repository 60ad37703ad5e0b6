"""`polyglance search`: rank images for sentences, or captions for images."""

import json as json_module
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.device import DEFAULT, DeviceOption
from polyglance.cli.options import naming_options
from polyglance.cli.outputs import check_outputs
from polyglance.cli.search_captions import Outputs, print_captions, print_unreadable, print_unshown
from polyglance.cli.search_hits import open_files, print_hits
from polyglance.cli.translation import TRANSLATOR
from polyglance.core.terminal import printable
from polyglance.errors import IndexWarning, OutsideWarning, PolyglanceError, PolyglanceWarning
from polyglance.storage.files import has_file


def search_command(
    folder: Annotated[
        str,
        typer.Argument(
            help=(
                "Folder of images, library, dataset folder, or 'generated'; with "
                "--captions, an image. Can be preceded by a model folder."
            )
        ),
    ],
    queries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY...",
            help="Queries: sentences or image files; with --captions, more images.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A run or an exported model (default: the included model)."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of results per query.")] = 10,
    like: Annotated[
        list[str] | None,
        typer.Option(help="Find images similar to this one; can be repeated."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--not", help="Exclude what these words, or this image, show; can be repeated."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also show images that do not match the query.")
    ] = False,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language of the queries or captions, such as de or de-AT; the included model "
            "needs none (default: by script, for models that split words by language)."
        ),
    ] = None,
    captions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help=(
                "Rank captions for images instead: a text file with one caption per "
                "line, a CSV/TSV/Parquet with a column 'caption', or a dataset "
                "folder."
            ),
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="With a dataset in --captions: use only this split.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a contact sheet: .png, .jpg, .webp, .pdf …")
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the result as JSON; - is stdout.")
    ] = None,
    null: Annotated[
        bool,
        typer.Option(
            "--null",
            "-0",
            help="Print only paths, byte-exact and terminated by zero bytes, for xargs -0.",
        ),
    ] = False,
    show: Annotated[
        bool, typer.Option("--open", help="Open the results in the system's viewer.")
    ] = False,
    thumbnails: Annotated[
        bool, typer.Option(help="Show thumbnails of the results in a terminal.")
    ] = True,
    font: Annotated[
        list[Path] | None, typer.Option(help="Font file for the contact sheet; can be repeated.")
    ] = None,
    translator: Annotated[
        str | None, typer.Option(help=f"Translate the queries first: {TRANSLATOR}.")
    ] = None,
    translate_to: Annotated[
        str | None,
        typer.Option(
            help=(
                "Target language (default: en if the model knows it), or with "
                "--consistency target languages (default: all of the model's)."
            )
        ),
    ] = None,
    consistency: Annotated[
        bool,
        typer.Option(
            "--consistency",
            help=(
                "Query in all languages of the model and combine the scores: with the "
                "weights stored by 'evaluate --keep-weights', or else their mean."
            ),
        ),
    ] = False,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
    device: DeviceOption = DEFAULT,
) -> None:
    """Search images with a sentence in any language the model knows or a translator supports.

    polyglance search ~/Pictures "zwei Hunde im Schnee"

    The first search of a folder indexes it; later ones read only what changed. With --captions
    FILE, captions are ranked for images instead.
    """
    if null and json == "-":
        raise PolyglanceError("--null and --json - both write to stdout; leave out one")
    check_outputs([sheet, Path(json) if json not in (None, "-") else None])
    if sheet is not None:
        from polyglance.gallery.sheets.file import sheet_format

        sheet_format(sheet)
    if font and sheet is None:
        raise PolyglanceError("--font needs --sheet FILE")
    for file in font or []:
        if not has_file(file):
            raise PolyglanceError(f"{file}: no such font file")
    if thumbnails and sys.stdout.isatty():
        from polyglance.gallery.graphics import named_protocol

        named_protocol()
    model, places = _places(model, [folder, *(queries or [])])
    if captions is not None:
        if null or show or like or without or everything:
            raise PolyglanceError(
                "--null, --open, --like, --not and --all cannot be combined with --captions"
            )
        if translator or translate_to or consistency:
            raise PolyglanceError(
                "--captions cannot be combined with --translator or --consistency"
            )
        output = Outputs(json, sheet, font or [])
        print_captions(model, places, captions, top, language, split, cache, output, device)
        return
    if split is not None:
        raise PolyglanceError("--split needs --captions DATASET")
    from polyglance.gallery import search
    from polyglance.gallery.open import check_place
    from polyglance.gallery.query import is_image

    images, *texts = places
    check_place(Path(images))
    if not texts and not like:
        raise PolyglanceError(
            "there is no query; pass at least one sentence, --like IMAGE, or --captions FILE"
        )
    with naming_options(without="--not"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)  # printed below
        warnings.simplefilter("always", OutsideWarning)
        warnings.simplefilter("always", IndexWarning)
        found = search(
            model,
            images,
            texts or None,
            like=like,
            without=without,
            everything=everything,
            top=top,
            language=language,
            translator=translator,
            translate_to=translate_to,
            consistency=consistency,
            cache=cache,
            device=device,
        )
    if len(texts) > 1 and all(len(text.split()) == 1 and not is_image(text) for text in texts):
        typer.echo(f"note: searched as {len(texts)} queries; put a sentence in quotes", err=True)
    for note in found.notes:
        typer.echo(f"note: {printable(note)}", err=True)
    if sheet is not None:
        print_unshown(found.write_sheet(sheet, fonts=font or []))
        typer.echo(f"contact sheet: {printable(sheet)}", err=True)
    if json == "-":
        typer.echo(json_module.dumps(found.as_dict(), ensure_ascii=False, indent=2))
    else:
        print_hits(found, null, thumbnails)
        if json is not None:
            found.write_json(Path(json))
    print_unreadable(found.gallery)
    if show:
        open_files([hit.path for result in found for hit in result.hits])


def _places(model: Path | None, places: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The model, if one is passed first, and the remaining arguments.

    Before the package included a model, its folder came first.
    """
    from polyglance.runtime import is_model, model_folder
    from polyglance.runtime.folders import names_base

    named = len(places) > 1 and names_base(places[0])
    first = model_folder(places[0]) if named else Path(places[0])
    if model is None and places[0].strip() and is_model(first):
        if len(places) == 1:
            raise PolyglanceError(f"{first}: is a model; pass a folder of images after it")
        return first, list(places[1:])
    return model, list(places)
