"""Whether a heat map points at the right one of several images pasted together.

    python benchmarks/heatmap.py DATASET [--split val] [--pictures 300]

Images of a split are cropped to squares and pasted together, two side by side or four in a square,
and queried with the first caption of one of them, cycling through languages. A map is right if its
warmest cell is in that image; chance level is a half or a quarter. Also by the mean over each
image, and with other window sizes than the default.
"""

import argparse
from collections.abc import Iterator

import numpy as np
from PIL import Image

from polyglance.data import load_dataset
from polyglance.runtime import ExportedModel, heatmap, open_model

SIDE = 300


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset")
    parser.add_argument("--split", default="val")
    parser.add_argument("--pictures", type=int, default=300)
    given = parser.parse_args()
    model = open_model(None)
    chosen = list(pictures(given.dataset, given.split, given.pictures))
    print("| pasted | window | maps | warmest cell right | mean right |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for across, down in ((2, 1), (2, 2)):
        for window in (1, 3, 5):
            heatmap.WINDOW = window
            found = np.array(list(trials(model, chosen, across, down)))
            shares = " | ".join(f"{share:.1%}" for share in found.mean(0))
            print(f"| {across} × {down} | {window} | {len(found)} | {shares} |")


def pictures(place: str, split: str, count: int) -> Iterator[tuple[Image.Image, str]]:
    """Squares with a caption each, cycling through languages, in a fixed random order."""
    dataset = load_dataset(place)
    rows = [row for row, entry in enumerate(dataset.images) if entry.split == split]
    paths = dataset.paths()
    for number, row in enumerate(np.random.default_rng(0).permutation(rows)[:count]):
        captions = dataset.images[row].captions
        kinds = captions[sorted(captions)[number % len(captions)]]
        yield square(Image.open(paths[row]).convert("RGB")), next(iter(kinds.values()))[0]


def square(image: Image.Image) -> Image.Image:
    """The centre of an image."""
    short = min(image.size)
    left, top = (image.width - short) // 2, (image.height - short) // 2
    return image.crop((left, top, left + short, top + short)).resize((SIDE, SIDE))


def trials(
    model: ExportedModel, chosen: list[tuple[Image.Image, str]], across: int, down: int
) -> Iterator[tuple[bool, bool]]:
    """Whether the warmest cell, and the mean, are right; once per image."""
    size = across * down
    for start in range(0, len(chosen) - size + 1, size):
        part = chosen[start : start + size]
        pasted = Image.new("RGB", (SIDE * across, SIDE * down))
        for number, (image, _) in enumerate(part):
            pasted.paste(image, (SIDE * (number % across), SIDE * (number // across)))
        for number, vector in enumerate(model.encode_text([text for _, text in part])):
            found = heatmap.heat_map(model, pasted, vector)
            rows, columns = np.indices(found.shape)
            of = rows * down // len(found) * across + columns * across // found.shape[1]
            means = [found[of == place].mean() for place in range(size)]
            yield of.flat[found.argmax()] == number, int(np.argmax(means)) == number


if __name__ == "__main__":
    main()
