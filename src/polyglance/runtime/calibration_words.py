"""Queries for calibration from a dataset's captions: single words, and nonsense."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import regex

from polyglance.data.dataset import CaptionTable
from polyglance.text.lexicon import Lexicon, SharedSynsets
from polyglance.text.tokenizers import get_tokenizer

WORDS, UNKNOWN, STRANGE = 2000, 1100, 900
"""Largest numbers of words of captions, words in no caption, and texts of such words."""
SHARED = 3
"""Captions of an image that must have a word for it to match the image; both, if two."""
AGREEMENT = 3.5
"""How much more often than by chance two captions of an image share a content word; function
words such as articles and prepositions stay below."""
MADE_UP = 0.3
"""Share of unknown words that are made up."""
IN_PHRASES = 0.3
"""Share of words that are also asked for in a phrase; as many unknown words are only."""
PHRASES = {
    "ar": "صورة {}",
    "cs": "fotka {}",
    "de": "ein Foto von {}",
    "en": "a photo of a {}",
    "es": "una foto de {}",
    "fr": "une photo de {}",
    "hi": "{} की तस्वीर",
    "it": "una foto di {}",
    "ja": "{}の写真",
    "nl": "een foto van {}",
    "pl": "zdjęcie {}",
    "pt": "uma foto de {}",
    "ru": "фото {}",
    "sv": "ett foto av {}",
    "tr": "{} fotoğrafı",
    "uk": "фото {}",
    "zh": "{}的照片",
}
"""How people ask for a thing, by language."""
TRANSLATED = 3
"""Languages without captions in which an English word is also asked for, with a lexicon."""
_LETTERS = regex.compile(r"[\p{L}\p{M}]{2,}")


@dataclass(frozen=True)
class CalibrationWords:
    """Words, alone or in phrases, and which images [N, W] have them in any or in several captions;
    single words in no caption, also in phrases; texts of several such words; and translations of
    words into languages without captions."""

    words: list[str]
    has: np.ndarray
    shares: np.ndarray
    unknown: list[str]
    nonsense: list[str]
    translated: list[str]


def calibration_words(
    table: CaptionTable,
    images: int,
    vocabulary: Sequence[str],
    seed: int = 0,
    lexicon: Lexicon | None = None,
) -> CalibrationWords:
    """Words of captions, and words in no caption, from a vocabulary or made up.

    Args:
        table: all captions.
        images: number of images.
        vocabulary: words that a model knows; may be empty.
        seed: of the random selection.
        lexicon: translates English words into languages without captions; None for none.
    """
    chance, tokenizer = Random(seed), get_tokenizer()
    counts: dict[tuple[str, str], Counter[int]] = {}
    captions: dict[str, Counter[int]] = {}
    for text, image, language in zip(table.texts, table.image, table.languages, strict=True):
        captions.setdefault(language, Counter())[int(image)] += 1
        for word in set(tokenizer.tokenize(text, language)):
            if _LETTERS.fullmatch(word) or (len(word) == 1 and not word.isascii()):
                counts.setdefault((language, word), Counter())[int(image)] += 1
    said = sorted({word for _, word in counts})
    chosen = sorted(key for key, own in counts.items() if _is_content(own, captions[key[0]]))
    chosen = chance.sample(chosen, min(WORDS, len(chosen)))
    has, shares = (np.zeros((images, len(chosen)), bool) for _ in range(2))
    for column, key in enumerate(chosen):
        of_language = captions[key[0]]
        for image, times in counts[key].items():
            has[image, column] = True
            shares[image, column] = _is_shared(times, of_language[image])
    draw = _absent(said, vocabulary, chance)
    columns, phrases = _in_phrases(chosen, chance)
    translated = translated_words(chosen, captions, lexicon, chance)
    used = [code for code in PHRASES if code in captions]

    def unknown() -> str:
        within = used and chance.random() < len(phrases) / max(len(columns), 1)
        return _phrase(chance.choice(used), draw()) if within else draw()

    return CalibrationWords(
        [word for _, word in chosen] + phrases,
        has[:, columns],
        shares[:, columns],
        [unknown() for _ in range(UNKNOWN)],
        [" ".join(draw() for _ in range(chance.randint(2, 6))) for _ in range(STRANGE)],
        translated,
    )


def _in_phrases(words: list[tuple[str, str]], chance: Random) -> tuple[list[int], list[str]]:
    """The index of the word in each query: all words alone, then some in phrases; the phrases."""
    known = [n for n, (code, _) in enumerate(words) if code in PHRASES]
    some = chance.sample(known, int(IN_PHRASES * len(known)))
    return [*range(len(words)), *some], [_phrase(*words[n]) for n in some]


def translated_words(
    words: list[tuple[str, str]],
    captioned: Collection[str],
    lexicon: Lexicon | None,
    chance: Random,
) -> list[str]:
    """Translations of English words into languages without captions.

    Args:
        words: (language, word).
        captioned: languages with captions.
        lexicon: with these words; None translates nothing.
        chance: draws `TRANSLATED` languages for each word.
    """
    if lexicon is None or "en" not in lexicon.languages:
        return []
    english = lexicon.synsets("en", normalised=True)
    others = [code for code in lexicon.languages if code not in captioned and code != "en"]
    shared = {code: SharedSynsets(english, lexicon.synsets(code)) for code in others}
    found = []
    for word in (word for code, word in words if code == "en"):
        offered = {other: own for other in others if (own := shared[other].ranked(word))}
        for other in chance.sample(sorted(offered), min(TRANSLATED, len(offered))):
            found.append(offered[other][0])
    return found


def _phrase(language: str, word: str) -> str:
    return PHRASES[language].format(word)


def agreement(own: Counter[int], captions: Counter[int]) -> float:
    """How much more often than by chance two captions of an image share a word.

    Args:
        own: image → its captions with the word.
        captions: image → its captions.
    """
    pairs = sum(n * (n - 1) for n in captions.values())
    share = own.total() / captions.total()
    both = sum(times * (times - 1) for times in own.values())
    return both / pairs / share**2 if pairs else 0.0


def _is_shared(times: int, captions: int) -> bool:
    return captions > 1 and times >= min(SHARED, captions)


def _is_content(own: Counter[int], captions: Counter[int]) -> bool:
    shared = any(_is_shared(times, captions[image]) for image, times in own.items())
    return shared and agreement(own, captions) >= AGREEMENT


def _absent(said: list[str], vocabulary: Sequence[str], chance: Random) -> Callable[[], str]:
    """Draws words in no caption: known ones, or combined halves of captions' words."""
    known, long = set(said), [word for word in said if len(word) > 3] or said
    others = [word for word in vocabulary if _LETTERS.fullmatch(word) and word.lower() not in known]

    def draw() -> str:
        if others and chance.random() >= MADE_UP:
            return chance.choice(others)
        first, second = chance.choice(long), chance.choice(long)
        return first[: (len(first) + 1) // 2] + second[len(second) // 2 :]

    return draw
