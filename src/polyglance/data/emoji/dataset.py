"""A dataset folder of emoji with their names, split by concept."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.core.progress import Bar
from polyglance.core.registry import nearest
from polyglance.data.dataset import CaptionedImage, Captions, save_folder
from polyglance.data.emoji.images import compose, find_emoji_images
from polyglance.data.emoji.names import Names, read_names
from polyglance.data.emoji.sequences import concept, plain
from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_json
from polyglance.storage.staging import staged

KIND = "name"
SIGNS = frozenset({"Flags", "Symbols", "Component"})
"""Categories of emoji that photographs do not show."""


@dataclass(frozen=True)
class EmojiOptions:
    """What to include in the dataset.

    Args:
        languages: of the names; None for all.
        listing: `emoji.json` of an emoji-datasource package, which has the categories.
        categories: to include; None for all except `SIGNS`. Without a listing, all emoji.
        held_out: share of concepts in val and test together, half each.
        background: colour behind the emoji.
    """

    languages: list[str] | None = None
    listing: Path | None = None
    categories: list[str] | None = None
    held_out: float = 0.25
    background: str = "white"


@dataclass(frozen=True)
class Written:
    """The written images."""

    images: list[CaptionedImage]
    dropped: int
    """Names removed from train because a held-out concept has the same name."""


def write_emoji(
    out: Path, names: Path, image_folders: Mapping[str, Path], options: EmojiOptions | None = None
) -> Written:
    """Write a dataset folder with an image for each emoji of each style.

    Args:
        out: the folder, absent or empty.
        names: of emoji; see `read_names`.
        image_folders: style, a subfolder of images in OUT, → folder of its files.
        options: what to include.
    """
    options = options or EmojiOptions()
    if not 0 <= options.held_out <= 1:
        raise PolyglanceError(f"held out: {options.held_out} is not a share from 0 to 1")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PolyglanceError(f"{out}: exists and is not empty; choose another folder")
    found = {style: find_emoji_images(folder) for style, folder in image_folders.items()}
    wanted = _listed(options)
    captions = _captions(read_names(names, options.languages), wanted)
    splits = {sequence: split_of(concept(sequence), options.held_out) for sequence in captions}
    dropped = _drop_held_out(captions, splits)
    files = {
        # The u prevents digits from being taken for a COCO or Flickr number.
        f"{style}/u{'-'.join(f'{ord(point):x}' for point in sequence)}.png": (sequence, path)
        for style, own in found.items()
        for sequence, path in own.items()
        if captions.get(sequence)
    }
    if not files:
        raise PolyglanceError("no emoji image has a name; are these the right folders?")
    rows = [CaptionedImage(n, splits[key], captions[key]) for n, (key, _) in files.items()]
    with staged(out) as staging, Bar("emoji", len(files), "images") as bar:
        for name, (_, path) in files.items():
            target = staging / "images" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            compose(path, options.background).save(target)
            bar.advance()
        save_folder(staging, rows)
    return Written(rows, dropped)


def split_of(key: str, held_out: float) -> str:
    """The split of a concept, from a hash: train, val or test.

    >>> [split_of(key, 0.25) for key in ("1f34e", "1f408", "1f697")], split_of("1f34e", 0.0)
    (['train', 'train', 'train'], 'train')
    """
    share = int.from_bytes(hashlib.sha256(key.encode()).digest()[:6], "big") / 2**48
    if share >= held_out:
        return "train"
    return "val" if share < held_out / 2 else "test"


def _captions(names: Names, wanted: set[str] | None) -> dict[str, Captions]:
    found: dict[str, Captions] = {}
    for language, own in names.items():
        for sequence, name in own.items():
            if wanted is None or sequence in wanted:
                found.setdefault(sequence, {})[language] = {KIND: [name]}
    return found


def _drop_held_out(captions: dict[str, Captions], splits: Mapping[str, str]) -> int:
    """Remove names from train that a concept of val or test has in the same language."""
    held = {
        (language, kinds[KIND][0].casefold())
        for sequence, own in captions.items()
        if splits[sequence] != "train"
        for language, kinds in own.items()
    }
    dropped = 0
    for sequence, own in captions.items():
        if splits[sequence] == "train":
            for language in [
                k for k, kinds in own.items() if (k, kinds[KIND][0].casefold()) in held
            ]:
                del own[language]
                dropped += 1
    return dropped


def _listed(options: EmojiOptions) -> set[str] | None:
    """The emoji of the selected categories; None for all."""
    path = options.listing
    if path is None:
        if options.categories:
            raise PolyglanceError("categories need a listing: emoji.json of emoji-datasource")
        return None
    by_category: dict[str, set[str]] = {}
    value: Any = read_json(path)
    for entry in value if isinstance(value, list) else [{}]:
        try:
            points = [int(part, 16) for part in entry["unified"].split("-")]
            by_category.setdefault(entry["category"], set()).add(plain("".join(map(chr, points))))
        except (TypeError, KeyError, ValueError, AttributeError):
            raise PolyglanceError(
                f"{path}: not the list of an emoji-datasource package, whose entries have "
                "'unified' and 'category'"
            ) from None
    chosen = options.categories or sorted(set(by_category) - SIGNS)
    for name in chosen:
        if name not in by_category:
            raise PolyglanceError(f"{path}: no category '{name}'{nearest(name, list(by_category))}")
    return set().union(*(by_category[name] for name in chosen))
