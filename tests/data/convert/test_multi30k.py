import gzip
from pathlib import Path

import pytest

from polyglance.data.convert.multi30k import convert_multi30k
from polyglance.errors import PolyglanceError

TASK1 = {
    "train": {
        "en": ["Two young, White males are outside.", "Several men in hard hats."],
        "de": ["Zwei junge weiße Männer sind im Freien.", "Mehrere Männer mit Schutzhelmen."],
        "fr": ["Deux jeunes hommes blancs sont dehors.", "Plusieurs hommes en casque."],
        "cs": ["Dva mladí bílí muži jsou venku.", "Několik mužů v ochranných přilbách."],
    },
    "val": {code: [f"val {code}"] for code in ("en", "de", "fr", "cs")},
    "test_2016_flickr": {code: [f"test {code}"] for code in ("en", "de", "fr", "cs")},
    "test_2017_flickr": {code: [f"2017 {code}"] for code in ("en", "de", "fr")},
    "test_2017_mscoco": {code: [f"coco {code} 1", f"coco {code} 2"] for code in ("en", "de")},
}
NAMES = {
    "train": ["1000092795.jpg", "10002456.jpg"],
    "val": ["1018148011.jpg"],
    "test_2016_flickr": ["1007129816.jpg"],
    "test_2017_flickr": ["10002465.jpg"],
    "test_2017_mscoco": [
        "COCO_train2014_000000117071.jpg#367178",
        "COCO_train2014_000000117071.jpg#367179",
    ],
}


def put(path: Path, lines: list[str], end: str = "\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(line + end for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The git repository's true layout: train's list is task 2's, the others are task 1's."""
    data = tmp_path / "multi30k-dataset" / "data"
    for split, languages in TASK1.items():
        for code, texts in languages.items():
            put(data / f"task1/raw/{split}.{code}.gz", texts)
            tokens = [text.lower().replace(".", " .") for text in texts]
            put(data / f"task1/tok/{split}.lc.norm.tok.{code}", tokens)
    for split in ("train", "val", "test_2016"):
        count = 2 if split == "train" else 1
        for number in range(1, 6):
            for code in ("en", "de"):
                texts = [f"{split} {code} {number} of {i}" for i in range(count)]
                put(data / f"task2/raw/{split}.{number}.{code}.gz", texts)
                tokens = [f"a dog &apos;s {number} ."] * count
                put(data / f"task2/tok/{split}.lc.norm.tok.{number}.{code}", tokens)
    put(data / "task2/image_splits/train_images.txt", NAMES["train"])
    for split in NAMES.keys() - {"train"}:
        put(data / f"task1/image_splits/{split}.txt", NAMES[split])
    return tmp_path / "multi30k-dataset"


def test_raw_both_tasks_all_splits(checkout: Path) -> None:
    photos = convert_multi30k(checkout).images
    assert [(photo.split, photo.image) for photo in photos] == [
        ("train", "1000092795.jpg"),
        ("train", "10002456.jpg"),
        ("val", "1018148011.jpg"),
        ("test", "1007129816.jpg"),
        ("test_2017_flickr", "10002465.jpg"),
        ("test_2017_mscoco", "COCO_train2014_000000117071.jpg"),
    ]
    first = photos[0].captions
    assert {code: first[code]["translation"] for code in first} == {
        code: [TASK1["train"][code][0]] for code in ("en", "de", "fr", "cs")
    }
    assert first["de"]["independent"] == [f"train de {n} of 0" for n in range(1, 6)]
    assert "independent" not in first["fr"]
    assert photos[3].captions["en"] == {
        "translation": ["test en"],
        "independent": [f"test_2016 en {n} of 0" for n in range(1, 6)],
    }
    assert photos[5].captions == {
        "en": {"translation": ["coco en 1", "coco en 2"]},
        "de": {"translation": ["coco de 1", "coco de 2"]},
    }


def test_tok_keeps_moses_escapes_and_tasks_can_be_chosen(checkout: Path) -> None:
    photos = convert_multi30k(checkout, text="tok").images
    assert photos[0].captions["en"]["translation"] == ["two young, white males are outside ."]
    assert photos[0].captions["en"]["independent"][0] == "a dog &apos;s 1 ."
    only = convert_multi30k(checkout / "data", tasks="2").images
    assert [photo.split for photo in only] == ["train", "train", "val", "test"]
    assert set(only[0].captions) == {"en", "de"}
    assert {kind for photo in only for kinds in photo.captions.values() for kind in kinds} == {
        "independent"
    }


def test_crlf_bom_and_stray_separators_do_not_shift_lines(checkout: Path) -> None:
    path = checkout / "data/task1/raw/train.de.gz"
    path.write_bytes(gzip.compress("\ufeffEin\rHund\r\nZwei\u2028Hunde\u0085da\r\n".encode()))
    photos = convert_multi30k(checkout, tasks="1").images
    assert photos[0].captions["de"]["translation"] == ["Ein Hund"]
    assert photos[1].captions["de"]["translation"] == ["Zwei\u2028Hunde\u0085da"]


def test_line_counts_must_agree(checkout: Path) -> None:
    put(checkout / "data/task1/raw/train.fr.gz", ["une seule ligne"])
    with pytest.raises(PolyglanceError) as caught:
        convert_multi30k(checkout)
    assert "train.fr.gz has 1 lines but " in str(caught.value)
    assert "train_images.txt has 2" in str(caught.value)


def test_other_errors(checkout: Path) -> None:
    put(checkout / "data/task1/raw/val.en.gz", [""])
    with pytest.raises(PolyglanceError, match=r"val\.en\.gz, line 1: the caption is empty"):
        convert_multi30k(checkout)
    (checkout / "data/task2/image_splits/train_images.txt").unlink()
    with pytest.raises(PolyglanceError, match=r"task1/image_splits/train\.txt: no such file, nor"):
        convert_multi30k(checkout)
    with pytest.raises(PolyglanceError, match=r"pass a checkout of github\.com/multi30k/dataset"):
        convert_multi30k(checkout / "nothing")
    with pytest.raises(PolyglanceError, match="option text must be one of raw, tok, not 'bpe'"):
        convert_multi30k(checkout, text="bpe")


def test_damaged_gzip_is_named(checkout: Path) -> None:
    path = checkout / "data/task1/raw/train.en.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(PolyglanceError, match=r"train\.en\.gz, after line \d: the file is damaged"):
        convert_multi30k(checkout)
