"""Russian: case after prepositions; after 2 to 4 the genitive singular, from 5 the plural."""

import re

from polyglance.data.generated.languages.slavic import CASES, slavic_phrase
from polyglance.data.generated.messages import Message
from polyglance.data.generated.realise import Language, entries, plural_verb, table, words

NOUNS = table("""
man m мужчина мужчины мужчиной мужчине мужчины мужчин мужчинами мужчинах
woman f женщина женщины женщиной женщине женщины женщин женщинами женщинах
girl f девочка девочки девочкой девочке девочки девочек девочками девочках
boy m мальчик мальчика мальчиком мальчике мальчики мальчиков мальчиками мальчиках
dog f собака собаки собакой собаке собаки собак собаками собаках
cat f кошка кошки кошкой кошке кошки кошек кошками кошках
horse f лошадь лошади лошадью лошади лошади лошадей лошадьми лошадях
bird f птица птицы птицей птице птицы птиц птицами птицах
fish f рыба рыбы рыбой рыбе рыбы рыб рыбами рыбах
ball m мяч мяча мячом мяче мячи мячей мячами мячах
car f машина машины машиной машине машины машин машинами машинах
boat f лодка лодки лодкой лодке лодки лодок лодками лодках
tree n дерево дерева деревом дереве деревья деревьев деревьями деревьях
house m дом дома домом доме дома домов домами домах
bicycle m велосипед велосипеда велосипедом велосипеде велосипеды велосипедов велосипедами \
велосипедах
umbrella m зонт зонта зонтом зонте зонты зонтов зонтами зонтах
chair m стул стула стулом стуле стулья стульев стульями стульях
flower m цветок цветка цветком цветке цветы цветов цветами цветах
kite m воздушный_змей воздушного_змея воздушным_змеем воздушном_змее воздушные_змеи \
воздушных_змеев воздушными_змеями воздушных_змеях воздушных_змея
""")
"""gender, then nominative, genitive, instrumental, prepositional"""

NUMERALS = table("""
2 два двух двумя двух; 3 три трёх тремя трёх; 4 четыре четырёх четырьмя четырёх
5 пять пяти пятью пяти; 6 несколько нескольких несколькими нескольких
""")
ADJECTIVES = table("""
red красн hard; blue син soft; green зелён hard; yellow жёлт hard; white бел hard
black чёрн hard; brown коричнев hard; purple фиолетов hard; big больш stressed
small маленьк velar
""")
ENDINGS = {
    kind: dict(zip(("m", "f", "n", "gen", "ins", "loc", "oblique", "i"), forms, strict=True))
    for kind, forms in table("""
hard ый ая ое ого ым ом ой ы
soft ий яя ее его им ем ей и
velar ий ая ое ого им ом ой и
stressed ой ая ое ого им ом ой и
""").items()
}
"""Nominatives, the cases of masculine and neuter, those of feminine, the plural's vowel."""

PLURAL = {"nom": "е", "gen": "х", "ins": "ми", "loc": "х"}
VERBS = entries("""
be находится/находятся; run бежит/бегут; sit сидит/сидят; sleep спит/спят
jump прыгает/прыгают; eat ест/едят; swim плывёт/плывут|плавает/плавают; fly летит/летят
""")


def numeral(count: int, gender: str, case: str) -> str:
    """две кошки, but два мяча and два дерева."""
    if (count, gender, case) == (2, "f", "nom"):
        return "две"
    return NUMERALS[str(count)][CASES.index(case)]


def adjective(name: str, gender: str, case: str, plural: bool) -> str:
    """An adjective's form."""
    stem, declension = ADJECTIVES[name]
    endings = ENDINGS[declension]
    if plural:
        return stem + endings["i"] + PLURAL[case]
    if case == "nom":
        return stem + endings[gender]
    return stem + endings["oblique" if gender == "f" else case]


def join(preposition: str, noun_phrase: str) -> str:
    """с becomes со before с, з, ж, ш and another consonant."""
    if preposition.endswith(" с") and re.match(r"[сзжш][бвгджзклмнпрстфхцчшщ]", noun_phrase):
        preposition += "о"
    return words(preposition, noun_phrase)


def verb(message: Message) -> str:
    """Before its subject the verb of five or several stays singular."""
    first = message.form in ("fronted", "presence")
    return plural_verb(VERBS, (1, 5, 6) if first else (1,))(message)


LANGUAGE = Language(
    slavic_phrase(
        NOUNS,
        numeral,
        adjective,
        lambda gender: ("nom" if gender == "f" else "gen", 1),
        lambda colour: f"в {adjective(colour, 'n', 'loc', False)}",
    ),
    verb,
    relations=entries("""
        left слева от:gen|по левую сторону от:gen
        right справа от:gen|по правую сторону от:gen; above над:ins; below под:ins
        front перед:ins; behind за:ins|позади:gen; next рядом с:ins|возле:gen; on на:loc
        under под:ins
    """),
    places=entries("""
        meadow на лугу|за городом; beach на пляже|у моря; street на улице|в городе
        snow в снегу|среди снегов; night под звёздным небом|ночью
        room в комнате|в помещении
    """),
    templates={
        "statement": ("{subject} {verb}[ {place}][ {relation}].",),
        "fronted": ("{place}[ {relation}] {verb} {subject}.",),
        "presence": ("{relation}[ {place}] {verb} {subject}.", "{place} {verb} {subject}."),
    },
    join=join,
)
