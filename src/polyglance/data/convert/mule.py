"""MULE's data folders (github.com/VisionLearningGroup/MULE): data/multi30k and data/coco.

`SPLIT.npy` has a vector for each image in `SPLIT.txt`. Captions are in `tokenized/`: for Multi30K
in `LANGUAGE/FILE`, one line per image; for COCO in `SPLIT_LANGUAGE_caption_list.json`, one list per
image of a corresponding text file. Machine translations, which are only in the training split, have
separate files.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from polyglance.data.convert.common import (
    CONVERTERS,
    Builder,
    Conversion,
    ImportedFeatures,
    image_list,
    lines,
    steps,
)
from polyglance.data.convert.precomp import open_array, vectors_of
from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_json

SPLITS = ("train", "val", "test")
LANGUAGES = {"cn": "zh", "jp": "ja"}
"""MULE's non-standard language codes."""
TRANSLATED = {"fr", "cs"}
"""Multi30K's languages whose captions were translated from English by people."""

Images = dict[str, list[str]]
"""split → image names in the order of its vectors"""


@CONVERTERS.register("mule")
def convert_mule(
    source: Path, images: Path | None = None, *, name: str = "resnet152"
) -> Conversion:
    """MULE's data/multi30k or data/coco: captions with machine translations, and features.

    Captions keep MULE's tokenization, with spaces between words, even in Chinese and Japanese.

    Args:
        source: the folder.
        images: folder with the image files, if available.
        name: of the imported features.
    """
    listed = _images(source)
    builder = Builder()
    folder = source / "tokenized"
    if not folder.is_dir():
        raise PolyglanceError(f"{source}: not MULE's layout, it has no folder 'tokenized'")
    if any(folder.glob("*_caption_list.json")):
        empty = _add_coco(builder, source, listed)
    else:
        empty = _add_multi30k(builder, source, listed)
    notes = [f"{empty} empty captions were left out"] if empty else []
    conversion = builder.finish(images, source, notes)
    conversion.features.append(_features(source, listed, name))
    return conversion


def _images(source: Path) -> Images:
    found = {
        split: image_list(source / f"{split}.txt")
        for split in SPLITS
        if (source / f"{split}.npy").is_file()
    }
    if not found:
        raise PolyglanceError(f"{source}: not MULE's layout, it has no train.npy with a train.txt")
    for split, names in found.items():
        rows = len(open_array(source / f"{split}.npy"))
        if rows != len(names):
            raise PolyglanceError(
                f"{source / f'{split}.npy'} has {rows} vectors but {split}.txt has {len(names)} "
                "names; they must correspond"
            )
    return found


def _features(source: Path, listed: Images, name: str) -> ImportedFeatures:
    arrays = {split: open_array(source / f"{split}.npy") for split in listed}
    dims = {rows.shape[-1] for rows in arrays.values()}
    if len(dims) > 1 or any(rows.ndim != 2 for rows in arrays.values()):
        shapes = ", ".join(f"{split}.npy {rows.shape}" for split, rows in arrays.items())
        raise PolyglanceError(f"{source}: expected a vector for each image, found {shapes}")

    def items() -> Iterator[tuple[str, np.ndarray]]:
        for split, names in listed.items():
            yield from vectors_of(names, source / f"{split}.npy")

    return ImportedFeatures(name, dims.pop(), "global", sum(map(len, listed.values())), items)


def _add_multi30k(builder: Builder, source: Path, listed: Images) -> int:
    """Add the lines of all files; returns the number of empty captions."""
    empty = 0
    for folder in sorted(path for path in (source / "tokenized").iterdir() if path.is_dir()):
        language = LANGUAGES.get(folder.name, folder.name)
        human = "translation" if language in TRANSLATED else "independent"
        for split, names in listed.items():
            # As in MULE's loader, a training file may have the split anywhere in its name.
            pattern = "*train*" if split == "train" else f"{split}*"
            for path in sorted(folder.glob(pattern)):
                kind = human if path.name.startswith(split) else "machine"
                texts = [text for _, text in lines(path)]
                if len(texts) != len(names):
                    raise PolyglanceError(
                        f"{path} has {len(texts)} lines but {source / f'{split}.txt'} has "
                        f"{len(names)}; they must correspond line by line"
                    )
                empty += _add(builder, zip(names, texts, strict=True), split, language, kind)
    return empty


def _add_coco(builder: Builder, source: Path, listed: Images) -> int:
    """Add the lists of all files; returns the number of empty captions."""
    empty = 0
    folder = source / "tokenized"
    for path in steps(sorted(folder.glob("*_caption_list.json")), "files"):
        split, _, about = path.name.removesuffix("_caption_list.json").partition("_")
        if split not in listed:
            continue
        language, names, kind = _coco_file(about)
        place = source / f"{split}.txt" if split != "train" else folder / f"train_{names}_coco.txt"
        images = image_list(place)
        groups = read_json(path)
        if not isinstance(groups, list) or len(groups) != len(images):
            raise PolyglanceError(f"{path}: needs a list of captions for each image of {place}")
        if unknown := set(images) - set(listed[split]):
            raise PolyglanceError(f"{place}: '{min(unknown)}' is not in {source / f'{split}.txt'}")
        rows = (
            (image, str(text))
            for image, texts in zip(images, groups, strict=True)
            for text in texts
        )
        empty += _add(builder, rows, split, LANGUAGES.get(language, language), kind)
    return empty


def _coco_file(about: str) -> tuple[str, str, str]:
    """(language, name of the image list, kind) from the middle part of a file name.

    >>> [_coco_file(about) for about in ("en", "jp", "en_cn")]
    [('en', 'en', 'independent'), ('jp', 'en_jp', 'independent'), ('en', 'en_cn', 'independent')]
    >>> _coco_file("cn_augment"), _coco_file("cn_to_en")
    (('cn', 'en_cn_augment', 'machine'), ('en', 'en_cn', 'machine'))
    """
    if match := re.fullmatch(r"([a-z]+)_to_([a-z]+)", about):
        return match[2], f"{match[2]}_{match[1]}", "machine"
    if match := re.fullmatch(r"([a-z]+)_augment", about):
        return match[1], f"en_{match[1]}_augment", "machine"
    if match := re.fullmatch(r"en(_[a-z]+)?", about):
        return "en", about, "independent"
    if re.fullmatch(r"[a-z]+", about):
        return about, f"en_{about}", "independent"
    raise PolyglanceError(f"'{about}': not the name of a MULE caption list")


def _add(
    builder: Builder, rows: Iterator[tuple[str, str]], split: str, language: str, kind: str
) -> int:
    empty = 0
    for image, text in rows:
        if words := " ".join(text.split()):
            builder.add(image, split, language, kind, words)
        else:
            empty += 1
    return empty
