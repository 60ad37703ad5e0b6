"""Japanese: counters, particles by verb, いる for the living and ある for things."""

from polyglance.data.generated.messages import Mention, Message
from polyglance.data.generated.realise import Language, entries, table, verb_forms
from polyglance.data.generated.world import kind

NOUNS = table("""
man 人 男性; woman 人 女性; girl 人 女の子; boy 人 男の子; dog 匹 犬; cat 匹 猫; horse 頭 馬
bird 羽 鳥; fish 匹 魚; ball 個 ボール; car 台 車; boat 隻 船; tree 本 木; house 軒 家
bicycle 台 自転車; umbrella 本 傘; chair 脚 椅子; flower 本 花; kite 枚 凧
""")
"""counter, noun"""

NUMBERS = "一二三四五数"
COLOURS = entries("""
red 赤い; blue 青い; green 緑色の; yellow 黄色い; white 白い; black 黒い; brown 茶色い
purple 紫色の
""")
SIZES = {"big": "大きな", "small": "小さな"}
VERBS = entries("""
be いる; be:thing ある; run 走っている; sit 座っている; sleep 眠っている|寝ている
jump 跳びはねている|ジャンプしている; eat 餌を食べている
eat:person 食事をしている|何かを食べている; swim 泳いでいる; fly 飛んでいる
""")
PARTICLES = {None: "に", "sit": "に", "run": "を", "swim": "を", "fly": "を"}
"""After the spot; で with the other verbs."""


def phrase(mention: Mention, case: str) -> str:
    """二匹の大きな赤い犬; a definite one goes without its counter."""
    counter, noun = NOUNS[mention.noun]
    colour = COLOURS.get(mention.colour or "", "")
    number = "" if mention.definite else f"{NUMBERS[mention.count - 1]}{counter}の"
    if kind(mention.noun) == "person":
        return (colour and colour + "服を着た") + number + noun
    return number + SIZES.get(mention.size or "", "") + colour + noun


def extra(message: Message) -> dict[str, str]:
    """Topic or subject marker, particle of the spot, and the verb of being of the other."""
    other = message.other.noun if message.other else "car"
    return {
        "ga": "は" if message.subject.definite else "が",
        "ni": PARTICLES.get(message.action, "で"),
        "other_is": "ある" if kind(other) == "thing" else "いる",
    }


LANGUAGE = Language(
    phrase,
    lambda message: verb_forms(VERBS, message)[0],
    relations=entries("""
        left 左側|左; right 右側|右; above 上方; below 下; front 前; behind 後ろ
        next 横|そば; on 上; under 下
    """),
    places=entries("""
        meadow 草原|野原; beach 砂浜|海辺; street 通り|街; snow 雪の中|雪原
        night 星空の下|夜空の下; room 部屋|部屋の中
    """),
    templates={
        "statement": (
            "[{place}で、]{subject}{ga}{relation}{ni}{doing}。",
            "{subject}{ga}[{place}で]{doing}。",
            "{subject}{ga}[{place}に{other_is}]{relation}に{verb}。",
            "{subject}{ga}{place}に{verb}。",
        ),
        "fronted": (
            "{place}で、[{relation}{ni}]{subject}が{doing}。",
            "[{place}に{other_is}]{relation}に{subject}が{verb}。",
            "{place}に{subject}が{verb}。",
        ),
        "presence": (
            "[{place}に{other_is}]{relation}に{subject}が{verb}。",
            "{place}に{subject}が{verb}。",
        ),
        "label": (
            "[{place}に{other_is}]{relation}に{verb}{subject}。",
            "{place}に{verb}{subject}。",
        ),
    },
    join=lambda position, noun_phrase: f"{noun_phrase}の{position}",
    extra=extra,
    finish=str,
)
