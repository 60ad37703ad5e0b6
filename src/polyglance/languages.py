"""Language tags (BCP 47), such as `de` or `pt-BR`."""

from collections.abc import Iterable
from functools import lru_cache

from polyglance.errors import PolyglanceError


def standard_tag(text: str, macro: bool = False) -> str:
    """A tag in its standard form; raises for what is no tag, but not for an unknown language.

    With `macro`, the usual variety of a macrolanguage becomes that: Mandarin (`cmn`) Chinese.

    >>> standard_tag("PT_br"), standard_tag("deu_Latn"), standard_tag("cmn", macro=True)
    ('pt-BR', 'de', 'zh')
    """
    tag = _standard(text, macro)
    if tag is None:
        raise PolyglanceError(f"'{text}' is not a language tag; write one such as de or pt-BR")
    return tag


def is_tag(text: str) -> bool:
    """Whether a text is well-formed as a tag; its language need not exist."""
    return _standard(text, False) is not None


@lru_cache(maxsize=1024)
def base_language(language: str) -> str:
    """The standard tag of a language without script, region and the like.

    Datasets may call languages what they like: of what is no tag it is the first part.

    >>> [base_language(tag) for tag in ("pt-BR", "PT_br", "tur", "zh-Hans", "my language")]
    ['pt', 'pt', 'tr', 'zh', 'my language']
    """
    return primary_subtag(_standard(language, True) or language)


def primary_subtag(tag: str) -> str:
    """The part of a tag that names the language, as it is written but in lower case.

    >>> primary_subtag("pt_BR"), primary_subtag("EN"), primary_subtag("deu")
    ('pt', 'en', 'deu')
    """
    return tag.strip().lower().replace("_", "-").split("-")[0]


def find_tag(language: str, tags: Iterable[str]) -> str | None:
    """Of the tags that a model or file uses, the one for a language, such as `deu_Latn` for `de`.

    The same variety comes first, then the same language by another code, then the alphabet.

    >>> find_tag("zh", ["yue_Hant", "zho_Hant", "zho_Hans"]), find_tag("pt-BR", ["pt_XX", "en_XX"])
    ('zho_Hans', 'pt_XX')
    """

    def distance(tag: str) -> tuple[bool, bool, str]:
        near, exact = (
            [_standard(one, macro) or one for one in (tag, language)] for macro in (True, False)
        )
        return near[0] != near[1], primary_subtag(exact[0]) != primary_subtag(exact[1]), tag

    base = base_language(language)
    return min((tag for tag in tags if base_language(tag) == base), key=distance, default=None)


@lru_cache(maxsize=1024)
def _standard(text: str, macro: bool) -> str | None:
    """The standard tag, or None of what is none."""
    import langcodes  # takes a tenth of a second, and many commands need no tag

    try:
        return langcodes.standardize_tag(text.strip(), macro=macro)
    except langcodes.LanguageTagError:
        return None
