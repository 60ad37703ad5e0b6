"""Realises messages as sentences: the part that all languages share."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from polyglance.data.generated.messages import Mention, Message
from polyglance.data.generated.world import kind

Table = dict[str, list[str]]


def entries(text: str) -> dict[str, str]:
    """Parse entries separated by `;` or newlines: a key, a space, and its text.

    >>> entries("run läuft; sit sitzt")
    {'run': 'läuft', 'sit': 'sitzt'}
    """
    rows = (row.strip().partition(" ") for row in re.split("[;\n]", text) if row.strip())
    return {key: value for key, _, value in rows}


def table(text: str) -> Table:
    """Parse entries whose texts are space-separated forms; `_` is a space within a form.

    >>> table("dog Hund Hunde; kite воздушный_змей")
    {'dog': ['Hund', 'Hunde'], 'kite': ['воздушный змей']}
    """
    rows = entries(text).items()
    return {key: [form.replace("_", " ") for form in forms.split()] for key, forms in rows}


def pick(synonyms: str, variant: int) -> str:
    """One of the `|`-separated synonyms.

    >>> pick("big|large", 1)
    'large'
    """
    options = synonyms.split("|")
    return options[variant % len(options)]


def words(*parts: str) -> str:
    """Join the non-empty parts with spaces."""
    return " ".join(part for part in parts if part)


def capitalise(text: str) -> str:
    """Capitalise the first letter."""
    return text[:1].upper() + text[1:]


def verb_forms(verbs: dict[str, str], message: Message) -> list[str]:
    """The `/`-separated forms of the verb; `eat:person` precedes `eat`, the default is `be`."""
    action, noun = message.action or "be", message.subject.noun
    keys = (f"{action}:{noun}", f"{action}:{kind(noun)}", action)
    key = next(key for key in keys if key in verbs)
    return pick(verbs[key], message.variant).split("/")


def plural_verb(
    verbs: dict[str, str], singular: tuple[int, ...] = (1,)
) -> Callable[[Message], str]:
    """A verb function: the first form for the counts in `singular`, the last for the others."""

    def verb(message: Message) -> str:
        return verb_forms(verbs, message)[0 if message.subject.count in singular else -1]

    return verb


@dataclass(frozen=True)
class Language:
    """A language's grammar.

    `relations` maps a relation to `preposition` or `preposition:case`, with synonyms separated by
    `|`; `join` combines it with its noun phrase. A template's `[…]` is omitted if a slot in it is
    empty; the first template of a form whose other slots are all filled is used. `doing` is the
    verb of an action, `verb` may also be that of being.
    """

    phrase: Callable[[Mention, str], str]
    verb: Callable[[Message], str]
    relations: dict[str, str]
    places: dict[str, str]
    templates: dict[str, tuple[str, ...]] = field(default_factory=dict)
    join: Callable[[str, str], str] = words
    extra: Callable[[Message], dict[str, str]] = lambda message: {}
    finish: Callable[[str], str] = capitalise

    def slots(self, message: Message) -> dict[str, str]:
        """The values of the templates' slots."""
        relation = ""
        if message.relation and message.other:
            entry = pick(self.relations[message.relation], message.variant)
            preposition, _, case = entry.partition(":")
            relation = self.join(preposition, self.phrase(message.other, case or "nom"))
        place = pick(self.places[message.place], message.variant) if message.place else ""
        slots = {
            "subject": self.phrase(message.subject, "nom"),
            "verb": self.verb(message),
            "doing": self.verb(message) if message.action else "",
            "relation": relation,
            "place": place,
        }
        return slots | self.extra(message)

    def realise(self, message: Message) -> str:
        """The sentence."""
        slots = self.slots(message)
        for template in self.templates.get(message.form, ("{subject}[ {relation}][ {place}].",)):
            plain = re.sub(r"\[(.*?)\]", lambda m: m[1] if _filled(m[1], slots) else "", template)
            if _filled(plain, slots):
                return self.finish(plain.format_map(slots))
        raise ValueError(f"no template for {message}")


def _filled(template: str, slots: dict[str, str]) -> bool:
    return all(slots[name] for name in re.findall(r"{(\w+)}", template))
