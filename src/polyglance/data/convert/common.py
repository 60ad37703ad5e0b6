"""Shared by converters: the result of a conversion, reading lines, finding image files."""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from polyglance.core.progress import Bar
from polyglance.core.registry import Registry
from polyglance.data.dataset import CaptionedImage
from polyglance.errors import PolyglanceError
from polyglance.storage.files import bounded, open_text, read_json

T = TypeVar("T")


@dataclass(frozen=True)
class ImportedFeatures:
    """Image features to import: `items` yields (image name or id, vectors [n, dim])."""

    name: str
    dim: int
    form: Literal["global", "set"]
    total: int
    items: Callable[[], Iterator[tuple[str, np.ndarray]]]


@dataclass
class Conversion:
    """The result of a converter. Without images, its features are for an existing dataset."""

    images: list[CaptionedImage] = field(default_factory=list)
    sources: dict[str, Path] = field(default_factory=dict)
    """Image name → its file; empty if there are no files."""
    features: list[ImportedFeatures] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    noun: str = "images"
    """The noun for images in summaries."""
    text_only: list[Any] = field(default_factory=list)
    """Lines of the file of text-only captions."""
    extras: dict[str, Path] = field(default_factory=dict)
    """Other files and folders to link or copy like images, by their names in the folder."""


Converter = Callable[..., Conversion]
"""(source, images, *, options) → Conversion: reads `source`, a file or folder in its original
layout; `images` is the folder with the image files, if available."""

CONVERTERS: Registry[Converter] = Registry("layout")


class Builder:
    """Collects captions by image and split, in order of first appearance."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], CaptionedImage] = {}

    def add(self, image: str, split: str, language: str, kind: str, text: str) -> None:
        """Add a caption.

        Args:
            image: name of the image; its first caption creates an entry.
            split: of the image.
            language: of the caption.
            kind: of the caption.
            text: the caption.
        """
        entry = self._entries.setdefault((split, image), CaptionedImage(image, split, {}))
        entry.captions.setdefault(language, {}).setdefault(kind, []).append(text)

    def add_lines(
        self, path: Path, names: tuple[Path, list[str]], split: str, language: str, kind: str
    ) -> None:
        """Add the captions of a file whose lines correspond to a list of images.

        Args:
            path: the file, one caption per line.
            names: file of the list, and the image names in it.
            split: of all images.
            language: of all captions.
            kind: of all captions.
        """
        rows = list(lines(path))
        if len(rows) != len(names[1]):
            raise PolyglanceError(
                f"{path} has {len(rows)} lines but {names[0]} has {len(names[1])}; "
                "they must correspond line by line"
            )
        for (number, line), image in zip(rows, names[1], strict=True):
            self.add(image, split, language, kind, caption(line, f"{path}, line {number}"))

    def finish(self, images: Path | None, source: Path, notes: Iterable[str] = ()) -> Conversion:
        """The conversion.

        Args:
            images: folder with the image files, if available.
            source: for errors.
            notes: for the user.
        """
        entries = list(self._entries.values())
        if not entries:
            raise PolyglanceError(f"{source}: no captions found")
        found, missing = find_images([entry.image for entry in entries], images)
        return Conversion(entries, found, [], [*notes, *missing])


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, stripped line) of a text or `.gz` file, without BOM and CR LF.

    Only a line feed ends a line, so that stray carriage returns and Unicode separators in captions
    do not misalign parallel files.
    """
    number = 0
    try:
        with open_text(path) as handle:
            handle.reconfigure(newline="\n")  # type: ignore[attr-defined]
            for number, line in enumerate(bounded(handle.readline, path), 1):
                yield number, (line.removeprefix("\ufeff") if number == 1 else line).strip()
    except (UnicodeDecodeError, EOFError, OSError) as error:
        where = f"{path}, after line {number}"
        raise PolyglanceError(f"{where}: the file is damaged or not UTF-8 ({error})") from None


def read_listing(path: Path, field: str, layout: str) -> dict[str, Any]:
    """Read a JSON file that has a list of entries.

    Args:
        path: the file.
        field: name of the list; an error if it is missing.
        layout: for errors.
    """
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get(field), list):
        raise PolyglanceError(f"{path}: not {layout}'s layout, it has no list '{field}'")
    return value


def caption(text: str, where: str) -> str:
    """A caption as one line of text; Python's b'…' is decoded, and an empty one is an error."""
    # Python 3 ports of VSRN and vsepp write captions like this.
    if text[:2] in ("b'", 'b"') and text[-1] == text[1] and len(text) > 2:
        try:
            text = ast.literal_eval(text).decode("utf-8")
        except (SyntaxError, ValueError):
            raise PolyglanceError(
                f"{where}: the caption is Python bytes, not text; save it as UTF-8 text"
            ) from None
    text = re.sub(r"\s*[\r\n\t]\s*", " ", text.strip())
    if not text:
        raise PolyglanceError(f"{where}: the caption is empty")
    return text


def steps(items: Collection[T], noun: str) -> Iterator[T]:
    """Yield from many small items, with a rarely updated progress bar."""
    with Bar("converting", len(items), noun) as bar:
        for number, item in enumerate(items, 1):
            yield item
            if number % 1000 == 0:
                bar.advance(1000)


def keyed_captions(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield (image, tag, caption, where) of lines `image#tag#0 caption`; the tag may be absent."""
    for number, line in lines(path):
        if not line:
            continue
        where = f"{path}, line {number}"
        match = re.match(r"(\S+?)(?:#(\w+))?#(\d+)\s+(.*\S)", line)
        if not match:
            raise PolyglanceError(f"{where}: expected 'image#number', white space and a caption")
        yield match[1], match[2] or "", caption(match[4], where), where


def image_list(path: Path) -> list[str]:
    """The image names of a list, one per line, up to any `#`."""
    return [line.split("#")[0].strip() for _, line in lines(path) if line]


def add_to_split(splits: dict[str, str], names: Iterable[str], split: str, path: Path) -> None:
    """Assign names to a split.

    Args:
        splits: name → split; updated.
        names: of images or clips; an error if one is already in another split.
        split: their split.
        path: the list, for errors.
    """
    for name in names:
        if splits.setdefault(name, split) != split:
            raise PolyglanceError(f"{path}: '{name}' is also in the list of split '{splits[name]}'")


def find_images(names: Iterable[str], folder: Path | None) -> tuple[dict[str, Path], list[str]]:
    """Find image files at any depth below a folder: (name → absolute path, notes on missing ones).

    A name of digits also matches a file whose name starts with these digits and `_`: Flickr8k and
    Flickr30K call the same image 1000268201_693b08cb0e.jpg and 1000268201.jpg.
    """
    if folder is None:
        return {}, []
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such folder of images")
    files = sorted(path for path in folder.resolve().rglob("*") if path.is_file())
    index = {_flickr_id(path): path for path in files} | {path.name: path for path in files}
    index |= {path.relative_to(folder.resolve()).as_posix(): path for path in files}
    found, missing = {}, []
    for name in dict.fromkeys(names):
        keys = (name, Path(name).name, Path(name).stem)
        if file := next((index[key] for key in keys if key in index), None):
            found[name] = file
        else:
            missing.append(name)
    if not found:
        raise PolyglanceError(
            f"{folder}: contains none of the {len(missing)} images (the first is '{missing[0]}')"
        )
    if not missing:
        return found, []
    return found, [f"{len(missing)} images are not in {folder} (the first is '{missing[0]}')"]


def _flickr_id(path: Path) -> str:
    head, separator, _ = path.stem.partition("_")
    return head if separator and head.isdigit() else path.name


def existing(folder: Path, *names: str) -> Path:
    """The first of `names` that exists in the folder; an error if there is none."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise PolyglanceError(f"{folder}: there is no {' or '.join(names)}")


def one_of(name: str, value: str, *allowed: str) -> str:
    """Return `value` if it is allowed; otherwise raise an error.

    Args:
        name: of the option, for the error.
        value: of the option.
        *allowed: its possible values.
    """
    if value not in allowed:
        raise PolyglanceError(f"option {name} must be one of {', '.join(allowed)}, not '{value}'")
    return value
