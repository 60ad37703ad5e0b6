"""Tiny random models of transformers: the right languages are asked for, and words come back."""

import pytest

from polyglance.errors import PolyglanceError
from polyglance.translation import make_translator, translate
from polyglance.translation.huggingface import generation_options, language_tokens

pytest.importorskip("transformers")

from .tiny_seq2seq import WORDS, save_m2m, save_marian, save_t5


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Random models do not know when to stop."""
    monkeypatch.setattr("polyglance.translation.huggingface.LONGEST", 6)


def test_a_pair_of_languages(tmp_path):
    translator = make_translator(f"hf:{save_marian(tmp_path / 'opus-mt-en-de')}")
    texts = ["a dog runs", "a cat"]
    found = translate(translator, texts, "en", "de", tmp_path)
    assert translator.name == "hf:opus-mt-en-de"
    assert all(text is None or set(text.split()) <= set(WORDS) for text in found)
    alone = [translator.translate([text], "en", "de")[0].strip() or None for text in texts]
    assert found == alone  # padding changes nothing
    assert make_translator(f"hf:{tmp_path / 'opus-mt-en-de'}").identity == translator.identity


def test_many_languages_start_with_a_token(tmp_path):
    translator = make_translator(f"hf:{save_m2m(tmp_path / 'm2m')}")
    tokenizer = translator.tokenizer
    prefix, options = generation_options(tokenizer, None, "en", "de", tmp_path)
    assert (prefix, tokenizer.src_lang) == ("", "en")
    assert options == {"forced_bos_token_id": tokenizer.convert_tokens_to_ids("__de__")}
    assert len(translator.translate(["a dog", "a cat runs"], "en", "de")) == 2
    with pytest.raises(PolyglanceError, match="does not know language 'fr'"):
        translator.translate(["a dog"], "en", "fr")
    with pytest.raises(PolyglanceError, match="does not know language 'fr'"):
        translator.translate(["a dog"], "fr", "en")


@pytest.mark.parametrize(
    ("marks", "prefix", "first"),
    [
        ((">>deu<<", ">>fra<<"), ">>deu<< ", None),
        (("<2en>", "<2de>"), "<2de> ", None),
        (("eng_Latn", "deu_Latn"), "", "deu_Latn"),
        (("en_XX", "de_DE"), "", "de_DE"),
        ((), "", None),
    ],
)
def test_every_way_to_name_a_language(tmp_path, marks, prefix, first):
    translator = make_translator(f"hf:{save_marian(tmp_path / 'model', marks)}")
    tokenizer = translator.tokenizer
    assert language_tokens(tokenizer) == list(marks)
    found, options = generation_options(tokenizer, None, "en", "de", tmp_path)
    wanted = {} if first is None else {"forced_bos_token_id": tokenizer.get_vocab()[first]}
    assert (found, options) == (prefix, wanted)


def test_t5_gets_a_prompt_in_words(tmp_path):
    translator = make_translator(f"hf:{save_t5(tmp_path / 't5')}")
    assert len(translator.translate(["a dog"], "en", "de")) == 1
    asked = generation_options(
        translator.tokenizer, translator._network.config, "en", "de", tmp_path
    )
    assert asked == ("translate English to German: ", {})
    with pytest.raises(PolyglanceError, match="T5 does not know language 'ja'"):
        translator.translate(["a dog"], "en", "ja")


def test_folders_without_a_model_are_refused(tmp_path):
    with pytest.raises(PolyglanceError, match="contains no model"):
        make_translator(f"hf:{tmp_path}")
    folder = save_marian(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(PolyglanceError, match="cannot load the translation model"):
        make_translator(f"hf:{folder}").translate(["a"], "en", "de")
