"""Fonts that can show a text: never a row of empty boxes."""

from polyglance.gallery.fonts.choose import can_show, font_for
from polyglance.gallery.fonts.names import language_name, script_name

__all__ = ["can_show", "font_for", "language_name", "script_name"]
