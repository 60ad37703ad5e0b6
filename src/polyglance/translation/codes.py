"""How translation models name languages."""

from collections.abc import Iterable

_THREE = (
    "af afr,ar arb ara,bg bul,bn ben,ca cat,cs ces,da dan,de deu,el ell,en eng,es spa,et est,"
    "eu eus,fa pes fas,fi fin,fr fra,gl glg,he heb,hi hin,hr hrv,hu hun,id ind,is isl,it ita,"
    "ja jpn,ko kor,lt lit,lv lvs lav,nb nob,nl nld,pl pol,pt por,ro ron,ru rus,sk slk,sl slv,"
    "sv swe,sw swh swa,te tel,th tha,tr tur,uk ukr,vi vie,zh zho cmn"
)
THREE_LETTERS = {entry.split()[0]: entry.split()[1:] for entry in _THREE.split(",")}
"""ISO 639-1 → the ISO 639-3 codes that models use."""


def find_code(language: str, codes: Iterable[str]) -> str | None:
    """The model's code for a language: `de`, `de_DE` (mBART), `deu_Latn` (NLLB), `>>deu<<`.

    Of several scripts the simplified or the first in the alphabet is taken.

    >>> find_code("de", ["en_XX", "de_DE"]), find_code("zh", ["zho_Hant", "zho_Hans"])
    ('de_DE', 'zho_Hans')
    """
    names = [language, *THREE_LETTERS.get(language, [])]
    for name in names:
        fitting = [code for code in codes if _bare(code).split("_")[0] == name]
        if fitting:
            return min(fitting, key=lambda code: (_bare(code) != name, code))
    return None


def _bare(code: str) -> str:
    """Without the signs that mark a code as no word: `__de__`, `>>deu<<`, `<2de>`."""
    return code.strip("_<>").removeprefix("2").replace("-", "_")
