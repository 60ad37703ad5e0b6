"""Fonts that can show a text: never a row of empty boxes."""

from polyglance.gallery.fonts.choose import can_show, font_for, spelt_out
from polyglance.gallery.fonts.names import script_name

__all__ = ["can_show", "font_for", "script_name", "spelt_out"]
