"""Semantic roles of captions, as published by HGR's authors (Chen et al. 2020, §3.1).

Their sent2rolegraph.augment.json has {sentence: [nodes, edges]}: a node is a verb (role V) or an
argument of one, with the indices of its words in the sentence; an edge leads from a verb to an
argument. Words are separated by spaces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.data.leakage import text_key
from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_json

FILE = "sent2rolegraph.augment.json"
ROLES = [
    "V",
    "ARG1",
    "ARG0",
    "ARG2",
    "ARG3",
    "ARG4",
    "ARGM-LOC",
    "ARGM-MNR",
    "ARGM-TMP",
    "ARGM-DIR",
    "ARGM-ADV",
    "ARGM-PRP",
    "ARGM-PRD",
    "ARGM-COM",
    "ARGM-MOD",
    "NOUN",
]
"""The authors' 16 roles; others count as NOUN, and C-ARG1 and R-ARG1 as ARG1."""
ROOT = "ROOT"


@dataclass(frozen=True)
class Node:
    """A verb, or an argument of verbs: the index of its role, and those of its words."""

    role: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class RoleGraph:
    """A sentence's words, its verbs and entities, and the edges (verb, entity) between them."""

    words: tuple[str, ...]
    verbs: tuple[Node, ...]
    entities: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]

    def within(self, length: int, verbs: int, entities: int) -> "RoleGraph":
        """The part of the graph within the first words; nodes after them are dropped.

        Args:
            length: number of words.
            verbs: most verbs.
            entities: most entities.
        """
        kept = [_first(self.verbs, length, verbs), _first(self.entities, length, entities)]
        number = [{old: new for new, old in enumerate(side)} for side in kept]
        nodes = [
            tuple(_cut(side[old], length) for old in own)
            for side, own in zip((self.verbs, self.entities), kept, strict=True)
        ]
        edges = [
            (number[0][verb], number[1][entity])
            for verb, entity in self.edges
            if verb in number[0] and entity in number[1]
        ]
        return RoleGraph(self.words[:length], nodes[0], nodes[1], tuple(edges))


def role_number(role: str) -> int:
    """The index of a role.

    >>> role_number("ARG0"), role_number("R-ARG0"), role_number("ARGM-CAU")
    (2, 2, 15)
    """
    name = role[2:] if role[:2] in ("C-", "R-") else role
    return ROLES.index(name if name in ROLES else "NOUN")


def read_role_graphs(path: Path) -> dict[str, RoleGraph]:
    """Graphs by the `text_key` of their sentences; of duplicates, the first is used."""
    value: Any = read_json(path)
    if not isinstance(value, dict) or not value:
        raise PolyglanceError(f"{path}: must have sentences with their nodes and edges")
    found: dict[str, RoleGraph] = {}
    for sentence, graph in value.items():
        if (key := text_key(sentence)) not in found:
            found[key] = _graph(sentence, graph, f"{path}, '{sentence}'")
    return found


def _graph(sentence: str, value: Any, where: str) -> RoleGraph:
    words = tuple(sentence.split())
    try:
        nodes, edges = value
        read = {name: _node(node, len(words)) for name, node in nodes.items()}
        pairs = [(str(edge[0]), str(edge[1])) for edge in edges]
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise PolyglanceError(
            f"{where}: needs [nodes, edges], where a node has a role and spans, the indices of "
            f"its words ({error})"
        ) from None
    verbs = [name for name, node in nodes.items() if node["role"] == "V"]
    others = [name for name, node in nodes.items() if node["role"] not in ("V", ROOT)]
    edges = [
        (verbs.index(first), others.index(last))
        for first, last in pairs
        if first in verbs and last in others
    ]
    return RoleGraph(words, _take(read, verbs), _take(read, others), tuple(edges))


def _node(value: Mapping[str, Any], words: int) -> Node:
    role = value["role"]
    if not isinstance(role, str):
        raise ValueError(f"role {role!r}")
    if role == ROOT:
        return Node(0, ())
    places = tuple(value["spans"])
    if not places or not all(type(place) is int and 0 <= place < words for place in places):
        raise ValueError(f"spans {list(places)} of {words} words")
    return Node(role_number(role), places)


def _take(nodes: Mapping[str, Node], names: list[str]) -> tuple[Node, ...]:
    return tuple(nodes[name] for name in names)


def _first(nodes: tuple[Node, ...], length: int, most: int) -> list[int]:
    return [n for n, node in enumerate(nodes) if min(node.places) < length][:most]


def _cut(node: Node, length: int) -> Node:
    return Node(node.role, tuple(place for place in node.places if place < length))
