"""Images whose captions say their colour and shape, for trainings of the image network."""

import gzip
import json
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (40, 50, 220), "grey": (128,) * 3}
SHAPES = ("wide", "tall")
SMALL = [
    "image.feature=efficientnet-lite0/global",
    "image.backbone.input_size=32",
    "text.encoder.hidden=8",
    "text.embedder.word_dim=8",
    "joint.dim=8",
    "training.batch_size=16",
    "training.lr=0.01",
    "training.epochs=3",
]


def write_coloured(folder: Path) -> Path:
    """Thirty-two images with two captions each, four for validation and four for tests."""
    (folder / "images").mkdir(parents=True)
    rng, rows = np.random.default_rng(0), []
    for number in range(32):
        colour, shape = list(COLOURS)[number % 4], SHAPES[number // 4 % 2]
        size = (60, 40) if shape == "wide" else (40, 60)
        noise = rng.integers(-20, 20, (size[1], size[0], 3))
        pixels = np.clip(np.array(COLOURS[colour]) + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "images" / f"{number:02}.png")
        captions = {"en": {"independent": [f"a {shape} image in {colour}", f"{colour} {shape}"]}}
        split = ("train", "train", "train", "val" if number < 28 else "test")[number // 8]
        rows.append({"image": f"{number:02}.png", "split": split, "captions": captions})
    with gzip.open(folder / "captions.jsonl.gz", "wt") as handle:
        handle.writelines(json.dumps(row) + "\n" for row in rows)
    return folder
