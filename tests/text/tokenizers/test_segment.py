"""Segmenters of scripts without spaces: missing ones, silence, long texts, threads."""

import pytest

from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers import get_tokenizer, segment
from polyglance.text.tokenizers.segment import is_unspaced
from tests.text.threads import at_once

tokenize = get_tokenizer("words").tokenize


@pytest.mark.parametrize(
    ("word", "unspaced"),
    [("狗", True), ("いぬ", True), ("dogカ", True), ("ไทย", True), ("개", False), ("dog", False)],
)
def test_scripts_without_spaces(word, unspaced):
    assert is_unspaced(word) == unspaced


def test_a_missing_segmenter_names_the_package(monkeypatch):
    for tool, module, text in (
        (segment._jieba, "jieba", "狗"),
        (segment._sudachi, "sudachipy", "いぬ"),
    ):
        tool.cache_clear()
        with monkeypatch.context() as patch:
            patch.setitem(__import__("sys").modules, module, None)
            with pytest.raises(PolyglanceError, match=f"pip install {module}"):
                tokenize(text)


def test_jieba_is_silent_and_caches_in_our_folder(monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path))
    segment._jieba.cache_clear()
    assert tokenize("小狗") == ["小狗"]
    segment._jieba.cache_clear()
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "jieba" / "jieba.cache").is_file()


def test_a_very_long_japanese_text():
    text = "いぬと" * 20_000
    assert "".join(tokenize(text)) == text


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(
    ("package", "text", "language"),
    [("jieba", "一只狗在草地上奔跑", "zh"), ("sudachipy", "犬が草の上を走っている", "ja")],
)
def test_segmenters_serve_several_threads(package: str, text: str, language: str) -> None:
    pytest.importorskip(package)
    expected = get_tokenizer("words").tokenize(text, language)
    assert len(expected) > 3
    found = at_once(lambda _: [get_tokenizer("words").tokenize(text, language) for _ in range(40)])
    assert all(tokens == expected for part in found for tokens in part)
