"""Names of files do nothing to a terminal, and are exact where programs read them."""

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.core.terminal import path_bytes, path_fields, printable


@given(st.binary(max_size=30))
def test_nothing_commands_a_terminal_and_nothing_is_lost(data: bytes) -> None:
    text = os.fsdecode(data.replace(b"\0", b""))
    shown = printable(text)
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in shown)
    shown.encode()  # without halves of surrogate pairs
    exact = path_fields(Path(text))
    if text and "path_base64" in exact:
        assert base64.b64decode(exact["path_base64"]) == os.fsencode(Path(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Привет, 世界 👩‍🚀 می‌خواهم", None),
        ("a\x1b]0;owned\x07b", r"a\x1b]0;owned\x07b"),
        ("two\nlines\r\x85", r"two\nlines\r\x85"),
        ("gpj.\u202etxt", r"gpj.\u202etxt"),
        ("caf\udce9.jpg", r"caf\xe9.jpg"),
        ("\u2028", r"\u2028"),
    ],
)
def test_what_is_escaped(text: str, expected: str | None) -> None:
    assert printable(text) == (text if expected is None else expected)


def test_lines_of_a_pipe_are_exact_unless_the_name_would_break_them() -> None:
    assert path_bytes(Path("caf\udce9.jpg")) == b"caf\xe9.jpg"
    assert path_bytes(Path("a\nb")) == rb"a\nb"
    assert path_fields(Path("caf\udce9.jpg")) == {
        "path": "caf\ufffd.jpg",
        "path_base64": base64.b64encode(b"caf\xe9.jpg").decode(),
    }
