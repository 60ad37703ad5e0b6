"""Sentences to train vectors on."""

import gzip
import json

import pytest

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.text.vectors.corpus import caption_sentences, text_only_sentences, text_sentences
from tests.conftest import write_toy


def test_captions_and_text_only_ones(tmp_path):
    folder = write_toy(tmp_path / "toy", 16)
    dataset = load_dataset(folder)
    alone = caption_sentences(dataset, ["en", "de"])
    captions = dataset.split("train").captions(["de"])
    assert alone["de"] == [text.split() for text in captions.texts]
    assert text_only_sentences(dataset, ["de"]) == {"de": []}
    rows = [{"captions": {"de": {"independent": ["Ein Hund!"]}, "fr": {"independent": ["Non"]}}}]
    text = "\n".join(map(json.dumps, rows))
    (folder / "text-only.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    dataset = load_dataset(folder)
    assert text_only_sentences(dataset, ["de", "en"]) == {"de": [["ein", "hund"]], "en": []}
    both = caption_sentences(dataset, ["en", "de"])
    assert both == {"de": [*alone["de"], ["ein", "hund"]], "en": alone["en"]}


def test_a_plain_text(tmp_path):
    path = tmp_path / "nl.txt"
    path.write_text("Een hond.\n\n  \nDe kat!\n")
    assert text_sentences(path, "nl") == [["een", "hond"], ["de", "kat"]]
    path.write_text("\n \n")
    with pytest.raises(PolyglanceError, match=r"nl\.txt: the file is empty"):
        text_sentences(path, "nl")
