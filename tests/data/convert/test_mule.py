"""MULE's folders, as its data_loader.py, multi30k.py and coco.py read them."""

import json

import numpy as np
import pytest

from polyglance.data import load_dataset
from polyglance.data.convert import CONVERTERS, write_folder
from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.extract import load_features
from polyglance.vision.extraction.imported import write_store

NAMES = {"train": ["a.jpg", "b.jpg", "c.jpg"], "val": ["d.jpg"], "test": ["e.jpg", "f.jpg"]}


def convert(folder):
    return CONVERTERS.get("mule")(folder)


def write_arrays(root):
    generator = np.random.default_rng(0)
    arrays = {}
    for split, names in NAMES.items():
        arrays[split] = generator.random((len(names), 4), np.float32)
        np.save(root / f"{split}.npy", arrays[split])
        (root / f"{split}.txt").write_text("".join(f"{name}\n" for name in names))
    return arrays


@pytest.fixture
def multi30k(tmp_path):
    root = tmp_path / "multi30k"
    for language in ("en", "de", "fr"):
        (root / "tokenized" / language).mkdir(parents=True)
    arrays = write_arrays(root)
    files = {
        "en/train.1.en": "A one .\nA two .\nA three .\n",
        "en/train.2.en": "B one .\nB two .\nB three .\n",
        "en/de_to_en_train.1": "M one\n\nM three\n",
        "en/val.1.en": "v\n",
        "en/test.1.en": "t one\nt two\n",
        "de/train.1.de": "eins\nzwei\ndrei\n",
        "de/val.1.de": "v\n",
        "de/test.1.de": "t eins\nt zwei\n",
        "fr/train.fr": "un\ndeux\ntrois\n",
        "fr/val.fr": "v\n",
        "fr/test.fr": "t un\nt deux\n",
    }
    for name, text in files.items():
        (root / "tokenized" / name).write_text(text)
    return root, arrays


def test_multi30k_has_people_and_machines_captions_and_features(multi30k, tmp_path):
    root, arrays = multi30k
    found = convert(root)
    assert found.notes == ["1 empty captions were left out"]
    write_folder(tmp_path / "out", found, write_store=write_store)
    dataset = load_dataset(tmp_path / "out")
    first, second = dataset.images[:2]
    assert (first.image, first.split) == ("a.jpg", "train")
    assert first.captions == {
        "de": {"independent": ["eins"]},
        "en": {"machine": ["M one"], "independent": ["A one .", "B one ."]},
        "fr": {"translation": ["un"]},
    }
    assert second.captions["en"] == {"independent": ["A two .", "B two ."]}
    assert {entry.split for entry in dataset.images if entry.image in NAMES["test"]} == {"test"}
    features = load_features(dataset, "imported/resnet152")
    rows = [entry.image for entry in dataset.images]
    vectors = features.gather_global(np.arange(len(rows)))
    for split, names in NAMES.items():
        for number, name in enumerate(names):
            wanted = arrays[split][number].astype(np.float16)
            np.testing.assert_array_equal(vectors[rows.index(name)], wanted)


@pytest.fixture
def coco(tmp_path):
    root = tmp_path / "coco"
    (root / "tokenized").mkdir(parents=True)
    write_arrays(root)
    lists = {
        "train_en": ([["EN a"]], ["a.jpg"]),
        "train_en_jp": ([["EN b"]], ["b.jpg"]),
        "train_en_cn": ([["EN c"]], ["c.jpg"]),
        "train_jp": ([["日 本", "犬"]], None),
        "train_cn": ([["一 只 狗"]], None),
        "train_jp_to_en": ([["from ja"]], None),
        "train_cn_augment": ([["机 器"], []], ["a.jpg", "b.jpg"]),
        "val_en": ([["v"]], None),
        "val_jp": ([["v"]], None),
        "test_cn": ([["t"], ["u"]], None),
    }
    for name, (captions, images) in lists.items():
        path = root / "tokenized" / f"{name}_caption_list.json"
        path.write_text(json.dumps(captions))
        if images:
            listed = "train_en_cn_augment" if name == "train_cn_augment" else name
            (root / "tokenized" / f"{listed}_coco.txt").write_text("\n".join(images) + "\n")
    return root


def test_coco_joins_its_lists_by_image(coco):
    found = {entry.image: entry for entry in convert(coco).images}
    assert found["a.jpg"].captions == {
        "zh": {"machine": ["机 器"]},
        "en": {"independent": ["EN a"]},
    }
    assert found["b.jpg"].captions == {
        "en": {"independent": ["EN b"], "machine": ["from ja"]},
        "ja": {"independent": ["日 本", "犬"]},
    }
    assert found["c.jpg"].captions == {
        "zh": {"independent": ["一 只 狗"]},
        "en": {"independent": ["EN c"]},
    }
    assert found["f.jpg"].captions == {"zh": {"independent": ["u"]}}


def test_files_that_do_not_correspond_are_refused(multi30k, coco):
    (multi30k[0] / "tokenized" / "fr" / "test.fr").write_text("un\n")
    with pytest.raises(PolyglanceError, match=r"test\.fr has 1 lines but .*test\.txt has 2"):
        convert(multi30k[0])
    (coco / "tokenized" / "train_cn_caption_list.json").write_text("[]")
    with pytest.raises(PolyglanceError, match=r"train_cn_caption_list\.json: needs a list"):
        convert(coco)
    (coco / "val.txt").write_text("d.jpg\nx.jpg\n")
    with pytest.raises(PolyglanceError, match=r"val\.npy has 1 vectors but val\.txt has 2 names"):
        convert(coco)


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(PolyglanceError, match="not MULE's layout, it has no train"):
        convert(tmp_path)
    write_arrays(tmp_path)
    with pytest.raises(PolyglanceError, match="it has no folder 'tokenized'"):
        convert(tmp_path)
