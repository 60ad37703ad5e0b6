"""Calibration of scores against background images and sentences.

A cosine of 0.3 is high for one sentence and low for another. Relative to the scores of a sentence
with background images, and of an image with background sentences, it becomes a number of standard
deviations: symmetric score normalisation, as in speaker recognition (Kenny 2010). What that means
depends on the text, and `MatchProbability` converts it to a probability. Backgrounds without one
have a threshold in standard deviations; texts that the model hardly knows, above all nonsense,
hardly distinguish images, and their scores are reduced.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.similarity import normalise, scores
from polyglance.runtime.fit_probability import (
    ALARM,
    LACKING,
    LEAST,
    NONSENSE,
    QueryTexts,
    Trials,
    Words,
    best_of_gallery,
    fit_match_probability,
    of_frequent_words,
    of_words,
    typical_matches,
)
from polyglance.runtime.manifest import BACKGROUND, FILE, Manifest, file_digests, read_manifest
from polyglance.runtime.match_probability import MatchProbability, logistic, nearness
from polyglance.storage.files import atomic, write_json
from polyglance.storage.staging import staged

FEWEST_IMAGES = 8
"""Least number of images with captions."""
IMAGES, TEXTS = 512, 256
"""Largest numbers of images and sentences stored."""
GALLERY, TRIALS = 100, 2000
"""Size of a gallery without a match, and number of sentences to test."""
SMALLEST = 1e-6
EVEN = 0.5
"""Least probability of a match."""
KNOWN = 0.1
"""Least probability that a text is known; below it, users are told that it hardly is."""


@dataclass(frozen=True)
class Background:
    """Embeddings of images [M, D] and sentences [K, D], and the least score of a match."""

    images: np.ndarray
    texts: np.ndarray
    cutoff: float
    similarity: str = "cosine"
    kept: float = float("nan")
    """Share of captions whose own image reaches a cut-off chosen without them."""
    refused: float = float("nan")
    """Share of captions for which no image of a dissimilar gallery reaches it."""
    lessens: bool = True
    """Whether scores of unclear texts are reduced; not the case in old exports."""
    chance: MatchProbability | None = None
    """Converts standard scores to probabilities; the cut-off is then one, too."""

    @cached_property
    def spreads(self) -> tuple[float, float]:
        """Median standard deviation of a background sentence's scores, and of an image's.

        A sentence that the model hardly knows has a small one, which would inflate its scores:
        the median is the lower bound, and scores are reduced by how far the deviation is below it.
        """
        values = self._compare(self.images, self.texts)
        return float(np.median(values.std(0))), float(np.median(values.std(1)))

    def for_text(self, text: np.ndarray) -> "ScoreStatistics":
        """Score statistics of a text [1, D], from its similarities with background images."""
        found = ScoreStatistics.of(self._compare(self.images, text), self.spreads[0])
        return found if self.lessens else replace(found, clarity=1.0)

    def for_image(self, image: np.ndarray) -> "ScoreStatistics":
        """Score statistics of an image [1, D], from its cosines with background images."""
        return ScoreStatistics.of(scores.get("cosine")(self.images, image))

    def of_images(self, images: np.ndarray) -> np.ndarray:
        """Mean and standard deviation [n, 2] of images' [n, D] scores with background sentences."""
        values = self._compare(images, self.texts)
        return np.stack([values.mean(1), np.maximum(values.std(1), self._least(1))], 1)

    def calibrated(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Calibrated scores [n, m] of images [n, D] and texts [m, D]."""
        standard_scores, clarity = self.standard_scores(images, texts)
        if self.chance is None:
            return clarity * standard_scores
        return self.chance(standard_scores, self.of_texts(texts))

    def standard_scores(
        self, images: np.ndarray, texts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Standard scores [n, m], and the clarity of the texts [m]."""
        values = self._compare(images, texts)
        usual = self._compare(self.images, texts)
        spread, least = usual.std(0), self._least(0)
        by_text = (values - usual.mean(0)) / np.maximum(spread, least)
        mean, own = self.of_images(images).T[:, :, None]
        clarity = np.minimum(spread / least, 1) if self.lessens else np.ones_like(spread)
        return (by_text + (values - mean) / own) / 2, clarity

    def of_texts(self, texts: np.ndarray) -> np.ndarray:
        """Terms [m] of texts [m, D] in the log-odds of a match; 0 without a `chance`."""
        if self.chance is None:
            return np.zeros(len(texts))
        unit = normalise(texts)
        return self.chance.of_texts(unit, nearness(unit, self._unit_texts))

    def knows(self, texts: np.ndarray) -> np.ndarray:
        """Whether it is not improbable that the model knows texts [m, D]."""
        return logistic(self.known_log_odds(texts)) >= KNOWN

    def known_log_odds(self, texts: np.ndarray) -> np.ndarray:
        """Log-odds [m] that the model knows texts [m, D]; infinite without a `chance`."""
        if self.chance is None:
            return np.full(len(texts), np.inf)
        unit = normalise(texts)
        return self.chance.given_known(unit, nearness(unit, self._unit_texts))

    @cached_property
    def _unit_texts(self) -> np.ndarray:
        return normalise(self.texts)

    def _least(self, side: int) -> float:
        return max(self.spreads[side], SMALLEST)

    def _compare(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        return scores.get(self.similarity)(images, texts)


@dataclass(frozen=True, slots=True)
class ScoreStatistics:
    """Mean and standard deviation of the scores of a query with unrelated images."""

    mean: float
    spread: float
    clarity: float = 1.0
    """Factor on the query's scores: 1, or its deviation's share of the least one."""

    @classmethod
    def of(cls, values: np.ndarray, least: float = 0.0) -> "ScoreStatistics":
        """Statistics of any scores; the standard deviation is at least `least`."""
        found, least = float(values.std()), max(least, SMALLEST)
        return cls(float(values.mean()), max(found, least), min(found / least, 1.0))

    def standard_scores(self, values: np.ndarray) -> np.ndarray:
        """Scores in standard deviations above the mean."""
        return (values - self.mean) / self.spread


def calibrate(
    images: np.ndarray,
    texts: np.ndarray,
    image_of: np.ndarray,
    similarity: str = "cosine",
    seed: int = 0,
    words: Words | None = None,
) -> Background:
    """Compute a model's background and threshold from captioned images not used in training.

    Half of the images, and their captions, become the background. On the other half, a caption's
    own image is distinguished from the closest of 100 dissimilar images, that is, images of the
    half whose captions have least in common with its own. The quality is measured by
    cross-validation: each quarter is evaluated with what was fitted on the other. With `words`,
    at least 20 of each kind, scores become probabilities; without, a threshold is chosen.

    Args:
        images: [N, D], embeddings by the model; NaN rows are left out.
        texts: [M, D], of captions in all languages, and of single words if included.
        image_of: [M], row of the image that a caption belongs to.
        similarity: of the model: "cosine", "dot" or "order".
        seed: of the random selection.
        words: queries besides captions.
    """
    images, texts = np.asarray(images, np.float32), np.asarray(texts, np.float32)
    image_of = np.asarray(image_of, np.int64)
    good = np.isfinite(images).all(1)
    if good.sum() < FEWEST_IMAGES or len(np.unique(image_of)) < FEWEST_IMAGES:
        raise PolyglanceError(f"a background needs at least {FEWEST_IMAGES} images with captions")
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
    if words is not None and words.enough:
        return _with_chance(kept, images, texts, image_of, words, second, generator)
    trial = partial(_trials, kept, images, texts, image_of, generator)
    cutoff = _threshold(*trial(second))
    parts = [trial(np.sort(part)) for part in np.array_split(generator.permutation(second), 2)]
    rates = [
        _rates(*judged, _threshold(*other))
        for judged, other in zip(parts, parts[::-1], strict=True)
    ]
    found, refused = map(float, np.mean(rates, 0))
    return Background(kept.images, kept.texts, cutoff, similarity, found, refused)


def _captions(texts: np.ndarray, image_of: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The mean caption [n, D], of length one, of each image in `rows` [n]."""
    chosen = np.isin(image_of, rows)
    total = np.zeros((len(rows), texts.shape[1]), np.float32)
    np.add.at(total, np.searchsorted(rows, image_of[chosen]), texts[chosen])
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), SMALLEST)


def _with_chance(
    background: Background,
    images: np.ndarray,
    texts: np.ndarray,
    image_of: np.ndarray,
    words: Words,
    rows: np.ndarray,
    generator: np.random.Generator,
) -> Background:
    """The background with probabilities fitted on the images `rows` [n], sorted."""
    has, shares = words.has[rows], words.shares[rows]
    chosen, right = _sample_captions(image_of, generator, rows)
    far = _dissimilar(has.astype(np.float32), right)
    parts = {
        "caption": texts[chosen],
        "word": words.vectors,
        "unknown": words.unknown,
        "nonsense": words.nonsense,
    }
    if words.translated is not None and len(words.translated) >= LEAST:
        parts["translated"] = words.translated
    vectors = normalise(np.concatenate(list(parts.values())))
    kinds = np.repeat(list(parts), [len(part) for part in parts.values()])
    # Captions of the same image are in the same half.
    half = generator.integers(0, 2, len(vectors))
    half[: len(chosen)] = generator.permutation(np.arange(len(rows)) % 2)[right]
    queries = np.concatenate(list(parts.values()))
    standard_scores = background.standard_scores(images[rows], queries)[0]
    all_texts = QueryTexts(
        vectors,
        kinds,
        half,
        nearness(vectors, normalise(background.texts)),
        *typical_matches(standard_scores, kinds, has, shares),
    )
    columns = {kind: np.flatnonzero(kinds == kind) for kind in parts}
    captions = standard_scores[:, columns["caption"]]
    closest = best_of_gallery(captions, far, GALLERY, generator)
    fit, lack = of_words(standard_scores[:, columns["word"]], has, shares, generator)
    groups = [
        (captions[right, np.arange(len(right))], columns["caption"], True, 1.0),
        (closest, columns["caption"], False, ALARM * (1 - NONSENSE)),
        (fit[:, 0], columns["word"][fit[:, 1].astype(int)], True, 1.0),
        (lack[:, 0], columns["word"][lack[:, 1].astype(int)], False, ALARM * LACKING),
        *(
            (
                best_of_gallery(standard_scores[:, columns[kind]], None, GALLERY, generator),
                columns[kind],
                False,
                part,
            )
            for kind, part in (("unknown", ALARM * (1 - LACKING)), ("nonsense", ALARM * NONSENSE))
        ),
    ]
    trials = Trials(
        np.concatenate([score for score, *_ in groups]),
        np.concatenate([text for _, text, *_ in groups]),
        np.repeat([fits for _, _, fits, _ in groups], [len(one[0]) for one in groups]),
        np.concatenate([np.full(len(one[0]), one[3] / max(len(one[0]), 1)) for one in groups]),
    )
    frequent = of_frequent_words(
        standard_scores[:, columns["word"]], has, shares, columns["word"], generator
    )
    made, found, refused = fit_match_probability(all_texts, trials.with_others(frequent))
    return replace(background, cutoff=EVEN, kept=found, refused=refused, chance=made)


def _sample_captions(
    image_of: np.ndarray, generator: np.random.Generator, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Some captions [m] of the images `rows` [n], sorted, and the index of their image [m]."""
    sampled = generator.permutation(np.flatnonzero(np.isin(image_of, rows)))[:TRIALS]
    return sampled, np.searchsorted(rows, image_of[sampled])


def _dissimilar(described: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The half of the images [n // 2, m] that is least similar to each of `right` [m].

    Args:
        described: [n, F]: similar images have a large dot product.
        right: rows of it.
    """
    alike = (described @ described.T)[:, right]
    return np.argsort(alike, 0, kind="stable")[: max(1, len(described) // 2)]


def _trials(
    background: Background,
    images: np.ndarray,
    texts: np.ndarray,
    image_of: np.ndarray,
    generator: np.random.Generator,
    rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated scores [m] of captions' own images, and the best of a gallery without them.

    Captions and galleries come from the images `rows` [n], sorted, only.
    """
    sampled, right = _sample_captions(image_of, generator, rows)
    far = _dissimilar(_captions(texts, image_of, rows), right)
    columns = np.arange(len(sampled))
    found = background.calibrated(images[rows], texts[sampled])
    drawn = generator.integers(0, len(far), (GALLERY, len(sampled)))
    return found[right, columns], found[far[drawn, columns], columns].max(0)


def _threshold(right: np.ndarray, wrong: np.ndarray) -> float:
    """The threshold between two groups of scores with the fewest errors, weighted equally."""
    candidates = np.unique(np.concatenate([right, wrong]))
    kept = 1 - np.searchsorted(np.sort(right), candidates) / len(right)
    refused = np.searchsorted(np.sort(wrong), candidates) / len(wrong)
    return float(candidates[int(np.argmax(kept + refused))])


def _rates(right: np.ndarray, wrong: np.ndarray, cutoff: float) -> tuple[float, float]:
    """The share of `right` that reaches the cut-off, and the share of `wrong` that does not."""
    return float(np.mean(right >= cutoff)), float(np.mean(wrong < cutoff))


def add_background(folder: str | Path, background: Background) -> Manifest:
    """Add a background to an exported model's folder; the model's embeddings stay the same.

    Args:
        folder: written by `polyglance export`.
        background: of this model's embeddings.
    """
    place = Path(folder)
    manifest = read_manifest(place)
    if background.images.shape[1] != manifest.dim:
        raise PolyglanceError(
            f"{place}: has embeddings of dimension {manifest.dim}, but the background has "
            f"{background.images.shape[1]}"
        )
    with staged(place) as new:
        shutil.copytree(place, new, dirs_exist_ok=True)
        with atomic(new / BACKGROUND) as handle:
            np.savez(
                handle,
                images=background.images.astype(np.float16),
                texts=background.texts.astype(np.float16),
                cutoff=np.array([background.cutoff]),
                rates=np.array([background.kept, background.refused]),
                **_stored(background.chance),
            )
        changed = manifest.renewed(file_digests(new))
        write_json(new / FILE, changed.model_dump(mode="json"))
    return changed


def _stored(chance: MatchProbability | None) -> dict[str, Any]:
    if chance is None:
        return {}
    return {
        "chance": np.array([chance.slope]),
        "shift": chance.shift.astype(np.float32),
        "known": chance.known.astype(np.float32),
    }


def _read_chance(found: Mapping[str, np.ndarray], dim: int) -> MatchProbability | None:
    if "chance" not in found:
        return None
    slope = float(found["chance"][0])
    shift, known = found["shift"].astype(np.float32), found["known"].astype(np.float32)
    if shift.shape != (dim + 1,) or known.shape != (dim + 2,):
        raise ValueError(f"the probabilities are not of dimension {dim}")
    return MatchProbability(slope, shift, known)


def read_background(folder: Path, manifest: Manifest) -> Background | None:
    """The background of an exported model, if it has one."""
    if BACKGROUND not in manifest.files:
        return None
    path = folder / BACKGROUND
    try:
        with np.load(path, allow_pickle=False) as found:
            images, texts = (found[name].astype(np.float32) for name in ("images", "texts"))
            cutoff = float(found["cutoff"][0])
            # Without `rates`, they were measured on the captions used to choose the cut-off.
            kept, refused = map(float, found.get("rates", [np.nan, np.nan]))
            lessens = "rates" in found
            chance = _read_chance(found, manifest.dim)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolyglanceError(f"{path}: cannot be read ({error}); export again") from None
    if any(part.ndim != 2 or part.shape[1] != manifest.dim for part in (images, texts)):
        raise PolyglanceError(f"{path}: not embeddings of dimension {manifest.dim}; export again")
    return Background(images, texts, cutoff, manifest.similarity, kept, refused, lessens, chance)
