"""Arabic: dual, numeral polarity, broken plurals that agree as feminine singulars."""

import re

from polyglance.data.generated.messages import Mention, Message
from polyglance.data.generated.realise import Language, entries, pick, table, words
from polyglance.data.generated.world import SEVERAL, kind

NOUNS = table("""
man m رجل رجلان رجال; woman f امرأة امرأتان نساء; girl f فتاة فتاتان فتيات
boy m ولد ولدان أولاد; dog m كلب كلبان كلاب; cat f قطة قطتان قطط; horse m حصان حصانان أحصنة
bird m طائر طائران طيور; fish f سمكة سمكتان سمكات; ball f كرة كرتان كرات
car f سيارة سيارتان سيارات; boat m قارب قاربان قوارب; tree f شجرة شجرتان أشجار
house m بيت بيتان بيوت; bicycle f دراجة دراجتان دراجات; umbrella f مظلة مظلتان مظلات
chair m كرسي كرسيان كراسي; flower f زهرة زهرتان زهور
kite f طائرة_ورقية طائرتان_ورقيتان طائرات_ورقية
""")
"""gender, singular, dual, plural"""

NUMBERS = {3: "ثلاث", 4: "أربع", 5: "خمس"}
ADJECTIVES = table("""
red أحمر حمراء; blue أزرق زرقاء; green أخضر خضراء; yellow أصفر صفراء; white أبيض بيضاء
black أسود سوداء; brown بني بنية; purple بنفسجي بنفسجية; big كبير كبيرة; small صغير صغيرة
""")
VERBS = entries("""
run يركض|يجري; sit يجلس; sleep ينام; jump يقفز; eat يأكل; swim يسبح; fly يطير; be يوجد
""")


def phrase(mention: Mention, case: str) -> str:
    """The noun with its adjectives after it; duals end in -ān, in the genitive -ayn."""
    gender, *forms = NOUNS[mention.noun]
    person = kind(mention.noun) == "person"
    noun = forms[min(mention.count, 3) - 1]
    names = (None if person else mention.colour, mention.size)
    parts = [noun, *(_agree(name, gender, mention.count) for name in names if name)]
    if mention.definite:
        parts = [re.sub(r"(^|(?<= ))(?:ا(?=مرأة))?", "ال", part) for part in parts]
    if mention.count == 2 and case == "gen":
        parts = [re.sub(r"ان\b", "ين", part) for part in parts]
    number = NUMBERS.get(mention.count, "عدة" if mention.count == SEVERAL else "")
    if mention.count in NUMBERS and gender == "m":
        number += "ة"
    clothes = f"بملابس {ADJECTIVES[mention.colour][1]}" if person and mention.colour else ""
    return words(number, *parts, clothes)


def _agree(name: str, gender: str, count: int) -> str:
    """Singular and dual agree in gender; plurals of things and animals take the feminine."""
    form = ADJECTIVES[name][gender == "f" or count > 2]
    if count != 2:
        return form
    if form.endswith("اء"):
        return form[:-2] + "اوان"
    return (form[:-1] + "ت" if form.endswith("ة") else form) + "ان"


def verb(message: Message) -> str:
    """The verb comes first, hence singular; it agrees in gender."""
    subject = message.subject
    form = pick(VERBS[message.action or "be"], message.variant)
    vague = subject.count == SEVERAL and kind(subject.noun) != "person"
    feminine = NOUNS[subject.noun][0] == "f" or vague
    return "ت" + form[1:] if feminine else form


LANGUAGE = Language(
    phrase,
    verb,
    relations=entries("""
        left على يسار:gen|إلى يسار:gen; right على يمين:gen|إلى يمين:gen; above فوق:gen
        below تحت:gen; front أمام:gen; behind خلف:gen|وراء:gen; next بجانب:gen|بجوار:gen
        on على:gen; under تحت:gen
    """),
    places=entries("""
        meadow في مرج|في الريف; beach على شاطئ|على شاطئ البحر; street في شارع|في المدينة
        snow في الثلج|وسط الثلوج; night تحت سماء مليئة بالنجوم|ليلاً; room في غرفة|داخل غرفة
    """),
    templates={
        "statement": ("{verb} {subject}[ {relation}][ {place}].",),
        "fronted": ("{place}، {verb} {subject}[ {relation}].",),
        "presence": ("هناك {subject}[ {relation}][ {place}].",),
    },
)
