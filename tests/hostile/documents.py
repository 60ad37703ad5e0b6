"""Recipes in YAML from an attacker."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.hostile.cases import Case, damaged, seeds

GOOD = "name: a\npaper: b\nsummary: c\nimage: {feature: efficientnet-lite2/global}\n"


def aliases(levels: int = 9, width: int = 10) -> str:
    """A few lines that stand for width ** levels values (the "billion laughs")."""
    lines = ["a0: &a0 [x, x]"]
    for level in range(1, levels):
        parts = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} [{parts}]")
    return "\n".join([*lines, f"name: *a{levels - 1}\n"])


def _write(folder: Path, text: bytes) -> Path:
    (folder / "mine.yaml").write_bytes(text)
    return folder / "mine.yaml"


TEXTS = {
    "aliases for 10^9 values": aliases(),
    "aliases in a field": f"{aliases(7)}\ntext: {{encoder: *a6}}\n",
    "an alias of itself": "name: &a [*a]\n",
    "a mapping of itself": "&a {name: *a}\n",
    "a merge of itself": "a: &a {<<: *a, name: b}\n",
    "nested deep": "[" * 10_000,
    "mappings nested deep": "{a: " * 5_000,
    "a Python object": "!!python/object/apply:os.system ['touch pwned']\n",
    "a key that is a list": "[a]: b\n",
    "a key that is a mapping": "{a: b}: c\n",
    "a key twice": f"{GOOD}name: b\n",
    "not a mapping": "just text",
    "nothing": "",
    "a long text": "name: " + "a" * 100_000 + "\nnowhere: " + "b" * 100_000,
    "a long number": f"{GOOD}training: {{epochs: {'9' * 5000}}}\n",
    "a long wrong value": f"{GOOD}training: {{epochs: '{'x' * 1_000_000}'}}\n",
    "many wrong values": f"{GOOD}training: {{epochs: [{'x, ' * 50_000}]}}\n",
    "infinity": f"{GOOD}training: {{lr: .inf}}\n",
    "not a number": f"{GOOD}training: {{lr: .nan}}\n",
    "an escape sequence": f'{GOOD}"\\e]0;title\\a": 1\n',
    "a file outside": "base: ../../../../etc/passwd.yaml\n",
    "a base of itself": "base: mine.yaml\n",
    "tags": "!!binary 'AAAA'\n",
    "a time": "2020-01-01\n",
}


def document_cases(count: int) -> Iterator[Case]:
    """The certain cases, and `count` of random damage."""
    for name, text in TEXTS.items():
        yield Case(name, partial(_write, text=text.encode()))
    yield Case("not UTF-8", partial(_write, text=b"name: \xff\xfe"))
    yield Case("a zero byte", partial(_write, text=b"name: a\0b"))
    for number, generator in enumerate(seeds(count)):
        text = damaged(GOOD.encode(), generator)
        yield Case(f"damage {number}", partial(_write, text=text), None)
