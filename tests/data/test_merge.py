"""Datasets that share images, joined: by hand, with features, and by the command."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from polyglance.data import load_dataset
from polyglance.data.convert import CONVERTERS, write_folder
from polyglance.data.dataset import CaptionedImage, Dataset, save_folder
from polyglance.data.merge import merge_datasets, read_splits
from polyglance.data.text_only import FILE
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.storage.files import read_jsonl, write_jsonl_gz
from polyglance.vision.extraction.extract import load_features
from polyglance.vision.extraction.merge import merge_folders
from polyglance.vision.extraction.store import FeatureStore
from tests.cli.conftest import run  # noqa: F401


def entry(name, split="train", **captions):
    found = {code: {"independent": [texts] if isinstance(texts, str) else texts}
             for code, texts in captions.items()}  # fmt: skip
    return CaptionedImage(name, split, found)


def dataset(tmp_path, name, *entries):
    root = tmp_path / name
    root.mkdir()
    save_folder(root, entries)
    return load_dataset(root)


@pytest.fixture
def three(tmp_path):
    """COCO's names as Karpathy's JSON, COCO-CN and STAIR have them."""
    english = dataset(
        tmp_path,
        "karpathy",
        entry("COCO_val2014_000000000042.jpg", "test", en=["a dog", "one dog"]),
        entry("COCO_train2014_000000000009.jpg", en="food"),
        entry("COCO_train2014_000000000010.jpg", en="a train"),
    )
    chinese = dataset(
        tmp_path,
        "coco-cn",
        entry("COCO_val2014_000000000042.jpg", "train", zh="一只狗"),
        entry("COCO_train2014_000000000011.jpg", zh="猫"),
    )
    japanese = dataset(
        tmp_path,
        "stair",
        entry("000000000009.jpg", ja="食べ物", en="food"),
        entry("42.jpg", ja="犬"),
    )
    return english, chinese, japanese


def test_images_are_the_same_by_their_number(three):
    found = merge_datasets(three)
    assert [(one.image, one.split) for one in found.images] == [
        ("COCO_val2014_000000000042.jpg", "test"),
        ("COCO_train2014_000000000009.jpg", "train"),
        ("COCO_train2014_000000000010.jpg", "train"),
        ("COCO_train2014_000000000011.jpg", "train"),
    ]
    assert found.images[0].captions == {
        "en": {"independent": ["a dog", "one dog"]},
        "zh": {"independent": ["一只狗"]},
        "ja": {"independent": ["犬"]},
    }
    # A caption that both have is taken once.
    assert found.images[1].captions["en"] == {"independent": ["food"]}
    assert found.renamed[2] == {
        "000000000009.jpg": "COCO_train2014_000000000009.jpg",
        "42.jpg": "COCO_val2014_000000000042.jpg",
    }
    assert "1 images changed their split: train of coco-cn → test" in found.notes
    assert found.notes[-1] == "7 images of 3 datasets were merged into 4"


def test_the_datasets_themselves_do_not_change(three):
    before = [json.dumps([one.captions for one in data.images]) for data in three]
    merge_datasets(three)
    assert [json.dumps([one.captions for one in data.images]) for data in three] == before


def test_shared_images_languages_and_lists(three, tmp_path):
    shared = merge_datasets(three, shared=True)
    assert [one.image[-6:-4] for one in shared.images] == ["42", "09"]
    assert set(merge_datasets(three, languages=["ja"]).images[0].captions) == {"ja"}
    (tmp_path / "val.txt").write_text("000000000042\n")
    (tmp_path / "train.txt").write_text("COCO_train2014_000000000009.jpg\n")
    listed = merge_datasets(three, read_splits(tmp_path))
    assert [(one.image[-6:-4], one.split) for one in listed.images] == [
        ("42", "val"),
        ("09", "train"),
    ]
    assert "2 images are in no list of splits and were left out" in listed.notes
    (tmp_path / "test.txt").write_text("000000000042\n")
    with pytest.raises(PolyglanceError, match="'000000000042' is also in the list of split 'val'"):
        read_splits(tmp_path)


def test_origins_stay_with_their_captions(tmp_path):
    def made(name, **origins):
        own = CaptionedImage("a.jpg", "train", {"fr": {"machine": [name]}})
        return Dataset([replace(own, origins={"fr": {"machine": [origins]}} if origins else {})],
                       tmp_path, name)  # fmt: skip

    both = merge_datasets([made("un", translator="x"), made("deux", translator="y")]).images[0]
    assert both.captions == {"fr": {"machine": ["un", "deux"]}}
    assert both.origins == {"fr": {"machine": [{"translator": "x"}, {"translator": "y"}]}}
    half = merge_datasets([made("un", translator="x"), made("deux")]).images[0]
    assert half.origins == {"fr": {}}
    save_folder(tmp_path, [half])
    assert load_dataset(tmp_path).images[0].captions == half.captions


def test_invalid_input_is_refused(three, tmp_path):
    with pytest.raises(PolyglanceError, match="at least two datasets"):
        merge_datasets(three[:1])
    with pytest.raises(PolyglanceError, match="nothing left to merge"):
        merge_datasets(three, {"x.jpg": "train"})
    with pytest.raises(PolyglanceError, match=r"has no train\.txt"):
        read_splits(tmp_path)


def write_store(folder, **vectors):
    (folder / "features").mkdir()
    with FeatureStore.create(folder / "features" / "x", 2, "global", "imported/x") as store:
        store.append_many((f"{key}.jpg", np.array([value])) for key, value in vectors.items())


def test_the_command_joins_files_features_and_texts(run, tmp_path, three):  # noqa: F811
    roots = [data.root for data in three]
    for root, name in ((roots[0], "COCO_train2014_000000000009.jpg"), (roots[2], "42.jpg")):
        (root / "images").mkdir()
        Image.new("RGB", (4, 4), "red").save(root / "images" / name)
    write_store(roots[0], COCO_train2014_000000000009=[1.0, 2.0])
    write_store(roots[2], **{"000000000009": [9.0, 9.0], "42": [3.0, 4.0]})
    out = tmp_path / "out"
    result = run("data", "merge", out, *roots)
    assert f"{out}: 4 images, 2 image files" in result.stdout
    merged = load_dataset(out)
    assert merged.languages == ["en", "ja", "zh"]
    assert [path.is_file() for path in merged.paths()] == [True, True, False, False]
    features = load_features(merged, "imported/x")
    assert features.available.tolist() == [True, True, False, False]
    np.testing.assert_array_equal(features.gather_global(np.array([0, 1])), [[3, 4], [1, 2]])
    with pytest.raises(PolyglanceError, match="is one of the datasets"):
        run("data", "merge", roots[0], *roots, "--force")
    with pytest.raises(PolyglanceError, match="--languages fr: no dataset has captions in it"):
        run("data", "merge", tmp_path / "other", *roots, "--languages", "fr")


def test_original_layouts_of_coco_meet(tmp_path):
    """Karpathy's JSON, COCO-CN's folder and YJ's file, through their converters."""
    karpathy = tmp_path / "dataset_coco.json"
    images = [
        {
            "filename": f"COCO_train2014_{number:012}.jpg",
            "split": split,
            "sentences": [{"raw": f"dog {number}", "tokens": []}],
        }
        for number, split in ((1, "train"), (2, "restval"), (3, "test"))
    ]
    karpathy.write_text(json.dumps({"images": images}))
    cn = tmp_path / "cn"
    cn.mkdir()
    (cn / "imageid.human-written-caption.txt").write_text("COCO_train2014_000000000001#0\t狗\n")
    (cn / "coco-cn_train.txt").write_text("COCO_train2014_000000000001\n")
    yj = tmp_path / "yjcaptions26k_clean.json"
    yj.write_text(json.dumps({
        "images": [{"id": 2, "file_name": "COCO_train2014_000000000002.jpg"}],
        "annotations": [{"image_id": 2, "caption": "犬"}],
    }))  # fmt: skip
    found = []
    for layout, source, options in (
        ("karpathy", karpathy, {}),
        ("coco-cn", cn, {}),
        ("coco", yj, {"split": "train"}),
    ):
        write_folder(tmp_path / layout, CONVERTERS.get(layout)(source, None, **options))
        found.append(load_dataset(tmp_path / layout))
    merged = merge_datasets(found).images
    assert [sorted(one.captions) for one in merged] == [["en", "zh"], ["en", "ja"], ["en"]]


def test_text_only_captions_are_written_with_the_folder_or_not_at_all(three, tmp_path):
    lines = [{"captions": {code: {"independent": [code]}}} for code in ("en", "zh")]
    write_jsonl_gz(three[0].root / FILE, lines)
    write_jsonl_gz(three[1].root / FILE, [lines[1], {"captions": {"ja": {}}}])
    out = tmp_path / "out"
    merge_folders(out, three[:2])
    found = [value for _, value in read_jsonl(out / FILE)]
    assert found == [*lines, {"captions": {"ja": {}}}]
    (three[0].root / FILE).unlink()
    merge_folders(out, [data.root for data in three[:2]], force=True)
    assert [value for _, value in read_jsonl(out / FILE)] == found[1:]
    (three[1].root / FILE).write_bytes(b"damaged")
    with pytest.raises(PolyglanceError):
        merge_folders(tmp_path / "other", three[:2])
    assert not (tmp_path / "other").exists()


def test_a_notebook_is_told_the_parameter(three, tmp_path):
    with pytest.raises(ArgumentError, match="`languages` fr: no dataset has captions in it"):
        merge_folders(tmp_path / "out", three, languages=["fr"])
