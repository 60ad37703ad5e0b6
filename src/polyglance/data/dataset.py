"""The native dataset: images with captions by language and kind.

On disk it is a folder with `captions.jsonl.gz` (or `captions.jsonl`), one image per line,
`{"image": file, "split": name, "captions": {language: {kind: [text, …]}}}`, and `images/`.
Images are named by their paths below `images/`, so an untrusted dataset cannot refer to other
files. A line may have `"origins"`, structured like its captions: the sources of machine
translations.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import Part, content_digest, file_chunks, json_digest
from polyglance.storage.files import has_file, read_jsonl, refuse_pipe, write_jsonl_gz

Captions = dict[str, dict[str, list[str]]]
"""language → kind → texts"""

Origins = dict[str, dict[str, list[dict[str, str]]]]
"""language → kind → for each caption `translator`, `from` (a language) and `of` (the source)"""

KINDS = ("independent", "translation", "machine")
"""In order of preference for evaluation; other kinds are allowed."""


@dataclass(frozen=True, slots=True)
class CaptionedImage:
    """An image with its file name below `images/`, its split and its captions.

    >>> entry = CaptionedImage("1.jpg", "train", {"en": {"independent": ["a dog", "a pet"]}})
    >>> entry.captions["en"]["independent"][0]
    'a dog'
    """

    image: str
    split: str
    captions: Captions
    line: int = field(default=0, compare=False)
    """Line in the caption file, from 1; 0 if there is no such file."""
    origins: Origins = field(default_factory=dict)
    """Sources of captions, in the same order, for languages and kinds where they are known."""


@dataclass(frozen=True, slots=True)
class CaptionTable:
    """Captions as columns. `image[i]` is the index in `Dataset.images` of caption i's image."""

    texts: list[str]
    image: np.ndarray  # [n] int64
    languages: list[str]
    kinds: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def collect(
        cls, items: Iterable[tuple[int, Captions]], kinds: Collection[str] | None = None
    ) -> "CaptionTable":
        """From (image index, captions) pairs, in order; only of `kinds`, if given."""
        rows = [
            (text, index, language, kind)
            for index, captions in items
            for language, by_kind in captions.items()
            for kind, texts in by_kind.items()
            if kinds is None or kind in kinds
            for text in texts
        ]
        return cls(
            [row[0] for row in rows],
            np.array([row[1] for row in rows], np.int64),
            [row[2] for row in rows],
            [row[3] for row in rows],
        )

    def take(self, rows: np.ndarray) -> "CaptionTable":
        """The captions at `rows` [m], in that order."""
        return CaptionTable(
            [self.texts[row] for row in rows],
            self.image[rows],
            [self.languages[row] for row in rows],
            [self.kinds[row] for row in rows],
        )

    def join(self, other: "CaptionTable") -> "CaptionTable":
        """These captions, then the other table's."""
        return CaptionTable(
            self.texts + other.texts,
            np.concatenate([self.image, other.image]),
            self.languages + other.languages,
            self.kinds + other.kinds,
        )


GENERATED = "generated.json"
"""Marker file of a generated world's folder."""


@dataclass(frozen=True)
class Dataset:
    """Images with captions, in file order; `image_folder` contains the image files.

    >>> captions = {"en": {"independent": ["a dog"]}, "de": {"translation": ["ein Hund"]}}
    >>> images = [CaptionedImage(f"{n}.jpg", ("train", "test")[n % 2], captions) for n in range(4)]
    >>> dataset = Dataset(images, Path("images"), "dogs")
    >>> len(dataset), dataset.splits, dataset.languages
    (4, ['train', 'test'], ['de', 'en'])
    >>> dataset.split("test").captions(["de"]).texts
    ['ein Hund', 'ein Hund']
    """

    images: list[CaptionedImage]
    image_folder: Path
    name: str
    root: Path | None = None
    file: Path | None = None
    """The file with the captions."""
    locate: Callable[[CaptionedImage, str], str] | None = field(
        default=None, repr=False, compare=False
    )
    """Location of a caption, for files with several lines per image."""
    hashed: bool = field(default=False, compare=False)
    """Whether the splits are by a hash of the names, because the source does not have any."""
    _splits: dict[str, "Dataset"] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.images)

    def path(self, entry: CaptionedImage) -> Path:
        """Path of the image's file."""
        return self.image_folder / entry.image

    @property
    def drawings(self) -> bool:
        """Whether the images are generated, not photographs."""
        named = self.name.partition(":")[0] == "generated"
        return named or any(
            (self.path(entry).parent.parent / GENERATED).is_file() for entry in self.images[:1]
        )

    @property
    def label(self) -> str:
        """Name of the dataset in errors: its file, or else its name."""
        return str(self.file or self.name)

    def where(self, entry: CaptionedImage, text: str) -> str:
        """Location of a caption for errors: file and line."""
        if self.locate is not None:
            return self.locate(entry, text)
        place = f"line {entry.line}" if entry.line else f"image {entry.image}"
        return f"{self.label}, {place}"

    def paths(self) -> list[Path]:
        """Paths of all image files, in the order of `images`."""
        return [self.path(entry) for entry in self.images]

    @property
    def splits(self) -> list[str]:
        """Names of the splits, in order of first appearance."""
        return list(dict.fromkeys(entry.split for entry in self.images))

    @property
    def languages(self) -> list[str]:
        """All languages with at least one caption, sorted."""
        found = (item for entry in self.images for item in entry.captions.items())
        return sorted({code for code, kinds in found if any(kinds.values())})

    def split(self, name: str) -> "Dataset":
        """The images of one split; raises `PolyglanceError` if there is no such split."""
        if name not in self._splits:
            entries = [entry for entry in self.images if entry.split == name]
            if not entries:
                hint = nearest(name, self.splits)
                raise PolyglanceError(
                    f"{self.label}: there is no split '{name}'{hint}; "
                    "choose another, or add images to it"
                )
            self._splits[name] = replace(self, images=entries)
        return self._splits[name]

    def captions(
        self, languages: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> CaptionTable:
        """Captions of the given languages and kinds (all by default), image by image."""
        for code in languages or ():
            if code not in self.languages:
                hint = nearest(code, self.languages)
                raise PolyglanceError(f"{self.label}: no captions in language '{code}'{hint}")
        chosen = (
            {code: entry.captions.get(code, {}) for code in languages or sorted(entry.captions)}
            for entry in self.images
        )
        return CaptionTable.collect(enumerate(chosen), kinds)

    def best_kind(self, language: str) -> str:
        """The kind a language is evaluated on: `independent` if available, else another."""
        found = (entry.captions.get(language, {}).items() for entry in self.images)
        present = {kind for kinds in found for kind, texts in kinds if texts}
        ranked = [kind for kind in KINDS if kind in present] + sorted(present - set(KINDS))
        if not ranked:
            hint = nearest(language, self.languages)
            raise PolyglanceError(f"{self.label}: no captions in language '{language}'{hint}")
        return ranked[0]


def caption_file(folder: Path) -> Path:
    """The folder's caption file, gzipped or plain; an error if it has both, as they may differ."""
    names = ("captions.jsonl.gz", "captions.jsonl")
    files = [folder / name for name in names if has_file(folder / name)]
    if len(files) > 1:
        raise PolyglanceError(f"{folder}: has both {names[0]} and {names[1]}; remove one of them")
    if files:
        return files[0]
    raise PolyglanceError(
        f"{folder}: not a dataset folder, it has no captions.jsonl.gz "
        "(convert other layouts with 'polyglance data convert')"
    )


def load_folder(folder: Path) -> Dataset:
    """Read a native dataset folder; errors state the line."""
    path = caption_file(folder)
    entries = list(read_entries(path))
    if not entries:
        raise PolyglanceError(f"{path}: the file contains no images")
    return Dataset(entries, folder / "images", folder.name or str(folder), folder, path)


def read_entries(path: Path) -> Iterator[CaptionedImage]:
    """The images of a caption file; errors state the line."""
    for number, value in read_jsonl(path):
        yield _entry(value, path, number)


def save_folder(folder: Path, entries: Iterable[CaptionedImage]) -> None:
    """Write `captions.jsonl.gz` of a native dataset folder, atomically."""
    rows = (
        {"image": p.image, "split": p.split, "captions": p.captions}
        | ({"origins": p.origins} if p.origins else {})
        for p in entries
    )
    write_jsonl_gz(folder / "captions.jsonl.gz", rows)


def _entry(value: Any, path: Path, line: int) -> CaptionedImage:
    where = f"{path}, line {line}"
    if not isinstance(value, dict):
        raise PolyglanceError(f"{where}: expected an object with image, split and captions")
    for name in ("image", "split"):
        if not isinstance(value.get(name), str) or not value[name]:
            raise PolyglanceError(f"{where}: field '{name}' must be a non-empty string")
    if not is_inside(value["image"]):
        raise PolyglanceError(
            f"{where}: image {value['image']!r} is not a name below images/; "
            "put the file there, or link it"
        )
    captions = check_captions(value.get("captions"), where)
    origins = _check_origins(value.get("origins", {}), captions, where)
    return CaptionedImage(value["image"], value["split"], captions, line, origins)


def check_captions(value: Any, where: str) -> Captions:
    """Validate captions of the form {language: {kind: [text, …]}}; empty texts are errors."""
    if not isinstance(value, dict):
        raise PolyglanceError(f"{where}: field 'captions' must be {{language: {{kind: [text]}}}}")
    for code, kinds in value.items():
        if not code.strip():
            raise PolyglanceError(f"{where}: a language has no name; write its code, such as en")
        if not isinstance(kinds, dict):
            raise PolyglanceError(f"{where}: captions.{code} must be {{kind: [text, …]}}")
        for kind, texts in kinds.items():
            if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
                raise PolyglanceError(f"{where}: captions.{code}.{kind} must be a list of texts")
            if not kind.strip():
                raise PolyglanceError(f"{where}: a kind of captions.{code} has no name")
            if any(not text.strip() for text in texts):
                raise PolyglanceError(
                    f"{where}: captions.{code}.{kind} has an empty caption; remove it"
                )
    return value


def _check_origins(value: Any, captions: Captions, where: str) -> Origins:
    """Validate origins: one object of texts per caption of the languages and kinds it has."""
    form = f"{where}: field 'origins' must be {{language: {{kind: [{{name: text}}, …]}}}}"
    if not isinstance(value, dict) or not all(isinstance(kinds, dict) for kinds in value.values()):
        raise PolyglanceError(form)
    for code, kinds in value.items():
        for kind, found in kinds.items():
            if not isinstance(found, list) or not all(map(_is_texts, found)):
                raise PolyglanceError(form)
            texts = captions.get(code, {}).get(kind, [])
            if len(found) != len(texts):
                raise PolyglanceError(
                    f"{where}: origins.{code}.{kind} has {len(found)} entries for "
                    f"{len(texts)} captions; there must be one per caption"
                )
    return value


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def is_inside(image: str) -> bool:
    """Whether an image's name refers to a file below its folder.

    >>> is_inside("2014/a.jpg"), is_inside("../a.jpg"), is_inside("/a.jpg")
    (True, False, False)
    """
    path = PurePosixPath(image)
    valid = bool(path.parts) and "\0" not in image
    return valid and not path.is_absolute() and ".." not in path.parts


def dataset_fingerprint(dataset: Dataset) -> str:
    """Digest of the images' names, splits and captions, in order, and of text-only captions."""
    return content_digest(_parts(dataset))


def _parts(dataset: Dataset) -> Iterator[Part]:
    for entry in dataset.images:
        yield json_digest([entry.image, entry.split, entry.captions])
    if dataset.root is not None:
        for path in sorted(dataset.root.glob("text-only.jsonl*")):
            refuse_pipe(path)
            yield from file_chunks(path)
