"""Commands and Python in the docs name what exists: commands, options, modules, functions."""

import ast
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest
from typer.main import get_command

import polyglance
from polyglance.cli import app
from polyglance.studies import study_names

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in PAGES if page.name != "changelog.md"]
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"(?<![\w/:-])polyglance ((?:[^`\n#]|\\\n)+)")


def python_blocks():
    for name, text in TEXTS.items():
        for number, block in enumerate(PYTHON.findall(text)):
            yield pytest.param(block, id=f"{name}-{number}")


@pytest.mark.parametrize("block", python_blocks())
def test_names_in_python_exist(block):
    tree = ast.parse(block)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("polyglance"):
            for alias in node.names:
                assert resolve_name(f"{node.module}:{alias.name}") is not None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert node.value.id != "polyglance" or node.attr in polyglance.__all__


def commands():
    """(page, words) of everything that looks like a command of the program."""
    for name, text in TEXTS.items():
        for written in COMMAND.findall(text):
            words = written.replace("\\\n", " ").split()
            if re.fullmatch(r"[a-z][a-z-]*", words[0]):
                yield name, words


def described(words):
    """The command that words begin with, and its options."""
    command = get_command(app)
    for word in words:
        below = getattr(command, "commands", {})
        if word not in below:
            break
        command = below[word]
    return command, {option for param in command.params for option in param.opts}


def test_options_of_commands_exist():
    missing = []
    for name, words in commands():
        command, known = described(words)
        if command.name == get_command(app).name:
            missing.append((name, words[0]))
        given = [re.match(r"--[a-z-]+", word) for word in words]
        used = {found[0] for found in given if found}
        missing += [(name, command.name, option) for option in sorted(used - known)]
    assert missing == []
    assert sum(1 for _ in commands()) > 80


def test_studies_named_in_commands_exist():
    named = {words[1] for _, words in commands() if words[0] == "study" and len(words) > 1}
    named = {word for word in named if re.fullmatch(r"[a-z0-9-]+", word) and word[0] != "-"}
    assert named - set(study_names()) == set()
    assert len(named) > 5
