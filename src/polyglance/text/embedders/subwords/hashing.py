"""Hashes words and character n-grams into buckets, without a vocabulary or unknown words.

Bojanowski et al. 2017 (fastText, §3.2) sum vectors of hashed n-grams of known words; here any word
of a text is hashed.
"""

import unicodedata
from functools import lru_cache
from zlib import crc32

import regex

# Runs of letters, marks and digits; emoji and flags one by one.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}")
# Scripts without spaces, or with many endings per block (Korean), where words are not visible.
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
)
SHORT = (1, 2, 3)
"""Lengths of n-grams in such scripts."""
LONGEST = 240
"""Longest word in characters; a line without spaces may be a whole text."""


def hash_words(text: str, buckets: int, ngram: int, longest: int) -> list[tuple[int, ...]]:
    """Buckets of each word of a text: of the word itself, and of its n-grams.

    Case and compatibility forms (NFKC) are ignored. A text without a letter, digit or emoji counts
    as one word.

    >>> [len(word) for word in hash_words("Two DOGS", 1000, 4, 60)]
    [3, 4]
    >>> hash_words("Two DOGS", 1000, 4, 60) == hash_words("two dogs!", 1000, 4, 60)
    True

    Args:
        text: as written.
        buckets: number of buckets.
        ngram: length of n-grams in characters, including `<` and `>` around the word.
        longest: maximum number of words.
    """
    text = unicodedata.normalize("NFKC", text).lower()
    return [_hash_word(word[:LONGEST], buckets, ngram) for word in _words(text)[:longest]]


def subwords(word: str, ngram: int) -> list[str]:
    """The word between `<` and `>`, and its n-grams; n-grams of 1 to 3 in scripts without spaces.

    >>> subwords("dogs", 4)
    ['<dogs>', '#<dog', '#dogs', '#ogs>']
    >>> subwords("雪地", 4)
    ['雪', '地', '雪地']
    """
    if _UNSPACED.search(word):
        return [word[i : i + n] for n in SHORT for i in range(len(word) - n + 1)]
    whole = f"<{word}>"
    last = max(1, len(whole) - ngram + 1)
    # The mark distinguishes n-grams from words, since a short word is an n-gram, too.
    return [whole, *(f"#{whole[i : i + ngram]}" for i in range(last))]


def _words(text: str) -> list[str]:
    return _WORD.findall(text) or [text]


@lru_cache(maxsize=200_000)
def _hash_word(word: str, buckets: int, ngram: int) -> tuple[int, ...]:
    return tuple(crc32(part.encode("utf-8", "replace")) % buckets for part in subwords(word, ngram))
