"""Token files of Flickr8k and Flickr30K: `name.jpg#0<TAB>caption`."""

import re
from collections.abc import Iterable
from pathlib import Path

from polyglance.data.convert.common import (
    CONVERTERS,
    Builder,
    Conversion,
    add_to_split,
    existing,
    image_list,
    keyed_captions,
)
from polyglance.data.table import hash_splits, split_name
from polyglance.errors import PolyglanceError

Row = tuple[str, str, str, str]
"""image, language, kind, caption"""

TOKENS = ("Flickr8k.token.txt", "results_20130124.token", "results.token")
LISTS = r"(?:Flickr_?\d+k\.|flickr\d+k_)?(train|dev|val|test)(?:Images)?\.txt"


@CONVERTERS.register("flickr8k")
def convert_flickr8k(
    source: Path,
    images: Path | None = None,
    *,
    language: str = "en",
    kind: str = "independent",
    lists: str = "",
) -> Conversion:
    """Flickr8k.token.txt with Flickr_8k.*Images.txt; Flickr30K's results_20130124.token.

    Without lists of splits, images are split by a hash of their names.

    Args:
        source: the folder or the token file.
        images: folder with the image files, if available.
        language: of the captions.
        kind: of the captions.
        lists: folder of the lists of splits, if it is another one.
    """
    token = source if source.is_file() else existing(source, *TOKENS)
    rows = [(image, language, kind, text) for image, _, text, _ in keyed_captions(token)]
    splits = read_lists(Path(lists) if lists else token.parent, LISTS)
    notes = []
    if not splits:
        splits = hash_splits(image for image, *_ in rows)
        notes.append(f"no lists of splits in {token.parent}: images were split 90/5/5 by name")
    builder = Builder()
    notes += add_listed(builder, rows, splits)
    return builder.finish(images, source, notes)


def add_listed(builder: Builder, rows: Iterable[Row], splits: dict[str, str]) -> list[str]:
    """Add the captions of images in a split; returns a note on the others.

    Args:
        builder: to add to.
        rows: (image, language, kind, caption).
        splits: image → split.
    """
    left: dict[str, None] = {}
    for image, language, kind, text in rows:
        if image in splits:
            builder.add(image, splits[image], language, kind, text)
        else:
            left[image] = None
    note = f"{len(left)} images with captions are in no split and were left out (such as '{{}}')"
    return [note.format(next(iter(left)))] if left else []


def read_lists(folder: Path, pattern: str) -> dict[str, str]:
    """Image → split, from the lists in a folder; the pattern's first group is the split.

    Names without an extension get `.jpg`.
    """
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such folder")
    splits: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if match := re.fullmatch(pattern, path.name):
            names = (name if Path(name).suffix else f"{name}.jpg" for name in image_list(path))
            add_to_split(splits, names, split_name(match[1]), path)
    return splits
