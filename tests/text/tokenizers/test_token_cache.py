"""Tokens kept on disk: found again, told apart, shared, and never wrong."""

import multiprocessing
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from polyglance.data import load_dataset
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.recipes.schema import TextRecipe
from polyglance.text.tokenizers import TokenCache, base, read_words, tokenizers, words
from polyglance.text.tokenizers.token_cache import FILE, cache_settings
from polyglance.training.inputs.data import fresh_model, prepare
from tests.conftest import TOY

TEXTS = [("A man's dog!", "en"), ("Der Hund", "de"), ("Der Hund", None), ("…", "en")]


class Cut:
    """Cuts texts at spaces, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def __call__(self, texts: Iterable[tuple[str, str | None]]) -> list[Sequence[str]]:
        new = list(texts)
        self.asked += new
        return [text.split() for text, _ in new]


def test_texts_are_cut_once(tmp_path: Path) -> None:
    cut = Cut()
    expected = [["A", "man's", "dog!"], ["Der", "Hund"], ["Der", "Hund"], ["…"]]
    assert TokenCache(tmp_path).get("s", [*TEXTS, TEXTS[0]], cut) == [*expected, expected[0]]
    assert cut.asked == TEXTS  # the same text in two languages is two
    assert TokenCache(tmp_path).get("s", [*TEXTS, ("new", "en")], cut) == [*expected, ["new"]]
    assert cut.asked == [*TEXTS, ("new", "en")]


def test_other_settings_have_tokens_of_their_own(tmp_path: Path) -> None:
    kept, cut = TokenCache(tmp_path), Cut()
    kept.get("one", TEXTS, cut)
    assert kept.get("other", TEXTS[:1], lambda _: [["x"]]) == [["x"]]
    assert kept.get("one", TEXTS[:1], cut) == [["A", "man's", "dog!"]]


def test_settings_tell_tokenizers_apart_and_know_their_own() -> None:
    module = words.__name__
    assert cache_settings(module, "words") != cache_settings(module, "nltk")
    assert cache_settings("somebody.else", "words") is None


def test_texts_without_tokens_and_odd_tokens_come_back_as_they_were(tmp_path: Path) -> None:
    kept = TokenCache(tmp_path)
    odd = {"a": [], "b": ["x\x1fy"], "c": [""], "d": ["\ud800"], "e": ["a\nb", "c"]}
    for _ in range(2):
        texts = [(name, None) for name in odd]
        found = kept.get("s", texts, lambda part: [odd[name] for name, _ in part])
        assert found == list(odd.values())


def test_a_tokenizer_of_ones_own_is_asked_every_time(tmp_path: Path) -> None:
    name = "kept-test"

    class Own:
        def tokenize(self, text: str, language: str | None = None) -> list[str]:
            return [text.upper()]

    tokenizers.register(name)(Own)
    kept = TokenCache(tmp_path)
    assert base.tokenize_many(["a"], "en", name, token_cache=kept) == [["A"]]
    assert not kept.path.exists()


def damage(path: Path, how: str) -> None:
    """Spoil a store in one of several ways."""
    content = path.read_bytes()
    if how == "no database":
        path.write_bytes(b"nothing of the kind" * 400)
    elif how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "other table":
        path.unlink()
        with sqlite3.connect(path) as connection:
            connection.execute("create table tokens (something text)")
        connection.close()
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("update tokens set value = replace(value, 'Hund', 'Katz')")
        connection.close()


@pytest.mark.parametrize("how", ["no database", "cut", "empty", "other table", "values"])
def test_a_damaged_file_changes_no_token(how: str, tmp_path: Path) -> None:
    texts = [(f"text {i} Hund", "de") for i in range(3000)]
    kept, cut = TokenCache(tmp_path), Cut()
    expected = kept.get("s", texts, cut)
    damage(kept.path, how)
    for _ in range(2):
        assert TokenCache(tmp_path).get("s", texts, cut) == expected
    if how not in ("cut", "other table"):  # and it is whole again
        before = len(cut.asked)
        assert TokenCache(tmp_path).get("s", texts, cut) == expected
        assert len(cut.asked) == before


def test_without_a_place_to_write_texts_are_cut_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert TokenCache(tmp_path / "file").get("s", TEXTS[1:2], Cut()) == [["Der", "Hund"]]


def write_part(folder: Path, number: int) -> None:
    """What one of several processes reads: half of it with the next one."""
    texts = [(f"a {i}", "en") for i in range(500 * number, 500 * number + 1000)]
    for start in range(0, 1000, 100):
        TokenCache(folder).get("s", texts[start : start + 100], Cut())


def test_many_processes_share_a_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_part, args=(tmp_path, i)) for i in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    cut = Cut()
    found = TokenCache(tmp_path).get("s", [(f"a {i}", "en") for i in range(2000)], cut)
    assert found == [["a", str(i)] for i in range(2000)]
    assert not cut.asked


def test_romanised_texts_are_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sudachipy")
    recipe, kept = TextRecipe(romanise=True), TokenCache(tmp_path)
    first = read_words(recipe, ["犬が走る", "Dog"], ["ja", "en"], token_cache=kept)

    def refuse(text: str, language: str | None) -> str:
        raise AssertionError(f"romanised again: {text}")

    refuse.__module__ = base.romanise.__module__
    monkeypatch.setattr(base, "romanise", refuse)
    assert read_words(recipe, ["犬が走る", "Dog"], ["ja", "en"], token_cache=kept) == first
    assert first[0][0].isascii()


def test_a_second_training_tokenises_nothing_and_has_the_same_ids(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = load_recipe("vsepp", parse_overrides([*TOY, "text.tokenizer=words"]), shared=True)
    dataset = load_dataset(toy)
    _, first = prepare(recipe, dataset, fresh_model, cache=tmp_path, show_progress=False)
    assert (tmp_path / FILE).is_file()
    base._tokens.cache_clear()

    def refuse(self: object, text: str, language: str | None = None) -> list[str]:
        raise AssertionError(f"tokenised again: {text}")

    monkeypatch.setattr(words.Words, "tokenize", refuse)
    _, second = prepare(recipe, dataset, fresh_model, cache=tmp_path, show_progress=False)
    np.testing.assert_array_equal(first.ids.flat, second.ids.flat)
    np.testing.assert_array_equal(first.ids.offsets, second.ids.offsets)
    with pytest.raises(AssertionError, match="tokenised again"):
        prepare(recipe, dataset, fresh_model, cache=tmp_path / "other", show_progress=False)
