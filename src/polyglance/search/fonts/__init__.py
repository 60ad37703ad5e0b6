"""Fonts that can show a text: never a row of empty boxes."""

from polyglance.search.fonts.choose import can_show, font_for
from polyglance.search.fonts.names import language_name, script_name

__all__ = ["can_show", "font_for", "language_name", "script_name"]
