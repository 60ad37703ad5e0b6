"""COCO-CN (github.com/li-xirong/coco-cn): `COCO_val2014_000000000042#0<TAB>caption`."""

from collections.abc import Iterator
from pathlib import Path

from polyglance.data.convert.common import CONVERTERS, Builder, Conversion, keyed_captions, one_of
from polyglance.data.convert.flickr8k import Row, add_listed, read_lists
from polyglance.errors import PolyglanceError

FILES = {
    "imageid.human-written-caption.txt": "independent",
    "imageid.manually-translated-caption.txt": "translation",
    "imageid.machine-translated-caption.bosonseg.txt": "machine",
}


@CONVERTERS.register("coco-cn")
def convert_coco_cn(
    source: Path, images: Path | None = None, *, machine: str = "yes"
) -> Conversion:
    """COCO-CN: Chinese written by people, translated by people and by Baidu.

    The machine translations exist only as words with part-of-speech tags (一:m 只:q 狗:n); the tags
    are removed and the words joined.

    Args:
        source: the folder.
        images: folder with the image files, if available.
        machine: whether to include the machine translations: yes or no.
    """
    one_of("machine", machine, "yes", "no")
    splits = read_lists(source, r"coco-cn_(train|val|test)\.txt")
    if not splits:
        raise PolyglanceError(f"{source}: there is no coco-cn_train.txt, _val.txt or _test.txt")
    wanted = {name: kind for name, kind in FILES.items() if kind != "machine" or machine == "yes"}
    files = {source / name: kind for name, kind in wanted.items() if (source / name).is_file()}
    rows = [row for path, kind in files.items() for row in _rows(path, kind)]
    if not rows:
        raise PolyglanceError(f"{source}: there is no {next(iter(FILES))}")
    builder = Builder()
    return builder.finish(images, source, add_listed(builder, rows, splits))


def _rows(path: Path, kind: str) -> Iterator[Row]:
    for key, _, text, _ in keyed_captions(path):
        yield f"{key}.jpg", "zh", kind, unsegmented(text) if "bosonseg" in path.name else text


def unsegmented(text: str) -> str:
    """Join tagged Chinese words to plain text.

    >>> unsegmented("一:m 只:q 狗:n")
    '一只狗'
    """
    return "".join(word.rpartition(":")[0] or word for word in text.split())
