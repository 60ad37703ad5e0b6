"""The papers' tokenizers (Kádár et al. 2018, §4), to reproduce their vocabularies."""

from typing import TYPE_CHECKING, Any

from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers.base import has_word, tokenizers
from polyglance.text.tokenizers.segment import segment

if TYPE_CHECKING:
    from nltk.tokenize import TreebankWordTokenizer
    from sacremoses import MosesPunctNormalizer, MosesTokenizer


@tokenizers.register("whitespace")
class Whitespace:
    """Splits at white space only, for files that are already tokenized."""

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`."""
        return text.split()


@tokenizers.register("treebank")
class Treebank:
    """Lower case, then NLTK's Penn Treebank rules (no sentence splitter, no data files)."""

    def __init__(self) -> None:
        self._tool = _treebank()

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`."""
        return self._tool.tokenize(text.strip().lower())


ABBREVIATIONS = (
    *("a.m", "co", "corp", "dr", "inc", "jr", "ltd", "mr", "mrs"),
    *("ms", "p.m", "sr", "st", "u.k", "u.s", "vs"),
)
"""Words whose full stop ends no sentence; punkt's English data, a download, has 156."""


@tokenizers.register("nltk")
class Nltk:
    """Lower case, then NLTK's `word_tokenize`, which keeps punctuation: VSE++, SCAN, VSRN, VSE∞.

    Sentences are split first, so that a full stop inside a caption is a token, too. This needs no
    data files: `ABBREVIATIONS` replace punkt's, so that tokens are the same on every machine.
    Scripts without spaces, which NLTK does not support, are segmented first. A text without a
    letter, digit or emoji has no tokens, so that captions of punctuation only are reported.
    """

    def __init__(self) -> None:
        self._sentences, self._words = _nltk()

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`."""
        if not has_word(text):
            return []
        spaced = segment(text.strip().lower(), language)
        sentences = self._sentences.tokenize(spaced)
        return [token for one in sentences for token in self._words.tokenize(one)]


@tokenizers.register("moses")
class Moses:
    """Moses punctuation normalisation and tokenization, lower-cased: Multi30K's `lc.norm.tok`.

    Escapes like those files: `&apos;`, `&quot;`, `&amp;`.
    """

    def __init__(self) -> None:
        self._tools: dict[str, tuple[MosesPunctNormalizer, MosesTokenizer]] = {}

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`."""
        code = language or "en"
        if code not in self._tools:
            self._tools[code] = _moses(code)
        normaliser, tokenizer = self._tools[code]
        return tokenizer.tokenize(normaliser.normalize(text.lower()), escape=True)


@tokenizers.register("moses+treebank")
class MosesTreebank:
    """How the papers' code tokenizes a raw caption: `lc.norm.tok`, then Treebank rules."""

    def __init__(self) -> None:
        self._moses, self._treebank = Moses(), Treebank()

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`."""
        return self._treebank.tokenize(" ".join(self._moses.tokenize(text, language)))


def _treebank() -> "TreebankWordTokenizer":
    try:
        from nltk.tokenize import TreebankWordTokenizer
    except ImportError:
        raise PolyglanceError("tokenizer 'treebank' needs nltk: pip install nltk") from None
    return TreebankWordTokenizer()


def _nltk() -> tuple[Any, Any]:
    """A sentence splitter and a word tokenizer."""
    try:
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    except ImportError:
        raise PolyglanceError("tokenizer 'nltk' needs nltk: pip install nltk") from None
    parameters = PunktParameters()
    parameters.abbrev_types.update(ABBREVIATIONS)
    return PunktSentenceTokenizer(parameters), NLTKWordTokenizer()


def _moses(code: str) -> "tuple[MosesPunctNormalizer, MosesTokenizer]":
    try:
        from sacremoses import MosesPunctNormalizer, MosesTokenizer
    except ImportError:
        raise PolyglanceError(
            "tokenizer 'moses' needs sacremoses: pip install sacremoses"
        ) from None
    return MosesPunctNormalizer(code), MosesTokenizer(code)
