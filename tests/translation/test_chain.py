"""Several translators in a row."""

from polyglance.studies.format.needs import View, _translator_lexicon
from polyglance.translation import make_translator, translate
from polyglance.translation.base import Chain


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_the_next_translator_gets_what_the_first_lacks(tmp_path):
    first = write(tmp_path / "a.tsv", "en\tde", "a dog\tein Hund", "a cat\t")
    second = write(tmp_path / "b.tsv", "en\tde", "a dog\tKöter", "a cat\tKatze")
    both = make_translator(f"file:{first} | file:{second}")
    texts = ["a dog", "a cat", "a cow"]
    assert translate(both, texts, "en", "de") == ["ein Hund", "Katze", None]
    turned = make_translator(f"file:{second}|file:{first}")
    assert translate(turned, texts, "en", "de") == ["Köter", "Katze", None]
    assert both.identity != turned.identity
    assert (both.name, both.keeps) == ("file:a.tsv | file:b.tsv", False)
    assert not isinstance(make_translator(f"file:{first}"), Chain)


def test_a_study_knows_the_lexicon_of_any_part(tmp_path):
    lexicon = write(tmp_path / "lexicon.tsv", "1-n\ten\tdog")
    how = {"translator": f"captions:$data|lexicon:{lexicon},words=$data", "consistency": "average"}
    assert _translator_lexicon(View.model_validate({"translation": how}), None) == lexicon
