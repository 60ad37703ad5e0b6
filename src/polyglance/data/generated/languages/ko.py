"""Korean: counters after the noun, particles by the final consonant."""

from polyglance.data.generated.messages import Mention, Message
from polyglance.data.generated.realise import Language, entries, table, verb_forms, words
from polyglance.data.generated.world import kind

NOUNS = table("""
man 명 남자; woman 명 여자; girl 명 여자아이; boy 명 남자아이; dog 마리 개; cat 마리 고양이
horse 마리 말; bird 마리 새; fish 마리 물고기; ball 개 공; car 대 자동차; boat 척 배
tree 그루 나무; house 채 집; bicycle 대 자전거; umbrella 개 우산; chair 개 의자
flower 송이 꽃; kite 개 연
""")
"""counter, noun"""

NUMBERS = ("한", "두", "세", "네", "다섯", "여러")
COLOURS = entries("""
red 빨간; blue 파란; green 초록색; yellow 노란; white 하얀; black 검은; brown 갈색
purple 보라색
""")
SIZES = {"big": "큰", "small": "작은"}
VERBS = entries("""
be 있다; run 달리고 있다|달려가고 있다; sit 앉아 있다; sleep 자고 있다|잠을 자고 있다
jump 뛰어오르고 있다|점프하고 있다; eat 먹이를 먹고 있다; eat:person 음식을 먹고 있다
swim 헤엄치고 있다; fly 날고 있다
""")


def particle(word: str, after_consonant: str, after_vowel: str) -> str:
    """The word with its particle: 개가, 말이.

    >>> particle("말", "은", "는")
    '말은'
    """
    closed = (ord(word[-1]) - 0xAC00) % 28 > 0
    return word + (after_consonant if closed else after_vowel)


def phrase(mention: Mention, case: str) -> str:
    """큰 빨간 개 두 마리; a definite one goes without its counter."""
    counter, noun = NOUNS[mention.noun]
    colour = COLOURS.get(mention.colour or "", "")
    if colour and kind(mention.noun) == "person":
        colour += " 옷을 입은"
    number = "" if mention.definite else f"{NUMBERS[mention.count - 1]} {counter}"
    return words(SIZES.get(mention.size or "", ""), colour, noun, number)


def extra(message: Message) -> dict[str, str]:
    """The subject with its marker, as an object, and the particle of the spot."""
    subject = phrase(message.subject, "")
    topic = message.subject.definite and message.form == "statement"
    marks = ("은", "는") if topic else ("이", "가")
    return {
        "marked": particle(subject, *marks),
        "seen": particle(subject, "을", "를") if message.variant else "",
        "e": "에" if message.action in (None, "sit") else "에서",
    }


LANGUAGE = Language(
    phrase,
    lambda message: verb_forms(VERBS, message)[0],
    relations=entries("""
        left 왼쪽; right 오른쪽; above 위쪽; below 아래쪽; front 앞; behind 뒤; next 옆
        on 위; under 아래
    """),
    places=entries("""
        meadow 풀밭|들판; beach 해변|바닷가; street 거리|도시; snow 눈밭|눈 덮인 들판
        night 별이 빛나는 하늘 아래|밤하늘 아래; room 방|방 안
    """),
    templates={
        "statement": (
            "[{place}에서 ]{marked} {relation}{e} {doing}.",
            "{marked}[ {place}{e}] {doing}.",
            "{marked} [{place}에 있는 ]{relation}에 {verb}.",
            "{marked} {place}에 {verb}.",
        ),
        "fronted": (
            "{place}에서[ {relation}{e}] {marked} {doing}.",
            "[{place}에 있는 ]{relation}에 {marked} {verb}.",
            "{place}에 {marked} {verb}.",
        ),
        "presence": (
            "[{place}에 있는 ]{relation}에서 {seen} 볼 수 있다.",
            "[{place}에 있는 ]{relation}에 {marked} {verb}.",
            "{place}에서 {seen} 볼 수 있다.",
            "{place}에 {marked} {verb}.",
        ),
        "label": ("[{place}에 있는 ]{relation}에 있는 {subject}.", "{place}에 있는 {subject}."),
    },
    join=lambda position, noun_phrase: f"{noun_phrase} {position}",
    extra=extra,
    finish=str,
)
