"""`polyglance data merge`: merge datasets that share images."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.data import Images, write_store
from polyglance.cli.options import ALL, listed
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from polyglance.data import Dataset


def merge_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Output dataset folder.")],
    sources: Annotated[
        list[str], typer.Argument(metavar="DATASET...", help="Two or more dataset folders.")
    ],
    lists: Annotated[
        Path | None,
        typer.Option(help="Folder with train.txt, val.txt and test.txt, which define the splits."),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option(help="Languages of the captions to keep, such as en,zh,ja (default: all)."),
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Leave out images that are in one dataset only.")
    ] = False,
    images: Annotated[Images, typer.Option(help="How to put images into OUT.")] = Images.symlink,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing OUT.")] = False,
) -> None:
    """Merge datasets that share images: each image gets the captions of all of them.

    Images are matched by name, or by their number in COCO or Flickr names. If splits differ, the
    first dataset's counts.
    """
    from polyglance.data import load_dataset
    from polyglance.data.convert import Conversion, write_folder
    from polyglance.data.merge import merge_datasets, read_splits
    from polyglance.data.text_only import FILE
    from polyglance.storage.files import write_jsonl_gz
    from polyglance.vision.extraction.merge import merged_features

    datasets = [load_dataset(source) for source in sources]
    for dataset in datasets:
        if dataset.root is not None and out.resolve() == dataset.root.resolve():
            raise PolyglanceError(f"{out}: is one of the datasets; choose another folder")
    codes = None if languages is None else _codes(languages, datasets)
    splits = None if lists is None else read_splits(lists)
    merged = merge_datasets(datasets, splits, codes, shared)
    names = {entry.image for entry in merged.images}
    features, notes = merged_features(datasets, merged.renamed, names)
    found = Conversion(merged.images, merged.sources, features, merged.notes + notes)
    write_folder(out, found, images.value, force, write_store)
    rows = list(_text_only(datasets))
    if rows:
        write_jsonl_gz(out / FILE, rows)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{out}: {len(merged.images)} images, {len(merged.sources)} image files")


def _codes(text: str, datasets: "Sequence[Dataset]") -> list[str]:
    codes = listed(text, "--languages", ALL)
    known = {code for dataset in datasets for code in dataset.languages}
    for code in codes:
        if code not in known:
            raise PolyglanceError(
                f"--languages {code}: no dataset has captions in it; "
                f"choose from {', '.join(sorted(known))}"
            )
    return codes


def _text_only(datasets: "Sequence[Dataset]") -> "Iterator[Any]":
    """Text-only caption tuples of all datasets, without repeated lines."""
    from polyglance.data.text_only import FILE
    from polyglance.storage.digest import json_digest
    from polyglance.storage.files import read_jsonl

    seen = set()
    for dataset in datasets:
        path = None if dataset.root is None else dataset.root / FILE
        for _, value in read_jsonl(path) if path is not None and path.is_file() else ():
            if (key := json_digest(value)) not in seen:
                seen.add(key)
                yield value
