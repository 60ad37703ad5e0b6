"""Token files of Flickr8k and Flickr30K: `name.jpg#0<TAB>caption`."""

import re
from pathlib import Path

from polyglance.data.convert.common import (
    CONVERTERS,
    Builder,
    Conversion,
    existing,
    image_list,
    keyed_captions,
)
from polyglance.data.table import hash_splits, split_name
from polyglance.errors import PolyglanceError

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

    `source` is the folder or the token file, `lists` another folder with the lists of splits.
    Without any list the split follows from a hash of the image's name.
    """
    token = source if source.is_file() else existing(source, *TOKENS)
    rows = [(image, text) for image, _, text, _ in keyed_captions(token)]
    splits = read_lists(Path(lists) if lists else token.parent, LISTS)
    notes = []
    if not splits:
        splits = hash_splits(image for image, _ in rows)
        notes.append(f"no lists of splits in {token.parent}: images were split 90/5/5 by name")
    return from_rows(rows, splits, language, kind).finish(
        images, source, [*notes, *unlisted([image for image, _ in rows], splits)]
    )


def from_rows(
    rows: list[tuple[str, str]], splits: dict[str, str], language: str, kind: str
) -> Builder:
    """A builder that holds the (image, caption) rows whose image is in a split."""
    builder = Builder()
    for image, text in rows:
        if image in splits:
            builder.add(image, splits[image], language, kind, text)
    return builder


def read_lists(folder: Path, pattern: str) -> dict[str, str]:
    """Image → split from the lists in a folder; the pattern's first group is the split's name.

    Names without an extension get `.jpg`.
    """
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such folder")
    splits: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if match := re.fullmatch(pattern, path.name):
            for name in image_list(path):
                image = name if Path(name).suffix else f"{name}.jpg"
                split = split_name(match[1])
                if splits.setdefault(image, split) != split:
                    raise PolyglanceError(
                        f"{path}: '{name}' is also in the list of split '{splits[image]}'"
                    )
    return splits


def unlisted(images: list[str], splits: dict[str, str]) -> list[str]:
    """A note on images with captions that are in no split."""
    left = [image for image in dict.fromkeys(images) if image not in splits]
    note = f"{len(left)} images with captions are in no split and left out (such as '{{}}')"
    return [note.format(left[0])] if left else []
