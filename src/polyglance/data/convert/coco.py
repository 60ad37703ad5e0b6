"""COCO captions, and STAIR Captions and YJ Captions (Japanese) in the same format."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from polyglance.data.convert.common import (
    CONVERTERS,
    Builder,
    Conversion,
    caption,
    one_of,
    read_listing,
    steps,
)
from polyglance.errors import PolyglanceError

FILES = ("captions_*.json", "stair_captions_*.json", "yjcaptions*.json")


@CONVERTERS.register("coco")
def convert_coco(
    source: Path,
    images: Path | None = None,
    *,
    language: str = "",
    kind: str = "independent",
    split: str = "",
    names: str = "",
    text: str = "raw",
) -> Conversion:
    """COCO-captions JSON, also STAIR and YJ Captions; a file, or a folder of them.

    Args:
        source: the JSON file, or its folder.
        images: folder with the image files, if available.
        language: of the captions; by default ja for STAIR and YJ, en for others.
        kind: of the captions.
        split: of all images; by default from the file name (train, val, test).
        names: a pattern such as COCO_train2014_{id:012d}.jpg, for files without image names.
        text: `raw`, or `tok` for STAIR's tokenized_caption.
    """
    field = {"raw": "caption", "tok": "tokenized_caption"}[one_of("text", text, "raw", "tok")]
    builder, notes = Builder(), []
    for path in _files(source, text):
        value = read_listing(path, "annotations", "COCO")
        files = _image_names(value.get("images") or [], path)
        code = language or ("ja" if re.match("stair|yj", path.name) else "en")
        used = Counter[str]()
        for number, entry in enumerate(steps(value["annotations"], "captions")):
            where = f"{path}, annotations[{number}]"
            try:
                identity, sentence = entry["image_id"], str(entry[field])
            except (KeyError, TypeError) as error:
                raise PolyglanceError(f"{where}: needs image_id and {field} ({error})") from None
            image = files.get(identity) or _derived(identity, names, path, where)
            if not sentence.strip():
                used["empty"] += 1
                continue
            builder.add(image, split or _split(path), code, kind, caption(sentence, where))
        if used["empty"]:
            notes.append(f"{path.name}: {used['empty']} empty captions were left out")
    return builder.finish(images, source, notes)


def _files(source: Path, text: str) -> list[Path]:
    if source.is_file():
        return [source]
    found = sorted({path for pattern in FILES for path in source.glob(pattern)})
    tokenized = [path for path in found if path.stem.endswith("_tokenized")]
    files = tokenized if text == "tok" and tokenized else [p for p in found if p not in tokenized]
    if not files:
        raise PolyglanceError(
            f"{source}: there is no {', '.join(FILES)}; name the JSON file itself"
        )
    return files


def _split(path: Path) -> str:
    match = re.search(r"train|val|test", path.name)
    return match[0] if match else "train"


def _image_names(entries: list[Any], path: Path) -> dict[int, str]:
    """Image id → file name; YJ Captions has a COCO URL instead of a name."""
    names = {}
    for number, entry in enumerate(entries):
        try:
            name = entry.get("file_name") or entry.get("coco_url", "").rpartition("/")[2]
            if name:
                names[entry["id"]] = name
        except (AttributeError, KeyError):
            raise PolyglanceError(f"{path}, images[{number}]: needs id and file_name") from None
    return names


def _derived(identity: Any, pattern: str, path: Path, where: str) -> str:
    if not pattern and (match := re.search(r"(train|val|test)(20\d\d)?", path.name)):
        year = match[2] or "2014"
        pattern = "{id:012d}.jpg" if year == "2017" else f"COCO_{match[1]}{year}_{{id:012d}}.jpg"
    try:
        if pattern:
            return pattern.format(id=int(identity))
    except (KeyError, IndexError, ValueError, TypeError):
        pass
    raise PolyglanceError(
        f"{where}: image {identity} has no file name; set a pattern such as "
        "-o names=COCO_train2014_{id:012d}.jpg"
    )
