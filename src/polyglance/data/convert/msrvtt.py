"""MSR-VTT: JSON with videos and sentences, one array of frames per clip."""

import csv
from collections.abc import Iterator
from pathlib import Path

from polyglance.data.convert.clips import Clips, check_options, json_files, read_lists, text_field
from polyglance.data.convert.common import CONVERTERS, Conversion, lines, read_listing, steps
from polyglance.data.table import split_name
from polyglance.errors import PolyglanceError

JSON = ("*videodatainfo*.json", "MSRVTT_data*.json", "msrvtt_data*.json")
CSV = "MSRVTT_JSFUSION_test.csv"


@CONVERTERS.register("msrvtt")
def convert_msrvtt(
    source: Path,
    images: Path | None = None,
    *,
    split: str = "full",
    frames: str = "",
    name: str = "frames",
    max_frames: int = 0,
    lists: str = "",
) -> Conversion:
    """MSR-VTT: *_videodatainfo.json (or MSRVTT_data.json) and an array of frames per clip.

    Args:
        source: the folder.
        images: must be None, since clips are arrays.
        split: `full` (6,513/497/2,990), `1k-a` (test on the 1,000 clips and sentences of
            MSRVTT_JSFUSION_test.csv, training on the other 9,000 except the official validation
            clips) or `1k-a-7k` (the same test, training on the official training clips).
        frames: folder of the arrays CLIP.npy or CLIP.npz, [frames, dim] or [1, frames, dim];
            the source by default.
        name: of the imported features.
        max_frames: most frames per clip, evenly spaced; 0 for all.
        lists: folder of lists of clips, instead of `split`.
    """
    check_options(images, lists, split, "full", "1k-a", "1k-a-7k")
    clips = Clips()
    for path in json_files(source, *JSON):
        _read(path, clips)
    if split != "full":
        _one_thousand(source, clips, keep_rest=split == "1k-a")
    if lists:
        clips.splits = read_lists(Path(lists))
    clips.fill_val()
    return clips.finish(source, frames, name, max_frames)


def _read(path: Path, clips: Clips) -> None:
    value = read_listing(path, "videos", "MSR-VTT")
    for number, entry in enumerate(value["videos"]):
        where = f"{path}, videos[{number}]"
        clip = text_field(entry, "video_id", where).strip()
        name = text_field(entry, "split", where).strip().lower()
        clips.splits[clip] = {"validate": "val"}.get(name, split_name(name))
    sentences = value.get("sentences") or []
    if not isinstance(sentences, list):
        raise PolyglanceError(f"{path}: field 'sentences' must be a list")
    for number, entry in enumerate(steps(sentences, "captions")):
        where = f"{path}, sentences[{number}]"
        clip = text_field(entry, "video_id", where).strip()
        clips.add(clip, "en", "independent", entry.get("caption"), where)


def _one_thousand(source: Path, clips: Clips, keep_rest: bool) -> None:
    """Test on JSFusion's clips and sentences; other test clips go to train, or are dropped."""
    (path,) = json_files(source, CSV)
    chosen = list(_rows(path))
    rest = clips.of_split("test")
    if keep_rest:
        clips.move(rest, "train")
    else:
        for clip in rest:
            clips.splits.pop(clip)
    for clip, text, where in chosen:
        if not clips.languages(clip):
            raise PolyglanceError(f"{where}: clip '{clip}' is in none of the JSON files")
        clips.keep_only(clip, "en", text, where)
    clips.move([clip for clip, _, _ in chosen], "test")


def _rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (clip, sentence, where) of the CSV key,vid_key,video_id,sentence."""
    numbered = lines(path)
    _, first = next(numbered, (0, ""))
    header = [cell.strip().lower() for cell in next(csv.reader([first]), [])]
    if not {"video_id", "sentence"} <= set(header):
        raise PolyglanceError(f"{path}, line 1: needs the columns video_id and sentence")
    seen: set[str] = set()
    for number, line in numbered:
        if not line:
            continue
        where = f"{path}, line {number}"
        cells = dict(zip(header, next(csv.reader([line])), strict=False))
        clip, text = cells.get("video_id", "").strip(), cells.get("sentence", "").strip()
        if not clip or not text:
            raise PolyglanceError(f"{where}: needs a video_id and a sentence")
        if clip in seen:
            raise PolyglanceError(f"{where}: clip '{clip}' is listed twice")
        seen.add(clip)
        yield clip, text, where
