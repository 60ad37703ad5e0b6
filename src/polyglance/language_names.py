"""Names of languages in English and in themselves, and their tags."""

from polyglance.errors import PolyglanceError

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
    """The tag of a language by its name, in English or in itself; None of what is no such name.

    >>> tag_of_name("English"), tag_of_name("deutsch"), tag_of_name("de")
    ('en', 'de', None)
    """
    return _TAGS.get(name.strip().casefold())


def check_code(text: str, where: str) -> str:
    """A language as a table names it; a name instead of a tag, or a dash, is an error.

    What is neither stays: datasets may call languages what they like.

    Args:
        text: the cell, not empty.
        where: file and line, for the error.
    """
    if tag := tag_of_name(text):
        raise PolyglanceError(
            f"{where}: the language is '{text}', which is a name; write its tag, '{tag}'"
        )
    if not any(c.isalpha() for c in text):
        raise PolyglanceError(
            f"{where}: the language is '{text}', which is none; write a tag such as en or de, or "
            "remove the row"
        )
    return text
