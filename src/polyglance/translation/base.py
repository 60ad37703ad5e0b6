"""What a translator is, and how a short text names one."""

from collections.abc import Callable, Sequence
from pathlib import Path

from polyglance.core.registry import Registry
from polyglance.errors import PolyglanceError


class Translator:
    """Texts of one language into another.

    `name` is what a caption's origin says; `identity` also tells versions of it apart, and is
    what kept translations are filed under.
    """

    name = ""
    keeps = True
    """Whether translations are worth keeping on disk; looking one up again is not."""
    batch = 32
    """Texts at a time."""

    @property
    def identity(self) -> str:
        """The same for the same translations."""
        return self.name

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        """A translation of each text, or None where the translator has none.

        Args:
            texts: in the source language.
            source: language of the texts.
            target: language of the translations.
        """
        raise TypeError("a translator defines translate()")


class Chain(Translator):
    """Several translators, each for the texts that those before it have no translation of."""

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
"""Name → what makes a translator of the text behind the colon."""


def make_translator(text: str) -> Translator:
    """The translator that `NAME:ARGUMENT` names, such as `lexicon:lexicon.tsv.gz`, or a URL.

    Of several with `|` between, each is for the texts that those before it cannot translate.
    """
    parts = [part for part in text.split("|") if part.strip()]
    if len(parts) > 1:
        return Chain([make_translator(part) for part in parts])
    name, _, argument = text.strip().partition(":")
    if name in ("http", "https"):
        name, argument = "http", text.strip()
    return translators.get(name)(argument)


def needed(argument: str, name: str, what: str) -> Path:
    """The path behind the colon; without one, the error shows the form.

    Args:
        argument: what is behind the colon.
        name: of the translator, before the colon.
        what: the path is of, for the message.
    """
    if not argument.strip():
        raise PolyglanceError(f"translator '{name}' needs {what}: write {name}:PATH")
    return Path(argument.strip()).expanduser()
