"""CTranslate2 and Argos Translate, which need not be installed: their parts are stood in for."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from polyglance.errors import PolyglanceError
from polyglance.translation import make_translator, translate

from .tiny_seq2seq import save_tokenizer


class Reverser:
    """Translates by turning the tokens around; keeps what it was asked."""

    def __init__(self, folder, device):
        self.asked = []

    def translate_batch(self, tokens, target_prefix=None, max_decoding_length=0):
        assert max_decoding_length > 100
        self.asked.append((tokens, target_prefix))
        lead = target_prefix or [[]] * len(tokens)
        bare = [[token for token in one if token != "</s>"] for one in tokens]
        return [
            SimpleNamespace(hypotheses=[[*first, *one[::-1]]])
            for first, one in zip(lead, bare, strict=True)
        ]


class Pieces:
    def __init__(self, model_file):
        assert model_file

    def encode(self, text, out_type):
        return text.split()

    def decode(self, pieces):
        return " ".join(pieces)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    for name, part in {"ctranslate2": ("Translator", Reverser)}.items():
        module = ModuleType(name)
        setattr(module, *part)
        monkeypatch.setitem(sys.modules, name, module)
    pieces = ModuleType("sentencepiece")
    pieces.SentencePieceProcessor = Pieces
    monkeypatch.setitem(sys.modules, "sentencepiece", pieces)


def model(tmp_path, *files):
    for name in ("model.bin", *files):
        (tmp_path / name).write_bytes(b"x")
    return make_translator(f"ctranslate2:{tmp_path}")


def test_opus_models_end_their_texts(tmp_path):
    translator = model(tmp_path, "source.spm", "target.spm")
    assert translator.translate(["a dog"], "en", "de") == ["dog a"]
    assert translator._network.asked == [([["a", "dog", "</s>"]], None)]


def test_argos_models_do_not(tmp_path):
    translator = model(tmp_path, "sentencepiece.model")
    assert translate(translator, ["a dog"], "en", "de", tmp_path / "cache") == ["dog a"]
    assert translator._network.asked == [([["a", "dog"]], None)]


def test_models_of_many_languages_start_with_one(tmp_path):
    pytest.importorskip("transformers")
    save_tokenizer(tmp_path, ["eng_Latn", "deu_Latn"])
    translator = model(tmp_path)
    assert translator.translate(["a dog"], "en", "de") == ["dog a"]
    assert translator._network.asked == [([["a", "dog", "</s>"]], [["deu_Latn"]])]


def test_missing_parts_of_a_model_are_an_error(tmp_path, monkeypatch):
    with pytest.raises(PolyglanceError, match="the model has no tokenizer"):
        model(tmp_path).translate(["a"], "en", "de")
    with pytest.raises(PolyglanceError, match=r"there is no model\.bin"):
        make_translator(f"ctranslate2:{tmp_path / 'none'}")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(PolyglanceError, match="pip install ctranslate2"):
        model(tmp_path)


@pytest.fixture
def argos(monkeypatch):
    class Language:
        code = "en"

        def get_translation(self, other):
            upper = SimpleNamespace(translate=str.upper)
            return upper if other.code == "de" else None

    package, tool = ModuleType("argostranslate.package"), ModuleType("argostranslate.translate")
    versions = [SimpleNamespace(from_code="en", to_code="de", package_version="1.9")]
    package.get_installed_packages = lambda: versions
    others = [SimpleNamespace(code=code) for code in ("de", "fr")]
    tool.get_installed_languages = lambda: [Language(), *others]
    for module in (ModuleType("argostranslate"), package, tool):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("argos")
def test_argos_packages():
    translator = make_translator("argos")
    assert translator.identity == "argos:en-de-1.9"
    assert translator.translate(["a dog"], "en", "de") == ["A DOG"]
    for target in ("fr", "xx"):
        with pytest.raises(PolyglanceError, match=f"argospm install translate-en_{target}"):
            translator.translate(["a dog"], "en", target)
    with pytest.raises(PolyglanceError, match="write just argos"):
        make_translator("argos:x")
