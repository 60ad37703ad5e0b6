"""Czech: animate and inanimate masculines, numerals that govern, case after prepositions."""

from polyglance.data.generated.languages.slavic import CASES, slavic_phrase
from polyglance.data.generated.realise import Language, entries, plural_verb, table

NOUNS = table("""
man a muž muže mužem muži muži mužů muži mužích
woman f žena ženy ženou ženě ženy žen ženami ženách
girl f dívka dívky dívkou dívce dívky dívek dívkami dívkách
boy a chlapec chlapce chlapcem chlapci chlapci chlapců chlapci chlapcích
dog a pes psa psem psovi psi psů psy psech
cat f kočka kočky kočkou kočce kočky koček kočkami kočkách
horse a kůň koně koněm koni koně koní koňmi koních
bird a pták ptáka ptákem ptákovi ptáci ptáků ptáky ptácích
fish f ryba ryby rybou rybě ryby ryb rybami rybách
ball m míč míče míčem míči míče míčů míči míčích
car n auto auta autem autě auta aut auty autech
boat f loďka loďky loďkou loďce loďky loděk loďkami loďkách
tree m strom stromu stromem stromě stromy stromů stromy stromech
house m dům domu domem domě domy domů domy domech
bicycle n kolo kola kolem kole kola kol koly kolech
umbrella m deštník deštníku deštníkem deštníku deštníky deštníků deštníky deštnících
chair f židle židle židlí židli židle židlí židlemi židlích
flower f květina květiny květinou květině květiny květin květinami květinách
kite a drak draka drakem drakovi draci draků draky dracích
""")
"""gender (a: masculine animate), then nominative, genitive, instrumental, locative"""

NUMERALS = table("""
2 dva dvou dvěma dvou; 3 tři tří třemi třech; 4 čtyři čtyř čtyřmi čtyřech
5 pět pěti pěti pěti; 6 několik několika několika několika
""")
ADJECTIVES = table("""
red červen červení; blue modr modří; green zelen zelení; yellow žlut žlutí; white bíl bílí
black čern černí; brown hněd hnědí; purple fialov fialoví; big velk velcí; small mal malí
""")
"""stem, and the animate nominative plural with its softened consonant"""

MASCULINE = {"nom": "ý", "gen": "ého", "ins": "ým", "loc": "ém"}
SINGULAR = {
    "a": MASCULINE,
    "m": MASCULINE,
    "f": {"nom": "á", "gen": "é", "ins": "ou", "loc": "é"},
    "n": {**MASCULINE, "nom": "é"},
}
PLURAL = {"gen": "ých", "ins": "ými", "loc": "ých"}
VERBS = entries("""
be je/jsou|se nachází/se nacházejí; run běží; sit sedí; sleep spí; jump skáče/skáčou
eat žere/žerou; eat:person jí/jedí; swim plave/plavou; fly letí
""")


def numeral(count: int, gender: str, case: str) -> str:
    """dva psi, but dvě kočky and dvě auta."""
    if (count, case) == (2, "nom") and gender in "fn":
        return "dvě"
    return NUMERALS[str(count)][CASES.index(case)]


def adjective(name: str, gender: str, case: str, plural: bool) -> str:
    """A hard adjective's form."""
    stem, animate = ADJECTIVES[name]
    if not plural:
        return stem + SINGULAR[gender][case]
    if case == "nom":
        return animate if gender == "a" else stem + ("á" if gender == "n" else "é")
    return stem + PLURAL[case]


def clothes(colour: str) -> str:
    """v červeném, vocalised before ž + consonant and f."""
    return f"{'ve' if colour in ('yellow', 'purple') else 'v'} {ADJECTIVES[colour][0]}ém"


LANGUAGE = Language(
    slavic_phrase(NOUNS, numeral, adjective, lambda gender: ("nom", 4), clothes),
    plural_verb(VERBS, singular=(1, 5, 6)),
    relations=entries("""
        left vlevo od:gen|nalevo od:gen; right vpravo od:gen|napravo od:gen; above nad:ins
        below pod:ins; front před:ins; behind za:ins; next vedle:gen|poblíž:gen; on na:loc
        under pod:ins
    """),
    places=entries("""
        meadow na louce|na venkově; beach na pláži|u moře; street na ulici|ve městě
        snow ve sněhu|v zasněžené krajině; night pod hvězdnou oblohou|v noci
        room v pokoji|v místnosti
    """),
    templates={
        "statement": ("{subject} {verb}[ {place}][ {relation}].",),
        "fronted": ("{place}[ {relation}] {verb} {subject}.",),
        "presence": ("{relation} {verb}[ {place}] {subject}.", "{place} {verb} {subject}."),
    },
)
