"""The default tokeniser: one set of rules for every language and for unknown ones."""

import regex

from polyglance.text.tokenize import tokenizers

_WORD = regex.compile(r"'s\b|[\p{L}\p{M}\p{N}]+")


@tokenizers.register("words")
class Words:
    """Lower-cased words without punctuation."""

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`."""
        return _WORD.findall(text.lower())
