"""Writes a dataset with translations of its captions as a new folder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polyglance.data.convert import Conversion, write_folder
from polyglance.data.convert.table import convert_table
from polyglance.data.convert.write import ImageMode
from polyglance.data.dataset import Dataset
from polyglance.data.load import TABLES, load_dataset
from polyglance.data.text_only import FILE
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.translation.base import Translator, make_translator
from polyglance.translation.fill import PEOPLE, Filled, fill_languages

EXTRAS = ("features", FILE)
"""Other contents of a dataset folder."""


@dataclass(frozen=True)
class TranslatedDataset:
    """What was written: the number of images, the result for each language, and notes."""

    images: int
    filled: list[Filled]
    notes: list[str]


def translate_dataset(
    source: str | Path,
    out: str | Path,
    translator: Translator | str,
    targets: Sequence[str],
    sources: Sequence[str] = ("en",),
    kinds: Sequence[str] = PEOPLE,
    most: int | None = None,
    beside: bool = False,
    images: ImageMode = "symlink",
    force: bool = False,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> TranslatedDataset:
    """Write a dataset with its captions translated into languages that images lack.

    The folder is written completely or not at all; translations are cached as they are made.

    Args:
        source: folder of a dataset, table or "generated".
        out: the new dataset folder.
        translator: such as "lexicon:FILE".
        targets: languages to translate into.
        sources: languages to translate from.
        kinds: of the captions to translate.
        most: captions to translate per image, the first ones; None for all.
        beside: whether to also translate for images that have captions in the language.
        images: whether to link or copy image files.
        force: whether to update an existing folder.
        cache: folder for translations; None for the XDG cache.
        show_progress: whether to show a progress bar; None for only on a terminal.
    """
    out = Path(out)
    conversion, dataset = _load(source, cache)
    if dataset.root is not None and out.resolve() == dataset.root.resolve():
        raise ArgumentError(f"{out}: is the dataset itself; choose another folder with `out`")
    if not force and out.is_dir() and any(out.iterdir()):
        raise ArgumentError(f"{out}: exists and is not empty; choose another folder, or `force`")
    made = make_translator(translator) if isinstance(translator, str) else translator
    filled, photos = list[Filled](), dataset.images
    for code in sources:
        wanted = [target for target in targets if target != code or len(sources) == 1]
        how = made, wanted, code, kinds, most, beside, cache, show_progress
        photos, found = fill_languages(replace(dataset, images=photos), *how)
        filled += found
    if not any(one.captions for one in filled):
        _refuse(filled, sources, kinds)
    conversion = replace(conversion, images=photos, extras=_extras(dataset))
    write_folder(out, conversion, images, force)
    return TranslatedDataset(len(photos), filled, conversion.notes)


def _load(source: str | Path, cache: Path | None) -> tuple[Conversion, Dataset]:
    """The dataset, and the sources of its images by their new names."""
    dataset = load_dataset(source, cache)
    if Path(source).suffix.lower() in TABLES:
        conversion = convert_table(Path(source))
        return conversion, replace(dataset, images=conversion.images)
    files = {photo.image: dataset.path(photo) for photo in dataset.images}
    found = {name: path.absolute() for name, path in files.items() if path.is_file()}
    return Conversion(dataset.images, found), dataset


def _extras(dataset: Dataset) -> dict[str, Path]:
    """Imported features and text-only captions, if the dataset is a folder."""
    root = dataset.root
    if root is None or dataset.image_folder != root / "images":
        return {}
    return {name: root / name for name in EXTRAS}


def _refuse(filled: Sequence[Filled], sources: Sequence[str], kinds: Sequence[str]) -> None:
    named = ",".join(sources)
    if any(one.lacking for one in filled):
        raise PolyglanceError("the translator has no translation of any caption; try another one")
    if all(one.kept for one in filled):
        names = ", ".join(one.language for one in filled)
        raise PolyglanceError(f"all images have captions in {names}, or none in '{named}'")
    raise PolyglanceError(f"there are no captions in '{named}' of kind {', '.join(kinds)}")
