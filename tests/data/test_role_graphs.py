"""Files of semantic roles in the layout of HGR's authors."""

import json
from pathlib import Path
from typing import Any

import pytest

from polyglance.data.leakage import text_key
from polyglance.data.role_graphs import Node, read_role_graphs
from polyglance.errors import PolyglanceError

SENTENCE = "a man 's dog runs and jumps over a fence"
NODES: dict[str, Any] = {
    "0": {"role": "ROOT", "spans": list(range(10)), "words": SENTENCE.split()},
    "1": {"role": "V", "spans": [4], "words": ["runs"]},
    "2": {"role": "ARG0", "spans": [0, 1, 2, 3], "words": ["a", "man", "'s", "dog"]},
    "3": {"role": "V", "spans": [6], "words": ["jumps"]},
    "4": {"role": "R-ARGM-DIR", "spans": [7, 8, 9], "words": ["over", "a", "fence"]},
    "5": {"role": "ARGM-CAU", "spans": [9], "words": ["fence"]},
}
EDGES = [["0", "1", "V"], ["1", "2", "ARG0"], ["3", "2", "ARG0"], ["3", "4", "R-ARGM-DIR"]]


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_the_authors_layout_is_read(tmp_path: Path) -> None:
    found = read_role_graphs(write(tmp_path / "g.json", {SENTENCE: [NODES, EDGES]}))
    graph = found[text_key("A man's dog runs, and jumps over a fence.")]
    assert graph.words == tuple(SENTENCE.split())
    assert graph.verbs == (Node(0, (4,)), Node(0, (6,)))
    # ARG0 is the third role, ARGM-DIR the tenth; what is not among the sixteen is a NOUN.
    assert graph.entities == (Node(2, (0, 1, 2, 3)), Node(9, (7, 8, 9)), Node(15, (9,)))
    assert graph.edges == ((0, 0), (1, 0), (1, 1))


def test_nodes_that_are_not_read_do_not_count(tmp_path: Path) -> None:
    found = read_role_graphs(write(tmp_path / "g.json", {SENTENCE: [NODES, EDGES]}))
    graph = found[text_key(SENTENCE)]
    cut = graph.within(9, 4, 6)
    assert cut.entities == (Node(2, (0, 1, 2, 3)), Node(9, (7, 8)))
    assert cut.edges == graph.edges
    few = graph.within(30, 1, 1)
    assert (few.verbs, few.entities, few.edges) == (graph.verbs[:1], graph.entities[:1], ((0, 0),))
    # The first verb lies behind the words read: the second has its place.
    late = graph.within(2, 4, 6)
    assert (late.verbs, late.entities, late.edges) == ((), (Node(2, (0, 1)),), ())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "must have sentences with their nodes and edges"),
        ({}, "must have sentences with their nodes and edges"),
        ({"a dog": 3}, r"'a dog': needs \[nodes, edges\]"),
        ({"a dog": [{"1": {"role": "V"}}, []]}, r"'a dog': needs .* \('spans'\)"),
        ({"a dog": [{"1": {"role": "V", "spans": [2]}}, []]}, r"spans \[2\] of 2 words"),
        ({"a dog": [{"1": {"role": "V", "spans": []}}, []]}, r"spans \[\] of 2 words"),
        ({"a dog": [{"1": {"role": 4, "spans": [0]}}, []]}, "role 4"),
        ({"a dog": [{}, [["1"]]]}, "needs"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        read_role_graphs(write(tmp_path / "g.json", value))
