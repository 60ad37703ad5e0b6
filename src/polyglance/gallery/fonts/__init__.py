"""Fonts that can show a text, so that no text is drawn as empty boxes."""

from polyglance.gallery.fonts.choose import font_for, has_glyphs, name_missing_symbols
from polyglance.gallery.fonts.names import script_name

__all__ = ["font_for", "has_glyphs", "name_missing_symbols", "script_name"]
