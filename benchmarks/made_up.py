"""Generated captions, as long and as repetitive as those of Flickr8K, with features.

In 128 English captions of Flickr8K (nltk's tokens) there are 1,493 words, 441 of them distinct, and
the longest caption has 25; here there are about 1,490, 440 and 25.
"""

from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionedImage, Dataset
from polyglance.vision.extraction.store import FeatureStore

LETTERS = np.array(list("etaoinsrhldcumfpgwybvk"))
FEATURE = "imported/made-up"


def make_words(count: int, generator: np.random.Generator, letters: np.ndarray) -> np.ndarray:
    """[count] distinct words, the frequent ones shorter."""
    found: dict[str, None] = {}
    while len(found) < count:
        longest = 2 + min(7, len(found) // 8)
        length = generator.integers(1 + longest // 3, longest + 1)
        found["".join(generator.choice(letters, length))] = None
    return np.array(list(found))


def make_captions(count: int, vocabulary: int, seed: int = 0) -> list[str]:
    """Captions with a Zipf–Mandelbrot vocabulary.

    Args:
        count: number of captions.
        vocabulary: number of distinct words that they may use.
        seed: of the words and captions.
    """
    generator = np.random.default_rng(seed)
    words = make_words(vocabulary, generator, np.roll(LETTERS, 5 * seed))
    chances = (np.arange(vocabulary) + 2.0) ** -1.24
    lengths = np.clip(generator.gamma(9.8, 1.2, count).round().astype(int), 2, 38)
    drawn = generator.choice(words, lengths.sum(), p=chances / chances.sum())
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def make_dataset(
    folder: Path,
    images: int,
    vectors: int | None,
    dim: int,
    languages: int = 1,
    per_image: int = 5,
    vocabulary: int = 8000,
) -> Dataset:
    """Images of one training split with captions and random features named `FEATURE`.

    Args:
        folder: for the features.
        images: number of images.
        vectors: per image; None for a global feature.
        dim: dimension of a vector.
        languages: number of languages, from en, de, l2, l3 …, each with words of its own.
        per_image: captions per image and language.
        vocabulary: words per language.
    """
    names = [f"{i}.jpg" for i in range(images)]
    codes = language_codes(languages)
    texts = {
        code: make_captions(images * per_image, vocabulary, seed) for seed, code in enumerate(codes)
    }
    entries = [
        CaptionedImage(
            name,
            "train",
            {
                c: {"independent": own[i * per_image : (i + 1) * per_image]}
                for c, own in texts.items()
            },
        )
        for i, name in enumerate(names)
    ]
    generator = np.random.default_rng(1)
    form = "global" if vectors is None else "set"
    with FeatureStore.create(folder / "features" / "made-up", dim, form, FEATURE) as store:
        shape = (vectors or 1, dim)
        store.append_many((n, generator.standard_normal(shape, np.float32)) for n in names)
    return Dataset(entries, folder, "made up", root=folder)


def language_codes(count: int) -> list[str]:
    """Tags of languages."""
    known = ["en", "de", "fr", "cs", "es", "it", "nl", "pt", "pl", "sv", "da", "fi", "hu", "ro"]
    return known[:count]
