"""English names of languages and scripts, for labels."""

import unicodedata

_LANGUAGES = (
    "af Afrikaans,ar Arabic,bg Bulgarian,bn Bengali,ca Catalan,cs Czech,da Danish,de German,"
    "el Greek,en English,es Spanish,et Estonian,eu Basque,fa Persian,fi Finnish,fr French,"
    "gl Galician,he Hebrew,hi Hindi,hr Croatian,hu Hungarian,id Indonesian,it Italian,"
    "ja Japanese,ko Korean,lt Lithuanian,lv Latvian,ms Malay,nb Norwegian,nl Dutch,no Norwegian,"
    "pl Polish,pt Portuguese,ro Romanian,ru Russian,sk Slovak,sl Slovenian,sr Serbian,"
    "sv Swedish,sw Swahili,ta Tamil,te Telugu,th Thai,tr Turkish,uk Ukrainian,ur Urdu,"
    "vi Vietnamese,zh Chinese"
)
LANGUAGES = dict(pair.split(" ") for pair in _LANGUAGES.split(","))


def language_name(code: str) -> str:
    """The English name of a language code, or the code itself.

    >>> language_name("de"), language_name("zh-tw"), language_name("tlh")
    ('German', 'Chinese', 'tlh')
    """
    return LANGUAGES.get(code.lower().replace("_", "-").split("-")[0], code)


def script_name(text: str) -> str:
    """The script of the first letter outside Latin, as Unicode calls it.

    >>> script_name("dog 狗"), script_name("कुत्ता")
    ('CJK', 'Devanagari')
    """
    letters = (c for c in text if unicodedata.category(c)[0] == "L")
    names = (unicodedata.name(c, "UNKNOWN").split()[0] for c in letters)
    name = next((name for name in names if name != "LATIN"), "LATIN")
    return name if name == "CJK" else name.capitalize()
