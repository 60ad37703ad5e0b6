"""Flickr8k-CN (github.com/li-xirong/flickr8kcn): `name.jpg#zhc#0 caption`."""

from collections.abc import Iterator
from pathlib import Path

from polyglance.data.convert.common import CONVERTERS, Builder, Conversion, keyed_captions, one_of
from polyglance.data.convert.flickr8k import Row, add_listed, read_lists
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

    Args:
        source: the folder.
        images: folder with the image files, if available.
        machine: machine translations to include: baidu, google, both or none.
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
    rows = (row for path in files for row in _rows(path, unwanted))
    builder = Builder()
    return builder.finish(images, source, add_listed(builder, rows, splits))


def _rows(path: Path, unwanted: set[str]) -> Iterator[Row]:
    for image, tag, text, where in keyed_captions(path):
        if tag not in TAGS:
            raise PolyglanceError(f"{where}: unknown tag '{tag}'; known are {', '.join(TAGS)}")
        if tag not in unwanted:
            yield image, *TAGS[tag], text
