"""Writes a conversion as a dataset folder, atomically."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from polyglance.core.progress import track
from polyglance.data.convert.common import Conversion, ImportedFeatures
from polyglance.data.dataset import CaptionedImage, is_inside, load_folder, save_folder
from polyglance.data.text_only import FILE as TEXT_ONLY
from polyglance.errors import PolyglanceError
from polyglance.storage.files import write_jsonl_gz
from polyglance.storage.staging import staged

ImageMode = Literal["symlink", "link", "copy"]
StoreWriter = Callable[[Path, ImportedFeatures], None]
"""Writes features as a store into a new folder; passed in, as it is in `vision`, which imports
this room."""


def write_folder(
    out: Path,
    conversion: Conversion,
    images: ImageMode = "symlink",
    force: bool = False,
    write_store: StoreWriter | None = None,
) -> None:
    """Write `captions.jsonl.gz`, `images/` and the other parts of a conversion, or nothing.

    Args:
        out: the dataset folder, absent or empty.
        conversion: the result of a converter.
        images: whether to link or copy image files.
        force: whether to update an existing dataset; image files that are not links are never
            overwritten.
        write_store: writes features; None to omit them.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        if not force or not (out / "captions.jsonl.gz").is_file():
            hint = "" if force else ", or --force to convert a dataset again"
            raise PolyglanceError(f"{out}: exists and is not empty; choose another folder{hint}")
        _convert_again(out.resolve(), conversion, images, write_store)
        return
    with staged(out) as staging:
        _fill(staging, conversion, images, write_store)


def write_features(
    dataset: Path, features: ImportedFeatures, write_store: StoreWriter, force: bool = False
) -> list[str]:
    """Import features into a dataset folder; returns notes on images without features.

    Args:
        dataset: the folder.
        features: the features, by image name or id.
        write_store: writes the features.
        force: whether to replace features with the same name.
    """
    target = dataset / "features" / features.name
    if target.exists() and not force:
        raise PolyglanceError(f"{target}: exists; set another -o name=… or --force to replace it")
    names = list(dict.fromkeys(entry.image for entry in load_folder(dataset).images))
    matched = match_names(names)
    seen: set[str] = set()
    unknown = 0

    def items() -> Iterator[tuple[str, np.ndarray]]:
        nonlocal unknown
        for identity, vectors in features.items():
            image = matched.get(identity) or matched.get(name_number(identity))
            if image is None or image in seen:
                unknown += 1
                continue
            seen.add(image)
            yield image, vectors

    known = ImportedFeatures(features.name, features.dim, features.form, len(names), items)
    with staged(target) as staging:
        write_store(staging, known)
        if not seen:
            raise PolyglanceError(
                f"{dataset}: none of the {unknown} image ids of the features is one of its images"
            )
    notes = []
    if unknown:
        notes.append(f"{unknown} features belong to no image of the dataset and were left out")
    if missing := [name for name in names if name not in seen]:
        notes.append(f"{len(missing)} images have no features (the first is '{missing[0]}')")
    return notes


def match_names(names: Iterable[str]) -> dict[str, str]:
    """Image name, stem, COCO number or Flickr number → the image.

    >>> match_names(["COCO_val2014_000000000042.jpg"])["42"]
    'COCO_val2014_000000000042.jpg'
    """
    numbers: dict[str, str | None] = {}
    exact: dict[str, str] = {}
    for name in names:
        path = PurePosixPath(name)
        exact |= {name: name, path.name: name, path.stem: name}
        number = name_number(path.stem)
        if number:
            numbers[number] = None if number in numbers else name
    return {number: name for number, name in numbers.items() if name} | exact


def name_number(text: str) -> str:
    """The number in a COCO or Flickr name, without leading zeros, or "".

    >>> name_number("COCO_val2014_000000000042.jpg"), name_number("1000268201_693b08cb0e")
    ('42', '1000268201')
    >>> name_number("a1")
    ''
    """
    match = re.fullmatch(r"(?:COCO_\w+?_)?0*(\d+)|0*(\d+)_[0-9a-f]+", PurePosixPath(text).stem)
    return (match[1] or match[2]) if match else ""


def drop_missing(conversion: Conversion) -> Conversion:
    """Remove images whose file was not found.

    Clips have no files, and those without an array are already omitted.
    """
    if conversion.noun == "clips":
        return conversion
    kept = [entry for entry in conversion.images if entry.image in conversion.sources]
    if not kept:
        raise PolyglanceError("no image file was found; set the folder with --pictures")
    left = len(conversion.images) - len(kept)
    notes = [*conversion.notes, f"{left} images without a file were left out"]
    return replace(conversion, images=kept, notes=notes)


def _fill(
    folder: Path, conversion: Conversion, images: ImageMode, write_store: StoreWriter | None
) -> None:
    _check_names(conversion.images)
    sources = conversion.sources
    for name in track(sources, "files", len(sources), "images"):
        _place(sources[name], folder / "images" / name, images)
    for features in conversion.features if write_store else ():
        target = folder / "features" / features.name
        with staged(target) as staging:
            write_store(staging, features)  # type: ignore[misc]
    for name, source in conversion.extras.items():
        _place_extra(source, folder / name, images)
    if conversion.text_only:
        write_jsonl_gz(folder / TEXT_ONLY, conversion.text_only)
    save_folder(folder, conversion.images)


def _convert_again(
    out: Path, conversion: Conversion, images: ImageMode, write_store: StoreWriter | None
) -> None:
    """Replace `out` with a new folder that keeps everything unrelated to the conversion."""
    if os.path.ismount(out) or not os.access(out.parent, os.W_OK):
        _fill(
            out, conversion, images, write_store
        )  # file by file, as the folder cannot be replaced
        return
    with staged(out) as staging:
        replaced = {out / "captions.jsonl.gz"}
        replaced |= {out / TEXT_ONLY} if conversion.text_only else set()
        replaced |= {out / "features" / one.name for one in conversion.features if write_store}
        for name, source in conversion.sources.items():
            target = out / "images" / name
            if target.is_symlink() or (images == "copy" and _is_beginning(target, source)):
                replaced.add(target)
        _carry_over(out, staging, replaced)
        _fill(staging, conversion, images, write_store)


def _carry_over(old: Path, new: Path, replaced: set[Path]) -> None:
    """Hard-link the files of a folder, except `replaced` ones, into another."""
    new.mkdir(parents=True, exist_ok=True)
    for path in sorted(old.iterdir()):
        if path in replaced:
            continue
        if path.is_symlink():
            (new / path.name).symlink_to(os.readlink(path))
        elif path.is_dir():
            _carry_over(path, new / path.name, replaced)
        else:
            _link_or_copy(path, new / path.name)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _is_beginning(target: Path, source: Path) -> bool:
    """Whether a file is a partial copy of `source`, left by a killed process."""
    try:
        size = target.stat().st_size
        if not stat.S_ISREG(target.lstat().st_mode) or size >= source.stat().st_size:
            return False
        with target.open("rb") as copied, source.open("rb") as whole:
            while block := copied.read(1 << 20):
                if whole.read(len(block)) != block:
                    return False
        return True
    except OSError:
        return False


def _check_names(entries: list[CaptionedImage]) -> None:
    for entry in entries:
        if not is_inside(entry.image):
            raise PolyglanceError(f"'{entry.image}': not a name below images/")


def _place(source: Path, target: Path, mode: ImageMode) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            target.unlink()
        if target.exists():
            return
        if mode == "symlink":
            target.symlink_to(source.absolute())
        elif mode == "link":
            os.link(source, target)
        else:
            _copy(source, target)
    except OSError as error:
        raise PolyglanceError(f"{target}: cannot {mode} {source} there ({error})") from None


def _place_extra(source: Path, target: Path, mode: ImageMode) -> None:
    """Link or copy a file or folder, unless there is one that is not a link."""
    if target.is_symlink():
        target.unlink()
    if not source.exists() or target.exists():
        return
    if mode != "copy":
        target.symlink_to(source.absolute())
    elif source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def _copy(source: Path, target: Path) -> None:
    """Copy a file atomically."""
    part = target.with_name(f".{target.name[:200]}.part")
    try:
        shutil.copyfile(source, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
