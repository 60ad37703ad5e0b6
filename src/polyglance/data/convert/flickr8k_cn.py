"""Flickr8k-CN (github.com/li-xirong/flickr8kcn): `name.jpg#zhc#0 caption`."""

from pathlib import Path

from polyglance.data.convert.common import CONVERTERS, Builder, Conversion, keyed_captions, one_of
from polyglance.data.convert.flickr8k import read_lists, unlisted
from polyglance.errors import PolyglanceError

TAGS = {
    "enc": ("en", "independent"),
    "zhc": ("zh", "independent"),
    "zhm": ("zh", "translation"),
    "zhb": ("zh", "machine"),
    "zhg": ("zh", "machine"),
}
"""Tag of a sentence → language and kind: crowd, manual translation, Baidu, Google."""
MACHINES = {"baidu": {"zhb"}, "google": {"zhg"}, "both": {"zhb", "zhg"}, "none": set[str]()}


@CONVERTERS.register("flickr8k-cn")
def convert_flickr8k_cn(
    source: Path, images: Path | None = None, *, machine: str = "baidu"
) -> Conversion:
    """Flickr8k-CN: English, Chinese by people (written, translated) and by machine.

    `machine` says whose machine translations: baidu, google, both or none.
    """
    unwanted = {"zhb", "zhg"} - MACHINES[one_of("machine", machine, *MACHINES)]
    folder = source / "data" if (source / "data").is_dir() else source
    splits = read_lists(folder, r"flickr\d+k(?:cn)?[-_]?(train|val|test)\.txt")
    files = sorted(
        path for glob in ("*.caption.txt", "*.captions.txt") for path in folder.glob(glob)
    )
    if not files or not splits:
        raise PolyglanceError(
            f"{folder}: needs flickr8kzhc.caption.txt (or others like it) and flickr8ktrain.txt"
        )
    builder, seen = Builder(), []
    for path in files:
        for image, tag, text, where in keyed_captions(path):
            if tag not in TAGS:
                raise PolyglanceError(f"{where}: unknown tag '{tag}'; known are {', '.join(TAGS)}")
            seen.append(image)
            if tag not in unwanted and image in splits:
                builder.add(image, splits[image], *TAGS[tag], text)
    return builder.finish(images, source, unlisted(seen, splits))
