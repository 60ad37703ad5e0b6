"""Languages: their tags (BCP 47), such as `de` or `pt-BR`, and their names."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from polyglance.errors import PolyglanceError


def standard_tag(text: str) -> str:
    """A tag in its standard form; an error if malformed, but not if the language is unknown.

    >>> standard_tag("PT_br"), standard_tag("deu_Latn")
    ('pt-BR', 'de')
    """
    tag = _standard(text, False)
    if tag is None:
        raise PolyglanceError(f"'{text}' is not a language tag; write one such as de or pt-BR")
    return tag


def is_tag(text: str) -> bool:
    """Whether a text is well-formed as a tag; its language need not exist."""
    return _standard(text, False) is not None


@lru_cache(maxsize=1024)
def base_language(language: str) -> str:
    """The standard tag of a language without script, region etc.

    Datasets may use names that are not tags; of these, it is the first part.

    >>> [base_language(tag) for tag in ("pt-BR", "PT_br", "tur", "zh-Hans", "my language")]
    ['pt', 'pt', 'tr', 'zh', 'my language']
    """
    return primary_subtag(_standard(language, True) or language)


UNDETERMINED = "und"
"""The tag of texts whose language is not known."""


def primary_subtag(tag: str) -> str:
    """The part of a tag that names the language, in lower case, otherwise unchanged.

    >>> primary_subtag("pt_BR"), primary_subtag("EN"), primary_subtag("deu")
    ('pt', 'en', 'deu')
    """
    return tag.strip().lower().replace("_", "-").split("-")[0]


def find_tag(language: str, tags: Iterable[str]) -> str | None:
    """The tag that a model or file uses for a language, such as `deu_Latn` for `de`.

    Prefers the same variety, then the same primary code, then alphabetical order.

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


def main_language(language: str) -> str:
    """`base_language`, and Bokmål for Norwegian, of which it is the usual written form.

    >>> main_language("no"), main_language("swh")
    ('nb', 'sw')
    """
    base = base_language(language)
    return "nb" if base == "no" else base


def known_language(language: str, known: Sequence[str], every: bool = False) -> str:
    """The tag that a model uses for a language, however it is written; an error if it has none.

    Args:
        language: a tag such as `DE`, `de-AT` or `deu`.
        known: tags of the model.
        every: whether the model reads other languages, too: then any existing one is accepted.

    >>> known_language("zh-CN", ["de", "zh"]), known_language("nl", ["de"], every=True)
    ('zh', 'nl')
    """
    if language in known:
        return language
    found = find_tag(language, known) or find_tag(main_language(language), known)
    if found is not None:
        return found
    if every and _exists(language):
        return base_language(language)
    if tag := tag_of_name(language):
        raise PolyglanceError(f"'{language}' is the name of a language; write its tag, '{tag}'")
    if every:
        raise PolyglanceError(
            f"'{language}' is not the tag of a language; write one such as de or pt-BR, or leave "
            "it out: the model reads every language"
        )
    raise PolyglanceError(
        f"the model was not trained on language '{language}' (its languages: {', '.join(known)})"
    )


def _exists(language: str) -> bool:
    import langcodes

    tag = _standard(language, False)
    return tag is not None and langcodes.tag_is_valid(tag)


@lru_cache(maxsize=1024)
def _standard(text: str, macro: bool) -> str | None:
    """The standard tag, or None if malformed."""
    import langcodes  # takes 0.1 s, and many commands need no tag

    try:
        return langcodes.standardize_tag(text.strip(), macro=macro)
    except langcodes.LanguageTagError:
        return None


_ENGLISH = (
    "af Afrikaans,ar Arabic,bg Bulgarian,bn Bengali,ca Catalan,cs Czech,da Danish,de German,"
    "el Greek,en English,es Spanish,et Estonian,eu Basque,fa Persian,fi Finnish,fr French,"
    "gl Galician,he Hebrew,hi Hindi,hr Croatian,hu Hungarian,id Indonesian,it Italian,"
    "ja Japanese,ko Korean,lt Lithuanian,lv Latvian,ms Malay,nb Norwegian,nl Dutch,no Norwegian,"
    "pl Polish,pt Portuguese,ro Romanian,ru Russian,sk Slovak,sl Slovenian,sr Serbian,"
    "sv Swedish,sw Swahili,ta Tamil,te Telugu,th Thai,tr Turkish,uk Ukrainian,ur Urdu,"
    "vi Vietnamese,zh Chinese"
)
_OWN = (
    "ar العربية,bg български,bn বাংলা,ca català,cs čeština,da dansk,de deutsch,el ελληνικά,"
    "es español,et eesti,eu euskara,fa فارسی,fi suomi,fr français,gl galego,he עברית,hi हिन्दी,"
    "hr hrvatski,hu magyar,it italiano,ja 日本語,ko 한국어,lt lietuvių,lv latviešu,nb norsk,"
    "nl nederlands,pl polski,pt português,ro română,ru русский,sk slovenčina,sl slovenščina,"
    "sr српски,sv svenska,sw kiswahili,ta தமிழ்,te తెలుగు,th ไทย,tr türkçe,uk українська,ur اردو,"
    "zh 中文,zh mandarin,fa farsi,nl flemish,es castilian"
)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(code, name) for code, _, name in (one.partition(" ") for one in text.split(","))]


ENGLISH = dict(_pairs(_ENGLISH))
_TAGS = {name.casefold(): code for code, name in [*_pairs(_OWN), *_pairs(_ENGLISH)]}


def language_name(code: str) -> str:
    """The English name of a language code, or the code itself.

    >>> language_name("de"), language_name("zh-tw"), language_name("tlh")
    ('German', 'Chinese', 'tlh')
    """
    return ENGLISH.get(code.lower().replace("_", "-").split("-")[0], code)


def tag_of_name(name: str) -> str | None:
    """The tag for a language's name, in English or in the language itself; None if unknown.

    >>> tag_of_name("English"), tag_of_name("deutsch"), tag_of_name("de")
    ('en', 'de', None)
    """
    return _TAGS.get(name.strip().casefold())


def check_code(text: str, where: str) -> str:
    """Check a language in a table: a name instead of a tag, or a dash, is an error.

    Anything else is allowed, since datasets may use tags of their own.

    Args:
        text: the cell, not empty.
        where: file and line, for the error.
    """
    if tag := tag_of_name(text):
        raise PolyglanceError(
            f"{where}: the language is '{text}', which is a name; write the tag '{tag}'"
        )
    if not any(c.isalpha() for c in text):
        raise PolyglanceError(
            f"{where}: the language is '{text}', which is not a tag; write one such as en or de, "
            "or remove the row"
        )
    return text
