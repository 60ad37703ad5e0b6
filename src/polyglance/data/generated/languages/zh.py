"""Chinese: classifiers, the place before the verb."""

from polyglance.data.generated.messages import Mention, Message
from polyglance.data.generated.realise import Language, entries, table, verb_forms
from polyglance.data.generated.world import kind

NOUNS = table("""
man 个 男人; woman 个 女人; girl 个 女孩; boy 个 男孩; dog 只 狗; cat 只 猫; horse 匹 马
bird 只 鸟; fish 条 鱼; ball 个 球; car 辆 汽车; boat 艘 船; tree 棵 树; house 座 房子
bicycle 辆 自行车; umbrella 把 雨伞; chair 把 椅子; flower 朵 花; kite 只 风筝
""")
"""classifier, noun"""

NUMBERS = "一两三四五几"
COLOURS = entries("""
red 红; blue 蓝; green 绿; yellow 黄; white 白; black 黑; brown 棕; purple 紫
""")
SIZES = {"big": "大", "small": "小"}
VERBS = entries("""
be; run 奔跑|跑步; sit 坐着; sleep 睡觉; jump 跳跃; eat 吃东西; swim 游泳; swim:fish 游动
fly 飞翔
""")


def phrase(mention: Mention, case: str) -> str:
    """两只红色的大狗, 一个穿红色衣服的男人."""
    classifier, noun = NOUNS[mention.noun]
    number = "这" if mention.definite else NUMBERS[mention.count - 1]
    colour = COLOURS.get(mention.colour or "", "")
    if colour:
        colour = f"穿{colour}色衣服的" if kind(mention.noun) == "person" else f"{colour}色的"
    return number + classifier + colour + SIZES.get(mention.size or "", "") + noun


def alone(message: Message) -> str:
    """The verb where no place comes before it: 正在奔跑, 坐着."""
    verb = verb_forms(VERBS, message)[0]
    return verb if message.action == "sit" else verb and "正在" + verb


LANGUAGE = Language(
    phrase,
    lambda message: verb_forms(VERBS, message)[0],
    relations=entries("""
left 左边|左侧; right 右边|右侧; above 的上方; below 的下方; front 前面|前方; behind 后面|后方
next 旁边; on 上面; under 下面
"""),
    places=entries("""
meadow 草地上|田野里; beach 沙滩上|海边; street 街上|城市里; snow 雪地里|雪中; night 星空下|夜空下
room 房间里|屋里
"""),
    templates={
        "statement": (
            "[在{place}，]{subject}在{relation}[{verb}]。",
            "{subject}在{place}[{verb}]。",
            "{subject}{alone}。",
        ),
        "fronted": ("在{place}，{subject}在{relation}[{verb}]。", "{place}，{subject}{alone}。",
                    "{place}有{subject}。"),
        "presence": ("[{place}，]{relation}有{subject}。", "{place}有{subject}。"),
        "label": ("[{place}，]{relation}的{subject}。", "{place}的{subject}。"),
    },
    join=lambda position, noun_phrase: noun_phrase + position,
    extra=lambda message: {"alone": alone(message)},
    finish=str,
)  # fmt: skip
