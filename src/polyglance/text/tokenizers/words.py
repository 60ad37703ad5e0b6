"""The default tokenizer: one set of rules for all languages, known or unknown."""

import re

import regex

from polyglance.text.tokenizers.base import tokenizers
from polyglance.text.tokenizers.normalise import is_plain, lower, normalise
from polyglance.text.tokenizers.segment import segment

# Elided words of French, Italian, Catalan and Portuguese; split off before a vowel or h.
_ELIDED = (
    "(?:[cdjlmnstv]|qu|jusqu|lorsqu|puisqu|quoiqu|presqu|un|gl|all|dall|dell|nell|sull|coll"
    "|quest|quell|anch|dov|com|sant|tutt|mezz|bell)"
)
_INNER = r"[\p{L}\p{M}\p{N}]"
_ELISION = regex.compile(rf"(?<!{_INNER}['·]?)({_ELIDED}')(?=[aeiouyhàâäáãæèéêëìíîïòóôöõœùúûü])")
# English: man's, they're; n't, so that "is" and the negation are both known words.
_ENGLISH = "(?:n't|'(?:s|re|ve|ll|d|m))"
_CLITIC = regex.compile(rf"(?<=[\p{{Latin}}\p{{N}}])({_ENGLISH})(?={_ENGLISH}*(?!['·]?{_INNER}))")
_WORD = regex.compile(
    rf"{_ELIDED}'(?!{_INNER})|'(?:s|re|ve|ll|d|m)(?!'|·?{_INNER})|'[nt](?!['·]?{_INNER})"
    rf"|(?:\d+(?:[.,:]\d+)+|[\p{{L}}\p{{N}}]){_INNER}*(?:['·]{_INNER}+)*"
    r"|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}"
)
# Equivalent to `_WORD` on plain text, but four times as fast.
_PLAIN_WORD = re.compile(r"\d+(?:[.,:]\d+)+[^\W_]*|[^\W_]+")


@tokenizers.register("words")
class Words:
    """Lower-cased words without punctuation, for any language; hyphens separate words.

    French `l'homme` gives `l' homme`, English `man's` gives `man 's`, `isn't` gives `is n't`;
    numbers and emoji are kept. Chinese and Japanese are segmented. See docs/languages.md.
    """

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`; without a language, it goes by script."""
        if is_plain(text):
            return _PLAIN_WORD.findall(lower(text, language))
        text = segment(normalise(text, language), language)
        if "'" in text:
            text = _CLITIC.sub(r" \1", text.replace("can't", "can n't"))
            text = _ELISION.sub(r"\1 ", text)
        return _WORD.findall(text)
