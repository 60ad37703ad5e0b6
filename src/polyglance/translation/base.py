"""The interface of translators, and selecting one by name."""

from collections.abc import Callable, Sequence
from pathlib import Path

from polyglance.core.registry import Registry
from polyglance.errors import PolyglanceError


class Translator:
    """Translates texts from one language into another.

    `name` is stored as the origin of captions; `identity` also distinguishes versions, and is the
    key of cached translations.
    """

    name = ""
    keeps = True
    """Whether to cache translations on disk; not worthwhile if they are only looked up."""
    batch = 32
    """Batch size."""

    @property
    def identity(self) -> str:
        """Identifies the translator and its version."""
        return self.name

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        """A translation of each text, or None if there is none.

        Args:
            texts: in the source language.
            source: language of the texts.
            target: language of the translations.
        """
        raise TypeError("a translator defines translate()")


class Chain(Translator):
    """Several translators, each for the texts that the previous ones could not translate."""

    def __init__(self, parts: Sequence[Translator]) -> None:
        self.parts = list(parts)
        self.name = " | ".join(part.name for part in self.parts)
        self.keeps = any(part.keeps for part in self.parts)
        self.batch = min(part.batch for part in self.parts)

    @property
    def identity(self) -> str:
        return " | ".join(part.identity for part in self.parts)

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        found: list[str | None] = [None] * len(texts)
        for part in self.parts:
            rows = [row for row, text in enumerate(found) if text is None or not text.strip()]
            if not rows:
                break
            new = part.translate([texts[row] for row in rows], source, target)
            for row, text in zip(rows, new, strict=True):
                found[row] = text
        return found


translators: Registry[Callable[[str], Translator]] = Registry("translator")
"""Name → function of the argument after the colon that creates a translator."""


def make_translator(text: str) -> Translator:
    """The translator `NAME:ARGUMENT`, such as `lexicon:lexicon.tsv.gz`, or a URL.

    Of several, separated by `|`, each is for the texts that the previous ones cannot translate.
    """
    parts = [part for part in text.split("|") if part.strip()]
    if len(parts) > 1:
        return Chain([make_translator(part) for part in parts])
    name, _, argument = text.strip().partition(":")
    if name in ("http", "https"):
        name, argument = "http", text.strip()
    return translators.get(name)(argument)


def required_path(argument: str, name: str, what: str) -> Path:
    """The path after the colon; an error if it is missing.

    Args:
        argument: after the colon.
        name: of the translator, before the colon.
        what: what the path refers to, for the error.
    """
    if not argument.strip():
        raise PolyglanceError(f"translator '{name}' needs {what}: write {name}:PATH")
    return Path(argument.strip()).expanduser()
