"""Word-by-word translation with a lexicon of synsets: rough, but for 44 languages."""

from collections import Counter
from functools import cached_property, partial

from polyglance.data import load_dataset
from polyglance.data.dataset import dataset_fingerprint
from polyglance.storage.digest import sampled_digest
from polyglance.text.lexicon import Lexicon, lexicon_digest, lexicon_path
from polyglance.text.tokenizers.base import get_tokenizer, tokenize_many
from polyglance.text.tokenizers.normalise import normalise
from polyglance.translation.base import Translator, translators
from polyglance.translation.forms import Lemmas

VERSION = 2
"""Increased when the rules change, to invalidate cached translations."""

LONGEST_EXPRESSION = 3
SHORT = 4
"""Words up to this length that the lexicon lacks count as function words ("with", "der")."""

SYNSET_POWER, WORD_POWER = 2, 0.25
NOUNS_IN_CAPITALS = {"de"}
UNSPACED = {"zh", "ja", "th"}


@translators.register("lexicon")
class LexiconTranslator(Translator):
    """`lexicon:PATH`: the most common translation of each word in `lexicon.tsv.gz`.

    Without a path, the file is $POLYGLANCE_LEXICON. `lexicon:PATH,words=DATASET` prefers words that
    occur in a dataset's training captions. Word order is unchanged, and words are not inflected.
    Words that the lexicon lacks are kept, except short ones, which are mostly function words. For
    its quality, see docs/translation.md.
    """

    batch = 512

    def __init__(self, argument: str) -> None:
        file, _, captions = argument.partition(",words=")
        self.path = lexicon_path(file, "translator 'lexicon'", "lexicon:PATH")
        self.captions = load_dataset(captions) if captions else None
        suffix = "" if self.captions is None else f",words={self.captions.name}"
        self.name = f"lexicon:{self.path.name}{suffix}"
        self._sources: dict[str, _Source] = {}
        self._targets: dict[str, _Target] = {}
        self._pairs: dict[tuple[str, str], _Words] = {}

    @cached_property
    def identity(self) -> str:
        words = "" if self.captions is None else dataset_fingerprint(self.captions)[:16]
        content = sampled_digest if self.path.is_file() else lexicon_digest
        return f"lexicon:{VERSION}:{content(self.path)[:16]}:{words}"

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        if (source, target) not in self._pairs:
            self._pairs[source, target] = _Words(self._source(source), self._target(target))
        words, tokenizer = self._pairs[source, target], get_tokenizer()
        return [words.translate(tokenizer.tokenize(text, source)) for text in texts]

    def _source(self, language: str) -> "_Source":
        if language not in self._sources:
            self._sources[language] = _Source(self._usable(language), language)
        return self._sources[language]

    def _target(self, language: str) -> "_Target":
        if language not in self._targets:
            words, usual = self._usable(language), self._word_counts(language)
            self._targets[language] = _Target(words, language, self._lexicon.spread, usual)
        return self._targets[language]

    def _usable(self, language: str) -> dict[str, list[str]]:
        """Synset → lemmas, without capitalised ones (names and abbreviations)."""
        self._lexicon.require(language)
        capitals = language in NOUNS_IN_CAPITALS
        return {
            synset: [word for word in lemmas if capitals or word == word.lower()]
            for synset, lemmas in self._lexicon.lemmas(language).items()
        }

    def _word_counts(self, language: str) -> Counter[str]:
        """Counts of the words in training captions."""
        if self.captions is None or language not in self.captions.languages:
            return Counter()
        texts = self.captions.split("train").captions([language]).texts
        return Counter(word for words in tokenize_many(texts, language) for word in words)

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon.open(self.path)


class _Source:
    """The synsets of a language's words and expressions."""

    def __init__(self, lemmas: dict[str, list[str]], language: str) -> None:
        self.synsets: dict[str, list[str]] = {}
        for synset, words in lemmas.items():
            for word in words:
                self.synsets.setdefault(normalise(word, language), []).append(synset)
        self.lemmas = Lemmas(self.synsets, language)
        self.between = "" if language in UNSPACED else " "


class _Target:
    """The words of a language's synsets, and how common they are.

    Of a word's synsets, the one with words in most languages (`spread`) is the most likely.
    """

    def __init__(
        self,
        words: dict[str, list[str]],
        language: str,
        spread: Counter[str],
        usual: Counter[str],
    ) -> None:
        self.words, self.spread, self._word_counts = words, spread, usual
        self._weight: Counter[str] = Counter()
        for synset, own in words.items():
            self._weight.update(dict.fromkeys(own, spread[synset]))
        self._split = partial(get_tokenizer().tokenize, language=language)

    def likely(self, word: str) -> float:
        """How common a word is, in captions if there are any, otherwise by its synsets."""
        if not self._word_counts:
            return float(self._weight[word] ** WORD_POWER)
        return 1.0 + min((self._word_counts[token] for token in self._split(word)), default=0)


class _Words:
    """Translates words of one language into another."""

    def __init__(self, source: _Source, target: _Target) -> None:
        self._source, self._target = source, target
        self._kept: dict[str, str | None] = {}

    def translate(self, tokens: list[str]) -> str | None:
        """Translate the tokens, preferring long expressions; None if nothing is left."""
        found, start = [], 0
        while start < len(tokens):
            length = self._expression(tokens, start)
            token = self._source.between.join(tokens[start : start + length])
            start += length
            word = self._word(token)
            if word is not None or not token.isalpha() or len(token) > SHORT:
                found.append(word or token)
        return " ".join(found) or None

    def _expression(self, tokens: list[str], start: int) -> int:
        """Number of tokens from `start` on that are an expression in the lexicon, or 1."""
        for length in range(min(LONGEST_EXPRESSION, len(tokens) - start), 1, -1):
            words = self._source.between.join(tokens[start : start + length])
            if words in self._source.synsets and self._word(words) is not None:
                return length
        return 1

    def _word(self, token: str) -> str | None:
        if token not in self._kept:
            self._kept[token] = self._choose(token)
        return self._kept[token]

    def _choose(self, token: str) -> str | None:
        """The translation with the most widespread common synsets that is itself common.

        Very short alphabetic words are mostly function words, which lexicons list as names of units
        and elements.
        """
        if len(token) < 3 and normalise(token).isalpha() and self._source.between:
            return None
        scores: Counter[str] = Counter()
        for lemma in self._source.lemmas.of(token, self._source.synsets):
            for synset in self._source.synsets[lemma]:
                for word in self._target.words.get(synset, ()):
                    scores[word] += self._target.spread[synset] ** SYNSET_POWER
        ranked = {word: score * self._target.likely(word) for word, score in scores.items()}
        return min(ranked, key=lambda word: (-ranked[word], len(word), word), default=None)
