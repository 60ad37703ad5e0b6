"""Applies a perturbation, with the words of the training captions and a lexicon."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from random import Random

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.perturb.inflections import inflections
from polyglance.evaluation.perturb.known import KnownWords
from polyglance.evaluation.perturb.lexical import synonyms, translations
from polyglance.evaluation.perturb.spec import Perturbation
from polyglance.evaluation.perturb.spelling import SPELLINGS
from polyglance.evaluation.perturb.typos import typo
from polyglance.evaluation.perturb.words import Change, change_words, spans, unspaced, words_of
from polyglance.evaluation.reports.report import Perturbed
from polyglance.storage.digest import json_digest
from polyglance.storage.files import refuse_pipe
from polyglance.text.lexicon import Lexicon, Synsets, lexicon_digest, lexicon_files, lexicon_path
from polyglance.text.tokenizers.normalise import normalise

VERSION = 1
"""Increased when a change invalidates stored results."""


class Perturber:
    """Texts of a language → perturbed texts.

    The result for a text depends on the seed, but not on the model or on other texts. See
    docs/evaluation.md for the kinds.

    Args:
        perturbation: the kind and rate of the changes.
        known: the words of the captions, by language.
        lexicon: file of words by meaning; None for $POLYGLANCE_LEXICON.
        seed: of the random choices.
    """

    def __init__(
        self, perturbation: Perturbation, known: KnownWords, lexicon: Path | None, seed: int = 0
    ) -> None:
        self.perturbation, self.known = perturbation, known
        self.lexicon, self.seed = lexicon, seed
        self._changes: dict[str, Change] = {}

    def __call__(self, texts: list[str], language: str) -> tuple[list[str], Perturbed]:
        """Perturbed texts, and the counts of words and changed words."""
        if language not in self._changes:
            self._changes[language] = self._change(language)
        change, rate = self._changes[language], self.perturbation.rate
        made, words, changed = [], 0, 0
        for text in texts:
            places = spans(text, language)
            key = "\0".join((str(self.seed), self.perturbation.kind, language, text))
            new, count = change_words(text, places, rate, change, key)
            made.append(new)
            words, changed = words + len(places), changed + count
        return made, Perturbed(str(self.perturbation), words, changed)

    def _change(self, language: str) -> Change:
        if (spell := SPELLINGS.get(self.perturbation.kind)) is not None:
            return lambda word, rng: spell(word)
        build = {
            "typos": self._typos,
            "inflections": self._inflections,
            "unseen": self._unseen,
            "code-switch": self._switches,
        }
        return build[self.perturbation.kind](language)

    def _typos(self, language: str) -> Change:
        letters = self.known.letters(language)
        return lambda word, rng: typo(word, rng, letters)

    def _inflections(self, language: str) -> Change:
        forms = inflections(self.known.wider(language))

        def change(word: str, rng: Random) -> str | None:
            found = forms.get(normalise(word, language))
            return rng.choice(found) if found else None

        return change

    def _unseen(self, language: str) -> Change:
        seen, synsets = self.known.counts(language), self._synsets(language)
        find = synonyms(synsets, lambda word: not any(w in seen for w in words_of(word, language)))
        return _replacing([find], language)

    def _switches(self, language: str) -> Change:
        others = self.perturbation.languages or self.known.languages
        targets = [code for code in others if code != language]
        if not targets:
            raise PolyglanceError(
                f"{self.perturbation}: there is no other language than '{language}' to switch to; "
                "name one, such as code-switch:0.5:de"
            )
        named = bool(self.perturbation.languages)
        tables = []
        for code in targets:
            counts = self.known.counts(code)
            found = self._synsets(code, required=named)
            usual = {word: found[word] for word in counts if word in found} if counts else found
            tables.append(translations(self._synsets(language), usual))
        return _replacing(tables, language)

    def _synsets(self, language: str, required: bool = True) -> Synsets:
        """The lexicon's words with their synsets."""
        path = lexicon_path(self.lexicon, str(self.perturbation))
        synsets = Lexicon.open(path).synsets(language, normalised=True)
        if required and not synsets:
            raise PolyglanceError(
                f"{path}: has no words of '{language}', which {self.perturbation} needs; "
                "exclude the language"
            )
        return synsets


def make_perturber(
    perturbation: Perturbation | str,
    known: KnownWords | Dataset,
    lexicon: Path | None = None,
    seed: int = 0,
) -> Perturber:
    """Create a perturber for queries to a dataset.

    Args:
        perturbation: or its text, such as typos:0.2.
        known: the dataset, or the words of its captions.
        lexicon: needed to replace words by meaning; None for $POLYGLANCE_LEXICON.
        seed: of the random choices.
    """
    if isinstance(perturbation, str):
        perturbation = Perturbation.parse(perturbation)
    if perturbation.needs_lexicon:
        lexicon_path(lexicon, str(perturbation))
    known = KnownWords(known) if isinstance(known, Dataset) else known
    return Perturber(perturbation, known, lexicon, seed)


def perturbation_tag(perturbation: Perturbation, lexicon: Path | None) -> str:
    """The name with a hash of version and lexicon, as a key for results."""
    source = None
    if perturbation.needs_lexicon:
        path = lexicon_path(lexicon, str(perturbation))
        source = _digest(path, max(file.stat().st_mtime_ns for file in lexicon_files(path)))
    return f"{perturbation}@{json_digest({'version': VERSION, 'lexicon': source})[:8]}"


def _replacing(tables: list[Callable[[str], str | None]], language: str) -> Change:
    """Replace a word with that of a random table, of those that have one."""
    known: dict[str, list[str]] = {}

    def change(word: str, rng: Random) -> str | None:
        key = normalise(word, language)
        if key not in known:
            known[key] = [new for table in tables if (new := table(key)) is not None]
        if not known[key]:
            return None
        new = rng.choice(known[key])
        return f" {new} " if unspaced(word) and not unspaced(new) else new

    return change


@lru_cache(maxsize=4)
def _digest(path: Path, changed: int) -> str:
    refuse_pipe(path)
    return lexicon_digest(path)
