"""Karpathy's splits: dataset_flickr8k.json, dataset_flickr30k.json, dataset_coco.json."""

from pathlib import Path

from polyglance.data.convert.common import (
    CONVERTERS,
    Builder,
    Conversion,
    caption,
    one_of,
    read_listing,
    steps,
)
from polyglance.data.table import split_name
from polyglance.errors import PolyglanceError


@CONVERTERS.register("karpathy")
def convert_karpathy(
    source: Path,
    images: Path | None = None,
    *,
    restval: str = "train",
    text: str = "raw",
    language: str = "en",
) -> Conversion:
    """Karpathy's JSON (Flickr8k, Flickr30K, COCO), with its train, val and test.

    Args:
        source: the JSON file, or its folder.
        images: folder with the image files, if available.
        restval: split of COCO's 30,504 `restval` images: train, val, keep (a split of that name)
            or drop.
        text: `raw` (sentences) or `tok` (Karpathy's lower-cased tokens).
        language: of the captions.
    """
    one_of("restval", restval, "train", "val", "keep", "drop")
    one_of("text", text, "raw", "tok")
    path = _file(source)
    entries = read_listing(path, "images", "Karpathy")["images"]
    builder = Builder()
    for number, entry in enumerate(steps(entries, "images")):
        where = f"{path}, images[{number}]"
        try:
            image, split = entry["filename"], split_name(entry["split"])
            texts = [_text(sentence, text) for sentence in entry["sentences"]]
        except (KeyError, TypeError) as error:
            raise PolyglanceError(
                f"{where}: needs filename, split and sentences with '{text}' ({error})"
            ) from None
        if split == "restval":
            split = {"keep": "restval"}.get(restval, restval)
        for sentence in texts if split != "drop" else ():
            builder.add(image, split, language, "independent", caption(sentence, where))
    return builder.finish(images, source)


def _text(sentence: dict, text: str) -> str:
    return str(sentence["raw"]) if text == "raw" else " ".join(sentence["tokens"])


def _file(source: Path) -> Path:
    if source.is_file():
        return source
    files = sorted(source.glob("dataset*.json"))
    if len(files) != 1:
        raise PolyglanceError(
            f"{source}: needs one dataset_*.json, found {len(files)}; name the file"
        )
    return files[0]
