"""Words and character n-grams as numbers of buckets: no language, no vocabulary, none unknown.

Bojanowski et al. 2017 (fastText, §3.2) sum vectors of hashed n-grams; theirs are of a known word,
these of whatever a text says.
"""

import unicodedata
from functools import lru_cache
from zlib import crc32

import regex

# Runs of letters, marks and digits; emoji and flags one by one.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}")
# Written without spaces, or with many endings in one block (Korean): words are not to be seen.
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
)
SHORT = (1, 2, 3)
"""Characters of the n-grams of such scripts."""
LONGEST = 240
"""Longer words are cut, in characters: a line without spaces may be a whole text."""


def hash_words(text: str, buckets: int, ngram: int, longest: int) -> list[tuple[int, ...]]:
    """Buckets of each word of a text: the word's own, and those of its n-grams.

    Case and compatibility forms (NFKC) do not matter. A text without a letter, digit or emoji
    is one word, as it is.

    >>> [len(word) for word in hash_words("Two DOGS", 1000, 4, 60)]
    [3, 4]
    >>> hash_words("Two DOGS", 1000, 4, 60) == hash_words("two dogs!", 1000, 4, 60)
    True

    Args:
        text: as it is written.
        buckets: how many there are.
        ngram: characters of an n-gram, `<` and `>` around the word counted in.
        longest: words at most.
    """
    text = unicodedata.normalize("NFKC", text).lower()
    return [_hash_word(word[:LONGEST], buckets, ngram) for word in _words(text)[:longest]]


def subwords(word: str, ngram: int) -> list[str]:
    """The word with its ends and its n-grams; of scripts without spaces n-grams of 1 to 3.

    >>> subwords("dogs", 4)
    ['<dogs>', '#<dog', '#dogs', '#ogs>']
    >>> subwords("雪地", 4)
    ['雪', '地', '雪地']
    """
    if _UNSPACED.search(word):
        return [word[i : i + n] for n in SHORT for i in range(len(word) - n + 1)]
    whole = f"<{word}>"
    last = max(1, len(whole) - ngram + 1)
    # The mark keeps n-grams apart from words: a short word is an n-gram, too.
    return [whole, *(f"#{whole[i : i + ngram]}" for i in range(last))]


def _words(text: str) -> list[str]:
    return _WORD.findall(text) or [text]


@lru_cache(maxsize=200_000)
def _hash_word(word: str, buckets: int, ngram: int) -> tuple[int, ...]:
    return tuple(crc32(part.encode("utf-8", "replace")) % buckets for part in subwords(word, ngram))
