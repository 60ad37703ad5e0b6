"""Puts the runnable examples of docstrings into fences, so that the reference shows them as code.

Without it Markdown takes `>>>` for three quotations within each other.
"""

from typing import Any

import griffe


class FenceDoctests(griffe.Extension):
    """Named in mkdocs.yml; griffe calls it for everything that it reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples of an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fence(obj.docstring.value)


def fence(text: str) -> str:
    """A docstring with a fence around every example: from `>>>` to a blank line.

    >>> fence("Twice.\\n\\n>>> 2 * 2\\n4")
    'Twice.\\n\\n```pycon\\n>>> 2 * 2\\n4\\n```'
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f"{indent}```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append(f"{indent}```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, f"{indent}```"] if inside else lines)
