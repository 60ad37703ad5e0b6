"""Statistics of how languages share latent tokens (SMALR, §3.1)."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from polyglance.text.lexicon import Lexicon

Tokens = Mapping[str, Mapping[str, int]]
"""Language → word → token."""


def token_sharing(tables: Tokens, latent: int, lexicon: Lexicon | None = None) -> dict[str, float]:
    """Statistics of latent tokens, for reports; empty if there are none.

    The number of `used` tokens; the percentage of them `shared` by several languages; and, with a
    lexicon, the percentage of `pairs` of latent words with a common synset that share a token, and
    the number of such pairs, `lexicon_pairs`.

    Args:
        tables: word → token of every language.
        latent: number of latent tokens, which are numbered from 1.
        lexicon: source of word pairs.

    >>> token_sharing({"de": {"hund": 1, "rot": 2}, "en": {"dog": 1, "red": 3}}, 3)
    {'used': 3, 'shared': 33.333}
    """
    own = {
        code: {word: token for word, token in table.items() if 0 < token <= latent}
        for code, table in tables.items()
    }
    users: dict[int, set[str]] = {}
    for code, table in own.items():
        for token in table.values():
            users.setdefault(token, set()).add(code)
    if not users:
        return {}
    shared = sum(len(codes) > 1 for codes in users.values())
    found: dict[str, float] = {"used": len(users), "shared": round(100 * shared / len(users), 3)}
    same = [] if lexicon is None else list(_pairs_share_token(own, lexicon))
    if same:
        found |= {"pairs": round(100 * sum(same) / len(same), 3), "lexicon_pairs": len(same)}
    return found


def _pairs_share_token(own: Tokens, lexicon: Lexicon) -> Iterator[bool]:
    """For every pair of words that share a synset, whether they share a token."""
    words: dict[str, dict[str, list[str]]] = {}
    for code, table in own.items():
        words[code] = {}
        for word, synsets in lexicon.synsets(code, normalised=True).items():
            for synset in synsets if word in table else ():
                words[code].setdefault(synset, []).append(word)
    for one, two in combinations(words, 2):
        pairs = {
            (first, second)
            for synset in words[one].keys() & words[two].keys()
            for first in words[one][synset]
            for second in words[two][synset]
        }
        yield from (own[one][first] == own[two][second] for first, second in pairs)


def sharing_text(found: Mapping[str, float]) -> str:
    """The statistics as a sentence.

    >>> sharing_text({"used": 3, "shared": 33.333, "pairs": 50.0, "lexicon_pairs": 2})
    'latent tokens: 3 used, 33.3 % by several languages; 50.0 % of 2 lexicon pairs share one'
    """
    text = f"latent tokens: {found['used']:,} used, {found['shared']:.1f} % by several languages"
    if "pairs" in found:
        text += f"; {found['pairs']:.1f} % of {found['lexicon_pairs']:,} lexicon pairs share one"
    return text
