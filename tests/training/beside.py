"""What batches of images have beside captions: texts without images, and named things."""

import gzip
import json
from pathlib import Path

import numpy as np

from polyglance.data import CaptionedImage, save_folder
from polyglance.vision.extraction.store import FeatureStore

SUBWORDS = [
    "image.feature=imported/toy",
    "text.embedder.kind=subwords",
    "text.embedder.buckets=300",
    "text.embedder.word_dim=8",
    "text.encoder.hidden=16",
    "joint.dim=16",
    "training.batch_size=32",
    "training.lr=0.01",
    "training.epochs=3",
]
NAMES = {"en": ["red dog", "blue cat", "tree"], "ka": ["ძაღლი", "კატა", "ხე"]}


def write_texts(path: Path, *tuples: dict[str, str]) -> Path:
    with gzip.open(path, "wt") as handle:
        for number, one in enumerate(tuples):
            captions = {code: {"translation": [text]} for code, text in one.items()}
            handle.write(json.dumps({"id": str(number), "captions": captions}) + "\n")
    return path


def write_sentences(path: Path) -> Path:
    """Tuples whose Georgian is in no caption, and one without words."""
    rows = [{"en": f"a {word} runs", "ka": f"{word} გარბის"} for word in ("dog", "cat", "car")]
    return write_texts(path, *rows, {"de": "@@", "ka": "..."})


def write_things(folder: Path) -> Path:
    """Three things in two styles each, and one held out."""
    rows = []
    for style in ("flat", "round"):
        for number in range(3):
            captions = {code: {"name": [own[number]]} for code, own in NAMES.items()}
            rows.append(CaptionedImage(f"{style}/u{number}.png", "train", captions))
    rows.append(CaptionedImage("flat/u3.png", "val", {"en": {"name": ["car"]}}))
    save_folder(folder, rows)
    vectors = np.random.default_rng(0).normal(size=(len(rows), 1, 16))
    with FeatureStore.create(folder / "features" / "toy", 16, "global", "imported/toy") as store:
        store.append_many(zip([row.image for row in rows], vectors, strict=True))
    return folder
