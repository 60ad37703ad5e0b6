"""French: size before the noun, colour after it, both agreeing; elision and contraction."""

import re

from polyglance.data.generated.messages import Mention, Message
from polyglance.data.generated.realise import Language, entries, pick, table, verb_forms, words
from polyglance.data.generated.world import kind

NOUNS = table("""
man m homme hommes; woman f femme femmes; girl f fille filles; boy m garçon garçons
dog m chien chiens; cat m chat chats; horse m cheval chevaux; bird m oiseau oiseaux
fish m poisson poissons; ball m ballon ballons; car f voiture voitures
boat m bateau bateaux; tree m arbre arbres; house f maison maisons; bicycle m vélo vélos
umbrella m parapluie parapluies; chair f chaise chaises; flower f fleur fleurs
kite m cerf-volant cerfs-volants
""")
NUMBERS = ("", "deux", "trois", "quatre", "cinq", "plusieurs")
ADJECTIVES = table("""
red rouge rouge; brown marron marron; blue bleu bleue; green vert verte; yellow jaune jaune
white blanc blanche
black noir noire; purple violet violette; big grand grande; small petit petite
""")
"""masculine, feminine; the plural adds -s, but `marron` never changes"""

VERBS = entries("""
be est/sont|se trouve/se trouvent; run court/courent
sit est assis/sont assis/est assise/sont assises; sleep dort/dorment; jump saute/sautent
eat mange/mangent; swim nage/nagent; fly vole/volent
""")


def phrase(mention: Mention, case: str) -> str:
    """deux grands chiens rouges, l'oiseau blanc, une femme en rouge."""
    gender, singular, plural = NOUNS[mention.noun]
    many, person = mention.count > 1, kind(mention.noun) == "person"

    def agree(name: str | None) -> str:
        if name is None:
            return ""
        form = ADJECTIVES[name][gender == "f"]
        return form + ("s" if many and form != "marron" else "")

    core = words(agree(mention.size), plural if many else singular)
    if person and mention.colour:
        core += f" en {ADJECTIVES[mention.colour][0]}"
    elif not person:
        core = words(core, agree(mention.colour))
    if many:
        return words(NUMBERS[mention.count - 1], core)
    if not mention.definite:
        return words("une" if gender == "f" else "un", core)
    return re.sub(r"^l[ae] (?=[aeiouhéô])", "l'", words("la" if gender == "f" else "le", core))


def join(preposition: str, noun_phrase: str) -> str:
    """de un is d'un, de le is du."""
    text = words(preposition, noun_phrase)
    return re.sub(r"\bde (?=un)", "d'", text).replace(" de le ", " du ")


def verb(message: Message) -> str:
    """Number, and gender where there is a participle."""
    forms = verb_forms(VERBS, message)
    feminine = NOUNS[message.subject.noun][0] == "f" and len(forms) == 4
    return forms[(message.subject.count > 1) + 2 * feminine]


LANGUAGE = Language(
    phrase,
    verb,
    relations=entries("""
        left à gauche de|sur la gauche de; right à droite de|sur la droite de
        above au-dessus de; below en dessous de|au-dessous de; front devant; behind derrière
        next à côté de|près de; on sur; under sous
    """),
    places=entries("""
        meadow dans un pré|à la campagne; beach sur une plage|au bord de la mer
        street dans une rue|en ville; snow dans la neige|dans un paysage enneigé
        night sous un ciel étoilé|la nuit; room dans une pièce|à l'intérieur
    """),
    templates={
        "statement": ("{subject} {verb}[ {relation}][ {place}].",),
        "fronted": (
            "{place}, {subject} {doing}[ {relation}].",
            "{place}, {subject} {verb} {relation}.",
            "{place}, {there} {subject}.",
        ),
        "presence": ("{there} {subject}[ {relation}][ {place}].",),
    },
    join=join,
    extra=lambda message: {"there": pick("il y a|on voit", message.variant)},
)
