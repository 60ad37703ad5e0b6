"""Dictionaries from captions, against counting."""

import numpy as np
import pytest

from polyglance.alignment import induced_pairs, parallel_captions
from polyglance.alignment.captions import _count_pairs, group_words
from polyglance.data import CaptionedImage, load_folder, save_folder
from polyglance.errors import PolyglanceError
from polyglance.storage.files import write_jsonl_gz
from polyglance.text.vectors import corpus


def dataset(folder, kind="translation"):
    words = [("dog", "hund"), ("cat", "katze"), ("car", "auto"), ("tree", "baum")]
    generator = np.random.default_rng(0)
    photos = []
    for number in range(80):
        one, two = generator.choice(4, 2, replace=False)
        captions = {"en": {kind: [f"a {words[one][0]} and a {words[two][0]}"]}}
        if number % 4:
            captions["de"] = {kind: [f"{words[two][1]} und {words[one][1]}"]}
        split = "train" if number < 60 else "test"
        photos.append(CaptionedImage(f"{number}.jpg", split, captions))
    save_folder(folder, photos)
    return load_folder(folder)


@pytest.mark.parametrize("size", [7, 1 << 22])
def test_dictionary_from_captions(tmp_path, monkeypatch, size):
    monkeypatch.setattr(corpus, "KEYS_AT_A_TIME", size)
    tables = parallel_captions(dataset(tmp_path), "en", "de")
    assert set(tables[0].image.tolist()) == set(range(60))
    pairs = induced_pairs(*tables)
    nouns = {("dog", "hund"), ("cat", "katze"), ("car", "auto"), ("tree", "baum")}
    assert nouns < set(pairs)
    assert set(pairs) - nouns == {("a", "und"), ("and", "und")}
    assert induced_pairs(*tables, least=46) == []


def test_counts_are_those_of_sets(tmp_path):
    tables = parallel_captions(dataset(tmp_path), "en", "de")
    common = np.intersect1d(tables[0].image, tables[1].image)
    (words, groups), (others, sentences) = (group_words(table, common, 1) for table in tables)
    keys, counts = _count_pairs(groups, sentences, len(others))
    found = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    texts = [dict(zip(table.image.tolist(), table.texts, strict=True)) for table in tables]
    for one, two in np.ndindex(len(words), len(others)):
        pair = words[one], others[two]
        together = sum(
            all(word in text[image].split() for word, text in zip(pair, texts, strict=True))
            for image in common.tolist()
        )
        assert found.get(one * len(others) + two, 0) == together


def test_text_only_captions_are_read_too(tmp_path):
    data = dataset(tmp_path)
    row = {"id": "x", "captions": {"en": {"translation": ["zebra"], "independent": ["no"]}}}
    write_jsonl_gz(tmp_path / "text-only.jsonl.gz", [row])
    table, _ = parallel_captions(data, "en", "de")
    assert (table.texts[-1], table.image[-1]) == ("zebra", 60)
    assert "no" not in table.texts


def test_independent_captions_where_there_is_no_translation(tmp_path):
    tables = parallel_captions(dataset(tmp_path, "independent"), "en", "de")
    assert set(tables[1].kinds) == {"independent"}


def test_no_image_in_common(tmp_path):
    photos = [CaptionedImage(f"{c}.jpg", "train", {c: {"machine": ["x"]}}) for c in ("de", "en")]
    save_folder(tmp_path, photos)
    with pytest.raises(PolyglanceError, match="no common image"):
        induced_pairs(*parallel_captions(load_folder(tmp_path), "en", "de"))
