"""COCO-CN (github.com/li-xirong/coco-cn): `COCO_val2014_000000000042#0<TAB>caption`."""

from pathlib import Path

from polyglance.data.convert.common import CONVERTERS, Builder, Conversion, keyed_captions, one_of
from polyglance.data.convert.flickr8k import read_lists, unlisted
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
    """COCO-CN: Chinese written by people, translated by people and (`machine`: yes, no) by Baidu.

    The machine translations exist only as words with their part of speech (一:m 只:q 狗:n); the
    tags are taken off and the words joined.
    """
    one_of("machine", machine, "yes", "no")
    splits = read_lists(source, r"coco-cn_(train|val|test)\.txt")
    if not splits:
        raise PolyglanceError(f"{source}: there is no coco-cn_train.txt, _val.txt or _test.txt")
    builder, seen = Builder(), []
    for name, kind in FILES.items():
        path = source / name
        if not path.is_file() or (kind == "machine" and machine == "no"):
            continue
        for key, _, text, _ in keyed_captions(path):
            image = f"{key}.jpg"
            seen.append(image)
            if image in splits:
                text = unsegmented(text) if "bosonseg" in name else text
                builder.add(image, splits[image], "zh", kind, text)
    if not seen:
        raise PolyglanceError(f"{source}: there is no {next(iter(FILES))}")
    return builder.finish(images, source, unlisted(seen, splits))


def unsegmented(text: str) -> str:
    """Chinese words with tags as plain text.

    >>> unsegmented("一:m 只:q 狗:n")
    '一只狗'
    """
    return "".join(word.rpartition(":")[0] or word for word in text.split())
