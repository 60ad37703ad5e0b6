"""Translations on disk: kept as they come, shared by processes, whole after a kill."""

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.translation import Translator, translate
from polyglance.translation.store import FILE, TranslationStore

WRITER = """
import sys
from pathlib import Path
from polyglance.translation.store import TranslationStore
store = TranslationStore(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    store.put(sys.argv[2], "en", "de", {f"{number} {i}": f"x{number} {i}" for i in range(10)})
    print(number, flush=True)
"""


class Upper(Translator):
    """Upper case; fails on the text given, and counts what it is asked."""

    name, batch = "upper", 2

    def __init__(self, bad: str = "") -> None:
        self.bad, self.asked = bad, []

    def translate(self, texts, source, target):
        if self.bad in texts:
            raise PolyglanceError("no more")
        self.asked += texts
        return [text.upper() for text in texts]


def test_each_text_is_translated_once(tmp_path):
    first, second = Upper(), Upper()
    texts = ["b", "a", "b", "c"]
    assert translate(first, texts, "en", "de", tmp_path) == ["B", "A", "B", "C"]
    assert sorted(first.asked) == ["a", "b", "c"]
    assert translate(second, texts, "en", "de", tmp_path) == ["B", "A", "B", "C"]
    assert second.asked == []
    translate(second, texts, "en", "fr", tmp_path)
    assert len(second.asked) == 3


def test_translations_before_a_failure_are_kept(tmp_path):
    with pytest.raises(PolyglanceError, match="no more"):
        translate(Upper("eeeee"), ["a", "bb", "ccc", "dddd", "eeeee"], "en", "de", tmp_path)
    again = Upper()
    translate(again, ["a", "bb", "ccc", "dddd", "eeeee"], "en", "de", tmp_path)
    assert again.asked == ["eeeee"]


def test_an_empty_answer_is_no_translation(tmp_path):
    class Silent(Translator):
        name = "silent"

        def translate(self, texts, source, target):
            return [" " for _ in texts]

    assert translate(Silent(), ["a"], "en", "de", tmp_path) == [None]
    assert translate(Silent(), ["a"], "en", "de", tmp_path) == [None]


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(st.text(max_size=9).filter(str.isprintable), st.text(max_size=9)))
def test_stored_translations_are_read_back(tmp_path_factory, pairs):
    store = TranslationStore(tmp_path_factory.mktemp("store"))
    store.put("t", "en", "de", pairs)
    assert store.get("t", "en", "de", list(pairs)) == pairs
    assert store.get("t", "de", "en", list(pairs)) == {}


def test_many_texts_are_looked_up_in_parts(tmp_path):
    store = TranslationStore(tmp_path)
    pairs = {str(number): f"n{number}" for number in range(1201)}
    store.put("t", "en", "de", pairs)
    assert store.get("t", "en", "de", [*pairs, "none"]) == pairs


def test_processes_write_side_by_side_and_a_kill_leaves_whole_batches(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    one = subprocess.Popen([*command, "one", "20"], stdout=subprocess.PIPE)
    two = subprocess.Popen([*command, "two", "100000"], stdout=subprocess.PIPE)
    assert two.stdout is not None
    seen = [two.stdout.readline() for _ in range(5)]
    os.kill(two.pid, signal.SIGKILL)
    two.wait()
    assert one.wait() == 0
    store = TranslationStore(tmp_path)
    texts = [f"{number} {i}" for number in range(20) for i in range(10)]
    assert len(store.get("one", "en", "de", texts)) == 200
    found = len(store.get("two", "en", "de", [f"{n} {i}" for n in range(400) for i in range(10)]))
    assert found >= 10 * len(seen)
    assert found % 10 == 0


def test_a_damaged_store_is_refused(tmp_path):
    (tmp_path / FILE).write_bytes(b"not a database" * 100)
    with pytest.raises(PolyglanceError, match=r"damaged.*remove the file"):
        translate(Upper(), ["a"], "en", "de", tmp_path)
