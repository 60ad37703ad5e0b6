"""Chinese and Japanese in Latin letters."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers.romanise import hepburn, romanise


@pytest.mark.parametrize(
    ("kana", "latin"),
    [
        ("トウキョウ", "toukyou"),
        ("サッカー", "sakkaa"),
        ("マッチャ", "matcha"),
        ("ジャンプ", "janpu"),
        ("チェス", "chesu"),
        ("ヴァイオリン", "vaiorin"),
        ("ウィンク", "winku"),
        ("フォーク", "fooku"),
        ("ピッツァ", "pittsa"),
        ("しゅっぱつ", "shuppatsu"),
        ("リュック", "ryukku"),
        ("ッ", ""),
        ("Tシャツ", "Tshatsu"),
    ],
)
def test_kana(kana: str, latin: str) -> None:
    assert hepburn(kana) == latin


@given(st.text("カキシチッャュョァィンーヴフウあえっゃ漢a ", max_size=12))
def test_kana_of_any_order(kana: str) -> None:
    assert not any("ァ" <= c <= "ヺ" or "ぁ" <= c <= "ゖ" for c in hepburn(kana))


def test_japanese() -> None:
    assert romanise("二人の女性がTシャツを着ている 😀", "ja") == (
        "futari no josei ga T shatsu wo ki te iru 😀"
    )
    assert romanise("", "ja") == ""


def test_chinese() -> None:
    pytest.importorskip("pypinyin")
    assert (
        romanise("一只黑色的狗在草地上跑。", "zh-CN") == "yizhi heise de gou zai caodi shang pao 。"
    )


def test_other_languages_are_left_alone() -> None:
    assert romanise("Ein Hund läuft.", "de") == "Ein Hund läuft."
    assert romanise("собака", None) == "собака"


def test_a_missing_package_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypinyin", None)
    with pytest.raises(PolyglanceError, match="pip install pypinyin"):
        romanise("狗", "zh")
