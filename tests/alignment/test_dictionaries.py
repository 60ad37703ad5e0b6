import numpy as np
import pytest

from polyglance.alignment import (
    best_rows,
    identical_pairs,
    induced_pairs,
    paired_rows,
    parallel_captions,
    read_pairs,
    split_rows,
)
from polyglance.alignment import captions as captions_module
from polyglance.data import CaptionedImage, load_folder, save_folder
from polyglance.errors import PolyglanceError
from polyglance.files import write_jsonl_gz
from polyglance.text.vectors.word_vectors import WordVectors


def vectors(*words):
    return WordVectors(list(words), np.eye(len(words), dtype=np.float32))


def test_file_of_pairs(tmp_path):
    path = tmp_path / "fr-de.txt"
    path.write_text("chien hund\nchien\thund\n\nchat  katze\nau revoir\ttschüss\n")
    assert read_pairs(path) == [("chien", "hund"), ("chat", "katze"), ("au revoir", "tschüss")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\na b c\n", r"d.txt, line 2: expected a source and a target word, found 3 parts"),
        ("a b\nab\n", "line 2: .* found 1 parts"),
        ("a\t\n", "line 1: expected"),
        ("\n", "empty"),
    ],
)
def test_damaged_file_of_pairs(tmp_path, text, message):
    (tmp_path / "d.txt").write_text(text)
    with pytest.raises(PolyglanceError, match=message):
        read_pairs(tmp_path / "d.txt")


def test_rows_of_pairs():
    source, target = vectors("le", "chien", "שלום"), vectors("Hund", "hund", "der", "hallo")
    pairs = [
        ("chien", "Hund"),
        ("Chien", "Hund"),
        ("chien", "HUND"),
        ("le", "das"),
        ("le", "der"),
        ("שָׁלוֹם", "hallo"),
    ]
    assert paired_rows(pairs, source, target).tolist() == [[0, 2], [1, 0], [1, 1], [2, 3]]
    assert paired_rows([("x", "y")], source, target).shape == (0, 2)
    assert paired_rows([], source, target).shape == (0, 2)


def test_identical_words():
    pairs = identical_pairs(vectors("a", "taxi", "chat", "radio"), vectors("radio", "a", "taxi"))
    assert pairs == [("taxi", "taxi"), ("radio", "radio")]


@pytest.mark.parametrize("seed", [None, 3])
def test_split_is_by_source_word(seed):
    rows = np.stack([np.repeat(np.arange(50), 2), np.arange(100)], axis=1)
    train, test = split_rows(rows, 30, 8, seed)
    words = [set(part[:, 0].tolist()) for part in (train, test)]
    assert [len(part) for part in words] == [30, 8]
    assert words[0].isdisjoint(words[1])
    assert len(train) == 60
    assert (words[0] == set(range(30))) == (seed is None)


def test_at_most_a_fifth_is_held_out():
    rows = np.stack([np.arange(20), np.arange(20)], axis=1)
    assert [len(part) for part in split_rows(rows)] == [16, 4]
    assert [len(part) for part in split_rows(rows, None, 2)] == [18, 2]
    assert [len(part) for part in split_rows(rows[:3])] == [3, 0]
    assert [len(part) for part in split_rows(rows, test=0)] == [20, 0]


def test_first_translations():
    rows = np.array([[0, 5], [0, 1], [0, 7], [3, 2]])
    assert best_rows(rows, 2).tolist() == [[0, 5], [0, 1], [3, 2]]
    assert best_rows(rows[:0], 2).shape == (0, 2)


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
    monkeypatch.setattr(captions_module, "_PAIRS_AT_A_TIME", size)
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
    sides = [
        captions_module._Words([text.split() for text in table.texts], table.image, common, 1)
        for table in tables
    ]
    keys, counts = captions_module._count_pairs(*sides)
    found = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    texts = [dict(zip(table.image.tolist(), table.texts, strict=True)) for table in tables]
    for one, two in np.ndindex(len(sides[0].words), len(sides[1].words)):
        words = sides[0].words[one], sides[1].words[two]
        together = sum(
            all(word in text[image].split() for word, text in zip(words, texts, strict=True))
            for image in common.tolist()
        )
        assert found.get(one * len(sides[1].words) + two, 0) == together


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
    with pytest.raises(PolyglanceError, match="share no image"):
        induced_pairs(*parallel_captions(load_folder(tmp_path), "en", "de"))
