import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers import get_tokenizer, segment, tokenize_many, words
from polyglance.text.tokenizers.normalise import lower, normalise

tokenize = get_tokenizer("words").tokenize

BY_HAND = [
    ("en", "A man's T-shirt isn't red!", "a man 's t shirt is n't red"),
    ("en", "I can't see 3,000 dogs' tails at 10:30.", "i can n't see 3,000 dogs tails at 10:30"),
    ("en", "“Quoted” ‘words’, the 2nd o’clock", "quoted words the 2nd o'clock"),
    ("de", "Ein GROẞER Hund heißt Öl – im T-Shirt.", "ein großer hund heißt öl im t shirt"),
    ("fr", "L’homme qu'elle voit aujourd'hui, s'il…", "l' homme qu' elle voit aujourd'hui s' il"),
    ("it", "C'è un'altra foto dell'uomo", "c' è un' altra foto dell' uomo"),
    ("ca", "La col·lecció de l'home", "la col·lecció de l' home"),
    ("cs", "Žluťoučký kůň s míčem.", "žluťoučký kůň s míčem"),
    ("pt", "A menina à beira d'água encontra-se só.", "a menina à beira d' água encontra se só"),
    ("es", "¿Dónde está el niño?", "dónde está el niño"),
    ("zh", "穿着连衣裙的小女孩。", "穿着 连衣裙 的 小女孩"),
    ("zh", "两只狗在草地上奔跑！", "两只 狗 在 草地 上 奔跑"),
    ("ja", "赤いTシャツを着た男性が走っている。", "赤い t シャツ を 着 た 男性 が 走っ て いる"),
    ("ja", "東京都、ｶﾗｵｹ", "東京 都 カラオケ"),
    ("ar", "طِفْلَةٌ صغيرةٌ، إلى مســـرح أحمر ٣", "طفلة صغيرة الي مسرح احمر 3"),
    ("hi", "एक बच्चा सीढ़ियों पर चढ़ रहा है। २", "एक बच्चा सीढ़ियों पर चढ़ रहा है 2"),
    ("uk", "Дівчинка з м’ячем, п'ять собак.", "дівчинка з м'ячем п'ять собак"),
    ("ru", "Жёлтый за́мок; ещё ребёнок", "желтый замок еще ребенок"),
    ("ko", "두 마리의 개가 풀밭에서 뛰고 있다.", "두 마리의 개가 풀밭에서 뛰고 있다"),
    ("af", "'n Man met ’n rooi hemp en ŉ hond", "'n man met 'n rooi hemp en 'n hond"),
    ("th", "เด็กขี่จักรยาน", "เด็ ก ขี่ จั ก ร ยา น"),
    ("vi", "Hai con chó đang chạy.", "hai con chó đang chạy"),
    ("tr", "IŞIKLI İstanbul'da Kırmızı", "ışıklı istanbul'da kırmızı"),
    ("el", "Ο ΣΚΥΛΟΣ τρέχει·", "ο σκυλος τρέχει"),
    ("he", "שָׁלוֹם לַכֶּלֶב", "שלום לכלב"),
    ("fa", "کتاب می\u200cخواهم", "كتاب ميخواهم"),
    ("km", "ខ្មែរ", "ខ្មែ រ"),
    ("my", "မြန်မာ", "မြ န် မာ"),
    ("und", "👨\u200d👧 👍🏽 🇩🇪🇫🇷 ♥\ufe0f dog🐶 1\ufe0f\u20e3", "👨 👧 👍 🇩🇪 🇫🇷 ♥ dog 🐶 1"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "expected"), BY_HAND)
def test_hand_checked(language, text, expected):
    assert tokenize(text, language) == normalised(expected)


@pytest.mark.parametrize(("language", "text", "expected"), BY_HAND)
def test_the_script_decides_without_a_language(language, text, expected):
    if text.startswith("東京都"):
        text, expected = "東京都へ", "東京 都 へ"
    assert tokenize(text) == normalised(expected)


def normalised(expected):
    """A Devanagari letter with nukta is canonically two characters; a source may hold one."""
    return unicodedata.normalize("NFC", expected).split()


def test_typed_in_two_ways_is_one_word():
    assert tokenize("cafe\u0301 ﬁsh ＤＯＧ") == tokenize("café fish dog")
    assert tokenize("한국") == tokenize("한국")
    assert tokenize("hun\u00add \u202bdog\u202c \ufeffcat") == ["hund", "dog", "cat"]


def test_dotted_i_outside_turkish():
    assert tokenize("IN Izmir", "en") == ["in", "izmir"]
    assert tokenize("IZGARA", "tr-TR") == ["ızgara"]
    assert tokenize("İ", "en") == ["i"]


def test_chinese_language_code_keeps_japanese_out():
    assert tokenize("東京", "zh_Hant") == tokenize("東京", "zh-CN") == ["東京"]


@pytest.mark.parametrize("text", ["", " ", "…!?", "—", "'", "＿＿", "\u200b", "\u0301"])
def test_no_words(text):
    assert tokenize(text) == []


def test_many_takes_one_language_or_one_each():
    texts = ["IZGARA", "IN"]
    assert tokenize_many(texts, ["tr", "en"]) == [["ızgara"], ["in"]]
    assert tokenize_many(texts, "tr") == [["ızgara"], ["ın"]]
    assert tokenize_many(texts) == [["izgara"], ["in"]]
    with pytest.raises(PolyglanceError, match="2 texts were given with 1 languages"):
        tokenize_many(texts, ["tr"])


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


anything = st.text(max_size=40) | st.text(st.characters(min_codepoint=0x20, max_codepoint=0x24F))
spaced = st.text(st.characters(max_codepoint=0xDFF), max_size=40)
wordy = st.lists(
    st.sampled_from(["l'", "'s", "n't", "qu'il", "don't", "3.5", "'", "·", "é", "ŉ", "a1", "İ"])
)


@settings(deadline=None)
@given(anything)
def test_any_text_gives_clean_tokens(text):
    for token in tokenize(text):
        assert token
        assert not any(character.isspace() for character in token)
        assert token == normalise(token)


@settings(deadline=None)
@given(spaced | wordy.map("".join) | wordy.map(" ".join))
def test_tokens_stay_tokens(text):
    once = tokenize(text, "en")
    assert tokenize(" ".join(once), "en") == once


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=0x4FF), max_size=40))
def test_the_fast_path_changes_nothing(text):
    if words.is_plain(text):
        assert normalise(text, "en") == lower(text, "en")
        assert words._WORD.findall(normalise(text, "en")) == tokenize(text, "en")
