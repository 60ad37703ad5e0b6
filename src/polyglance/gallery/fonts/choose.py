"""Selects the first font that has all characters of a text and can lay it out."""

import contextlib
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from PIL import ImageFont, features

from polyglance.errors import PolyglanceError
from polyglance.gallery.fonts.find import own_fonts, system_fonts

MISSING = "\U0010ffff"
"""Not a character, so its glyph is the font's mark for missing ones."""

# Scripts that are illegible if drawn letter by letter from left to right: they need libraqm.
_SHAPED = re.compile(
    "ARABIC HEBREW SYRIAC THAANA NKO DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU "
    "KANNADA MALAYALAM SINHALA THAI LAO TIBETAN MYANMAR KHMER MONGOLIAN".replace(" ", "|")
)


_MODIFIERS = re.compile("[\u200d\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")


def font_for(
    text: str, size: int, extra: Sequence[Path] = ()
) -> ImageFont.FreeTypeFont | ImageFont.ImageFont | None:
    """A font that can show all of `text`; None if there is none.

    Args:
        text: to draw.
        size: font size in pixels.
        extra: font files, tried first.
    """
    if needs_shaping(text) and not features.check("raqm"):
        return None
    for fonts in (lambda: extra, own_fonts, system_fonts):
        for path in fonts():
            font = _open(path, size, path in extra)
            if font is not None and has_glyphs(font, text):
                return font
    plain = ImageFont.load_default(size)
    return plain if has_glyphs(plain, text) else None


def has_glyphs(font: ImageFont.FreeTypeFont | ImageFont.ImageFont, text: str) -> bool:
    """Whether the font has a glyph for every visible character of `text`."""
    if not isinstance(font, ImageFont.FreeTypeFont):
        return text.isascii()
    return all(_has(font, c) for c in set(text) if unicodedata.category(c)[0] not in "ZC")


SIZE = 19
"""Size at which fonts are tested; it does not affect which characters they have."""


def name_missing_symbols(text: str, extra: Sequence[Path] = ()) -> str:
    """A text that fonts can show: emoji and symbols without a glyph are replaced by names.

    "a dog 🐶" becomes "a dog [dog face]" if no font has the emoji.

    Args:
        text: to draw.
        extra: font files, tried first.
    """
    if font_for(text, SIZE, extra) is not None:
        return text
    # Joiners, skin tones and variation selectors are meaningless without the emoji.
    kept = _MODIFIERS.sub("", text)
    symbols = {c for c in kept if unicodedata.category(c) in ("So", "Sk")}
    letters = "".join(c for c in kept if c not in symbols)
    named = {c for c in symbols if font_for(letters + c, SIZE, extra) is None}
    for unknown in (
        named,
        symbols,
    ):  # each font may have one of the symbols, but a text has only one font
        shown = "".join(_named(c) if c in unknown else c for c in kept)
        if font_for(shown, SIZE, extra) is not None:
            return shown
    return text


def _named(symbol: str) -> str:
    return f"[{unicodedata.name(symbol, 'symbol').lower()}]"


def needs_shaping(text: str) -> bool:
    """Whether letters of `text` join, stack or run from right to left."""
    return any(_SHAPED.match(unicodedata.name(c, "")) for c in set(text) if c > "\u0300")


@lru_cache(maxsize=64)
def _open(path: Path, size: int, named: bool = False) -> ImageFont.FreeTypeFont | None:
    try:
        font = ImageFont.truetype(str(path), size)
    except OSError as error:
        if named:
            raise PolyglanceError(f"{path}: not a readable font ({error})") from None
        return None
    with contextlib.suppress(OSError, NotImplementedError, ValueError):
        font.set_variation_by_name("Regular")  # a variable font may default to its thinnest weight
    return font


@lru_cache(maxsize=4096)
def _has(font: ImageFont.FreeTypeFont, character: str) -> bool:
    return _glyph(font, character) != _glyph(font, MISSING)


def _glyph(font: ImageFont.FreeTypeFont, character: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(character, mode="1")
    return mask.size, bytes(mask)
