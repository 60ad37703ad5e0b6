"""What scores are compared with: embeddings of pictures and sentences that nobody searches.

A cosine of 0.3 is much for one sentence and little for another. Against the scores that a
sentence has with background pictures, and a picture with background sentences, it becomes a
number of standard deviations, and one threshold serves all sentences: symmetric score
normalisation, as speaker recognition has it (Kenny 2010).
"""

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.files import atomic, write_json
from polyglance.runtime.manifest import FILE, Manifest, file_digests, read_manifest
from polyglance.similarity import scores
from polyglance.staging import staged

BACKGROUND = "background.npz"
IMAGES, TEXTS = 512, 256
"""Pictures and sentences that are kept."""
GALLERY, TRIALS = 100, 2000
"""Pictures of a gallery that has nothing of what is asked for, and how many sentences ask."""
SMALLEST = 1e-6


@dataclass(frozen=True)
class Background:
    """Embeddings of pictures [M, D] and sentences [K, D], and the least score of a match."""

    images: np.ndarray
    texts: np.ndarray
    cutoff: float
    similarity: str = "cosine"
    kept: float = float("nan")
    """Share of captions whose own image has at least the `cutoff`, where it was chosen."""
    refused: float = float("nan")
    """Share of captions for which no image of a gallery without anything like it has that."""

    @cached_property
    def spreads(self) -> tuple[float, float]:
        """The median spread of a background sentence's scores, and of a background picture's.

        A sentence that the model makes little of has a small one, and must not seem to fit for
        that: the median is the least that is taken.
        """
        values = self._compare(self.images, self.texts)
        return float(np.median(values.std(0))), float(np.median(values.std(1)))

    def for_text(self, text: np.ndarray) -> "Usual":
        """What is usual for a text [1, D]: its similarities with background pictures."""
        return Usual.of(self._compare(self.images, text), self.spreads[0])

    def for_image(self, image: np.ndarray) -> "Usual":
        """What is usual for an image [1, D]: its cosines with background pictures."""
        return Usual.of(scores.get("cosine")(self.images, image))

    def of_images(self, images: np.ndarray) -> np.ndarray:
        """Mean and spread [n, 2] of the similarities of images [n, D] with background sentences."""
        values = self._compare(images, self.texts)
        return np.stack([values.mean(1), np.maximum(values.std(1), self._least(1))], 1)

    def calibrated(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Calibrated scores [n, m] of images [n, D] and texts [m, D]."""
        values = self._compare(images, texts)
        usual = self._compare(self.images, texts)
        by_text = (values - usual.mean(0)) / np.maximum(usual.std(0), self._least(0))
        mean, spread = self.of_images(images).T[:, :, None]
        return (by_text + (values - mean) / spread) / 2

    def _least(self, side: int) -> float:
        return max(self.spreads[side], SMALLEST)

    def _compare(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        return scores.get(self.similarity)(images, texts)


@dataclass(frozen=True, slots=True)
class Usual:
    """Mean and spread of the scores of a query that nothing was meant by."""

    mean: float
    spread: float

    @classmethod
    def of(cls, values: np.ndarray, least: float = 0.0) -> "Usual":
        """Of any scores; the spread is `least` or more."""
        return cls(float(values.mean()), max(float(values.std()), least, SMALLEST))

    def standing(self, values: np.ndarray) -> np.ndarray:
        """Scores in standard deviations above the mean."""
        return (values - self.mean) / self.spread


def calibrate(
    images: np.ndarray,
    texts: np.ndarray,
    image_of: np.ndarray,
    similarity: str = "cosine",
    seed: int = 0,
) -> Background:
    """Background and threshold of a model from captioned images that it was not trained on.

    Half of the images, and their captions, become the background, and the threshold is chosen on
    the other half: it best tells a caption's own image from the closest of 100 images that are
    unlike it, that is of the half whose captions are least like it.

    Args:
        images: [N, D], embeddings as the model encodes them; rows that are NaN are left out.
        texts: [M, D], of captions in all languages, and single words where such are asked.
        image_of: [M], row of the image that a caption belongs to.
        similarity: of the model: "cosine", "dot" or "order".
        seed: of what is drawn.
    """
    images, texts = np.asarray(images, np.float32), np.asarray(texts, np.float32)
    image_of = np.asarray(image_of, np.int64)
    good = np.isfinite(images).all(1)
    if good.sum() < 8 or len(np.unique(image_of)) < 8:
        raise PolyglanceError("a background needs at least 8 images with captions")
    generator = np.random.default_rng(seed)
    order = generator.permutation(np.flatnonzero(good))
    first, second = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    own = np.flatnonzero(np.isin(image_of, first))
    kept = Background(
        images[generator.permutation(first)[:IMAGES]].astype(np.float16).astype(np.float32),
        texts[generator.permutation(own)[:TEXTS]].astype(np.float16).astype(np.float32),
        0.0,
        similarity,
    )
    trial = generator.permutation(np.flatnonzero(np.isin(image_of, second)))[:TRIALS]
    place = np.searchsorted(second, image_of[trial])
    right, wrong = _trials(
        kept, images[second], texts[trial], place, _captions(texts, image_of, second), generator
    )
    cutoff, found, refused = _threshold(right, wrong)
    return Background(kept.images, kept.texts, cutoff, similarity, found, refused)


def _captions(texts: np.ndarray, image_of: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The mean caption [n, D], of length one, of each image of `rows` [n]."""
    chosen = np.isin(image_of, rows)
    total = np.zeros((len(rows), texts.shape[1]), np.float32)
    np.add.at(total, np.searchsorted(rows, image_of[chosen]), texts[chosen])
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), SMALLEST)


def _trials(
    background: Background,
    images: np.ndarray,
    texts: np.ndarray,
    right: np.ndarray,
    captions: np.ndarray,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated scores [m] of each text's own image, and of the best of a gallery without it."""
    found = background.calibrated(images, texts)
    alike = captions @ captions[right].T  # [n, m]
    far = np.argsort(alike, 0)[: max(1, len(images) // 2)]
    drawn = generator.integers(0, len(far), (GALLERY, len(texts)))
    columns = np.arange(len(texts))
    best = found[far[drawn, columns], columns].max(0)
    return found[right, columns], best


def _threshold(right: np.ndarray, wrong: np.ndarray) -> tuple[float, float, float]:
    """What tells two groups of scores apart with the fewest mistakes, each counting the same.

    Also the share of `right` that reaches it, and the share of `wrong` that does not.
    """
    candidates = np.unique(np.concatenate([right, wrong]))
    kept = 1 - np.searchsorted(np.sort(right), candidates) / len(right)
    refused = np.searchsorted(np.sort(wrong), candidates) / len(wrong)
    best = int(np.argmax(kept + refused))
    return float(candidates[best]), float(kept[best]), float(refused[best])


def add_background(folder: str | Path, background: Background) -> Manifest:
    """Put a background into an exported model's folder, whose id changes with it.

    Args:
        folder: what `polyglance export` wrote.
        background: of this model's embeddings.
    """
    place = Path(folder)
    manifest = read_manifest(place)
    if background.images.shape[1] != manifest.dim:
        raise PolyglanceError(
            f"{place}: has embeddings of dimension {manifest.dim}, and the background has "
            f"{background.images.shape[1]}"
        )
    with staged(place) as new:
        shutil.copytree(place, new, dirs_exist_ok=True)
        with atomic(new / BACKGROUND) as handle:
            np.savez(
                handle,
                images=background.images.astype(np.float16),
                texts=background.texts.astype(np.float16),
                cutoff=np.array([background.cutoff, background.kept, background.refused]),
            )
        changed = manifest.model_copy(update={"files": file_digests(new)})
        changed = changed.model_copy(update={"id": changed.digest()})
        write_json(new / FILE, changed.model_dump(mode="json"))
    return changed


def read_background(folder: Path, manifest: Manifest) -> Background | None:
    """The background of an exported model, if it has one."""
    if BACKGROUND not in manifest.files:
        return None
    path = folder / BACKGROUND
    try:
        with np.load(path, allow_pickle=False) as found:
            images, texts = (found[name].astype(np.float32) for name in ("images", "texts"))
            cutoff, kept, refused = map(float, found["cutoff"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolyglanceError(f"{path}: cannot be read ({error}); export again") from None
    if any(part.ndim != 2 or part.shape[1] != manifest.dim for part in (images, texts)):
        raise PolyglanceError(f"{path}: not embeddings of dimension {manifest.dim}; export again")
    return Background(images, texts, cutoff, manifest.similarity, kept, refused)
