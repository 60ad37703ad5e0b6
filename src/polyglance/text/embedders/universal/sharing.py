"""How far languages share latent tokens: without it they are only a small table (SMALR, §3.1)."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from polyglance.text.lexicon import Lexicon

Tokens = Mapping[str, Mapping[str, int]]
"""Language → word → token."""


def token_sharing(tables: Tokens, latent: int, lexicon: Lexicon | None = None) -> dict[str, float]:
    """What a run reports of its latent tokens; empty where there are none.

    `used` tokens; the percentage of them `shared` by several languages; and, with a lexicon, the
    percentage of its `pairs` of words of two languages, both latent, that have one token, and
    their number, `lexicon_pairs`.

    Args:
        tables: word → token of every language.
        latent: latent tokens are those from 1 to this.
        lexicon: for pairs of words.

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
    several = sum(len(codes) > 1 for codes in users.values())
    found: dict[str, float] = {"used": len(users), "shared": round(100 * several / len(users), 3)}
    same = [] if lexicon is None else list(_pairs_on_one(own, lexicon))
    if same:
        found |= {"pairs": round(100 * sum(same) / len(same), 3), "lexicon_pairs": len(same)}
    return found


def _pairs_on_one(own: Tokens, lexicon: Lexicon) -> Iterator[bool]:
    """Of every pair of words that share a synset, whether they share a token."""
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
    """The same as a sentence.

    >>> sharing_text({"used": 3, "shared": 33.333, "pairs": 50.0, "lexicon_pairs": 2})
    'latent tokens: 3 used, 33.3 % by several languages; 50.0 % of 2 lexicon pairs share one'
    """
    text = f"latent tokens: {found['used']:,} used, {found['shared']:.1f} % by several languages"
    if "pairs" in found:
        text += f"; {found['pairs']:.1f} % of {found['lexicon_pairs']:,} lexicon pairs share one"
    return text
