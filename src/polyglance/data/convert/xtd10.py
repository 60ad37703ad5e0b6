"""XTD10 (github.com/adobe-research/Cross-lingual-Test-Dataset-XTD10), a test set on COCO."""

from pathlib import Path

from polyglance.core.languages import primary_subtag
from polyglance.data.convert.common import CONVERTERS, Builder, Conversion, image_list
from polyglance.errors import PolyglanceError

CODES = {"jp": "ja"}


@CONVERTERS.register("xtd10")
def convert_xtd10(source: Path, images: Path | None = None, *, split: str = "test") -> Conversion:
    """XTD10: 1,000 COCO images, one caption in each language, all in split test.

    Japanese is from STAIR, so independent; the others were translated from English.

    Args:
        source: a checkout of the repository.
        images: folder with the image files, if available.
        split: of all images.
    """
    names = _one(source, "test_image_names.txt")
    listed = image_list(names)
    files = sorted(source.rglob("test_1kcaptions_*.txt"))
    if not files:
        raise PolyglanceError(f"{source}: there is no test_1kcaptions_LANGUAGE.txt")
    builder = Builder()
    for language, path in {_language(path): path for path in reversed(files)}.items():
        kind = "independent" if language == "ja" else "translation"
        builder.add_lines(path, (names, listed), split, language, kind)
    return builder.finish(images, source)


def _language(path: Path) -> str:
    code = path.stem.removeprefix("test_1kcaptions_")
    return CODES.get(code, primary_subtag(code))


def _one(source: Path, name: str) -> Path:
    found = sorted(source.rglob(name))
    if not found:
        raise PolyglanceError(f"{source}: there is no {name}; pass a checkout of XTD10")
    return found[0]
