"""VATEX: English and Chinese captions of clips, one array of frames (I3D segments) per clip."""

from pathlib import Path
from typing import Any

from polyglance.data.convert.clips import (
    Clips,
    check_options,
    hold_out,
    json_files,
    read_lists,
    text_field,
)
from polyglance.data.convert.common import CONVERTERS, Conversion, steps
from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_json

LANGUAGES = {"enCap": "en", "chCap": "zh"}
REGULAR = 5
"""Number of Chinese captions written for the clip; those after them are translations of the
English ones at the same positions (Wang et al. 2019)."""


@CONVERTERS.register("vatex")
def convert_vatex(
    source: Path,
    images: Path | None = None,
    *,
    split: str = "official",
    frames: str = "",
    name: str = "frames",
    max_frames: int = 0,
    lists: str = "",
) -> Conversion:
    """VATEX: vatex_training, validation and public_test JSON and an array of frames per clip.

    Args:
        source: the folder.
        images: must be None, since clips are arrays.
        split: `official` (the public test is `test`) or `halves` (half of the validation clips,
            chosen by a hash, are `test`; also if there is no test file with captions).
        frames: folder of the arrays CLIP.npy or CLIP.npz, [frames, dim] or [1, frames, dim];
            the source by default.
        name: of the imported features.
        max_frames: most frames per clip, evenly spaced; 0 for all.
        lists: folder of lists of clips, instead of `split`.
    """
    check_options(images, lists, split, "official", "halves")
    clips = Clips()
    for path in json_files(source, "*vatex*.json"):
        part = _part(path)
        if part and not (part == "test" and split == "halves"):
            _read(path, part, clips)
    if lists:
        clips.splits = read_lists(Path(lists))
    elif not clips.of_split("test"):
        _halve(clips, note=split == "official")
    clips.fill_val()
    return clips.finish(source, frames, name, max_frames)


def _part(path: Path) -> str:
    """The split of a file, from its name; "" for the private test set, which has no captions."""
    name = path.name.lower()
    if "private" in name or "without_annotations" in name:
        return ""
    return next((part for part in ("train", "val", "test") if part in name), "")


def _halve(clips: Clips, note: bool) -> None:
    validation = clips.of_split("val")
    half = hold_out(validation, len(validation) // 2)
    clips.move(half, "test")
    if note and half:
        clips.notes.append(
            f"there is no test file with captions: half of the validation clips ({len(half)}) are "
            "the test split"
        )


def _read(path: Path, part: str, clips: Clips) -> None:
    value = read_json(path)
    if not isinstance(value, list):
        raise PolyglanceError(f"{path}: not VATEX's layout, which is a list of clips")
    for number, entry in enumerate(steps(value, "clips")):
        where = f"{path}, [{number}]"
        clip = text_field(entry, "videoID", where)
        if clips.splits.setdefault(clip, part) != part:
            raise PolyglanceError(f"{where}: clip '{clip}' is also in split '{clips.splits[clip]}'")
        _add(clip, entry, where, clips)


def _add(clip: str, entry: dict[str, Any], where: str, clips: Clips) -> None:
    present = clips.languages(clip)
    for key, language in LANGUAGES.items():
        texts = entry.get(key) or []
        if not isinstance(texts, list):
            raise PolyglanceError(f"{where}: field '{key}' must be a list of texts")
        if texts and language in present:
            raise PolyglanceError(f"{where}: '{clip}' has its {key} twice; remove one of the files")
        for place, text in enumerate(texts):
            translated = language == "zh" and place >= REGULAR
            kind = "translation" if translated else "independent"
            clips.add(clip, language, kind, text, f"{where}.{key}[{place}]")
