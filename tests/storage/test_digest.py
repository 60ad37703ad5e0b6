"""Keys of what is kept on disk: golden values, so that caches and runs stay valid."""

import hashlib

import numpy as np
import pytest
import torch

from polyglance.data import CaptionedImage, Dataset, load_folder, save_folder
from polyglance.data.convert.clips import hold_out
from polyglance.data.convert.table import _inside
from polyglance.data.dataset import dataset_fingerprint
from polyglance.data.images.read import content_key
from polyglance.data.info import find_duplicates
from polyglance.data.table import hash_splits, unit_hash
from polyglance.evaluation.perturb import Perturbation, perturbation_tag
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import Recipe
from polyglance.storage.digest import (
    CHUNK,
    content_digest,
    file_digest,
    folder_digest,
    json_digest,
    sampled_digest,
    short_digest,
)
from polyglance.studies.format.measured import make_trial, trial_key
from polyglance.studies.format.needs import Need
from polyglance.studies.keys.fingerprint import run_key
from polyglance.studies.running.store import RunFolder
from polyglance.text.vectors import trained
from polyglance.training.assignment import NumberedWords, assign
from polyglance.translation import make_translator
from polyglance.vision.extraction.store import FeatureStore
from polyglance.vision.networks.external import fingerprint
from polyglance.vision.networks.preprocess import Preprocessing

LINES = b"1\ten\tdog|hound\n1\tde\tHund\n"


def recipe(**sections):
    return Recipe.model_validate({"name": "x", "paper": "p", "summary": "s", **sections})


@pytest.fixture
def dataset(tmp_path):
    captions = {"en": {"independent": ["A dog.", "Two dogs"]}, "zh": {"machine": ["一只狗"]}}
    german = {"de": {"x": ["Hund"]}}
    images = [
        CaptionedImage("a.jpg", "train", captions),
        CaptionedImage("ü.jpg", "test", german),
    ]
    save_folder(tmp_path / "data", images)
    return load_folder(tmp_path / "data")


@pytest.fixture
def lexicon(tmp_path):
    path = tmp_path / "lexicon.tsv"
    path.write_bytes(LINES)
    return path


@pytest.fixture
def large(tmp_path):
    """A file of which only the two ends are read."""
    path = tmp_path / "large.bin"
    path.write_bytes(bytes(range(256)) * (3 * CHUNK // 256) + b"end")
    return path


def test_datasets(dataset):
    assert dataset_fingerprint(dataset) == (
        "bd0b23896ae2f3f900a3a0677a4256e5492067cf34fd2ba26528a50c499f4a6d"
    )
    assert dataset.root is not None
    (dataset.root / "text-only.jsonl.gz").write_bytes(b"anything")
    assert dataset_fingerprint(dataset) == (
        "a5baff5a1c386f1cd559468fa0cb73e8f3149e29997a489c40cc35c9b6005900"
    )
    assert dataset_fingerprint(Dataset([], None, "none")) == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_runs_of_studies(tmp_path, dataset):
    buckets = {"buckets": 50}  # the default when runs were first kept
    old = recipe(training={"seed": 3, **buckets})
    assert run_key(old, "data") == "a26c702e16dc7d6bec351877"
    assert run_key(recipe(training={"seed": 3}), "data") == "e65a91c3355101440eb52e19"
    vectors = np.arange(6.0).reshape(2, 3)
    with FeatureStore.create(dataset.root / "features" / "f", 3, "global", "imported/f") as store:
        store.append_many(zip(["a.jpg", "ü.jpg"], vectors[:, None], strict=True))
    imported = recipe(image={"feature": "imported/f"}, training=buckets)
    assert run_key(imported, "data", dataset) == "31b9337d0884bbdd97e8bba4"
    trial = make_trial("word-alignment", [{"pair": "fr-cs"}, {"seed": 2}], None)
    assert trial_key(trial) == "99c165c5792bb8efde4321e1"
    view = '{"perturb": "typos:0.2@abc"}'
    result = RunFolder(tmp_path).result("test", Need(None, "de", view))
    assert result.name == "test.best.de.a7794ee3ebea.json"


def test_vectors_and_assignments(dataset, lexicon):
    embedder = {"kind": "universal", "corpus": "lexicon", "lexicon": str(lexicon)}
    embedder["rare"] = {"kind": "latent"}
    universal = recipe(text={"embedder": embedder})
    corpus = trained.Corpus(universal, dataset, ["en"])
    assert corpus.key == ("8aa0e2466a7fdd7cbb5130283076c582443c80d8ea030a8cca09488e68393f59")
    captions = [["a", "dog"], ["zwei", "hünde"], []]
    assert trained._key("en", captions, corpus, 30) == "d6776c8df6c85a280b6ecca6"
    tokens = Ragged.join([[1, 2], [3], [0]])
    data = NumberedWords(tokens, np.array([0, 0, 1]), ["en", "de", "en"])
    matrices = [torch.arange(6.0).view(2, 3), torch.ones(3, 2).t()]
    assert assign._key(universal, data, matrices) == "b504083a0fcb5e2dd419c135"


def test_perturbations(lexicon):
    assert perturbation_tag(Perturbation.parse("typos:0.2"), None) == "typos:0.2@7c0c9f9c"
    assert perturbation_tag(Perturbation.parse("unseen:1"), lexicon) == "unseen:1@bb1b454e"


def test_translators(dataset, lexicon, large):
    assert make_translator(f"lexicon:{lexicon}").identity == "lexicon:2:72bd5c18757e7905:"
    named = make_translator(f"lexicon:{lexicon},words={dataset.root}")
    assert named.identity == "lexicon:2:72bd5c18757e7905:bd0b23896ae2f3f9"
    assert make_translator(f"lexicon:{large}").identity == "lexicon:2:6e9f7cd15016b368:"


def test_images_and_networks(large):
    assert content_key(large) == "a32db35ba97b1bc043fbfa7b4849567d"
    layer = torch.nn.Linear(2, 3).half()
    with torch.no_grad():
        layer.weight.copy_(torch.arange(6.0).view(3, 2))
        layer.bias.fill_(0.5)
    how = Preprocessing(224, 0.875, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    assert fingerprint(layer, how) == "281d4d3dd230"
    assert fingerprint(layer, how, ["x.bias"]) == "e78e8b0e92a1"


def test_names(tmp_path):
    assert unit_hash("ü.jpg") == 0.1455917010866263
    assert unit_hash("\udc80.jpg") == 0.3204401689233077
    splits = hash_splits([f"{n}.jpg" for n in range(40)])
    assert "".join(split[1] for split in splits.values()) == (
        "rrrrrrarrrrrrrerrrrrrrrrrrrrarraarrrarrr"
    )
    assert _inside("../pictures/a.jpg") == "567efe52_a.jpg"
    assert hold_out(map(str, range(20)), 5) == ["1", "13", "18", "9", "14"]
    for name, content in {"a": b"x", "b": b"y", "c": b"x"}.items():
        (tmp_path / name).write_bytes(content)
    assert find_duplicates({name: tmp_path / name for name in "abc"}) == [["a", "c"]]


def test_parts_are_laid_end_to_end():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    whole = "ü".encode() + b"xy" + array.tobytes() + np.ascontiguousarray(array.T).tobytes()
    parts = ["ü", b"x", "y", array, array.T]
    assert content_digest(parts) == hashlib.sha256(whole).hexdigest()
    assert short_digest(parts, 5) == hashlib.blake2b(whole, digest_size=5).digest()
    assert content_digest([]) == hashlib.sha256().hexdigest()


def test_json_values():
    golden = "5cffe7b2256261270211e66d136e0fc423a603024179f1fb99fe31e771368b2f"
    assert json_digest({"b": [1, 2.5, None, True], "a": "ü"}) == golden
    assert json_digest({"a": "ü", "b": [1, 2.5, None, True]}) == golden


@pytest.mark.parametrize("size", [0, 5, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7])
def test_files(tmp_path, size):
    content = np.random.default_rng(size).bytes(size)
    path = tmp_path / "file"
    path.write_bytes(content)
    assert file_digest(path) == hashlib.sha256(content).hexdigest()
    ends = str(size).encode() + content[:CHUNK] + content[max(0, size - CHUNK) :]
    assert sampled_digest(path) == hashlib.sha256(ends).hexdigest()


def test_folders(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_bytes(b"b")
    (tmp_path / "sub" / "a.txt").write_bytes(b"a" * 10)
    assert folder_digest(tmp_path) == "31a24fc26c047bb6"
    (tmp_path / "b.txt").rename(tmp_path / "c.txt")
    assert folder_digest(tmp_path) != "31a24fc26c047bb6"
