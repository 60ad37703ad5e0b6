"""Fits match probabilities to captions, single words, and texts that no image matches.

Every trial is a text and its best standard score among 100 images, all matching or none. A
text's own term of the log-odds is the same for all images, so the best image is known before
fitting.
"""

from dataclasses import dataclass

import numpy as np

from polyglance.runtime.match_probability import REFERENCE, MatchProbability, logistic

LACKING = 0.75
"""Of single words without a match: share of words that no image has; the others are unknown."""
NONSENSE = 0.05
"""Of sentences without a match: share of nonsense texts; the others are captions."""
ALARM = 1.15
"""Cost of wrongly showing an image, relative to missing one."""
PER_WORD = 8
"""Largest number of trials per word."""
LEAST = 20
"""Least number of texts of each kind."""
STEPS = 30
"""Steps of Newton's method."""


@dataclass(frozen=True)
class Words:
    """Queries besides captions, as embeddings.

    `vectors` [W, D] are words that several captions of an image share, `has` [N, W] whether an
    image has a caption with the word, and `shares` [N, W] whether several of its captions do. No
    caption has a word of `unknown` [U, D], single words, nor of `nonsense` [S, D], texts of several
    words.
    """

    vectors: np.ndarray
    has: np.ndarray
    shares: np.ndarray
    unknown: np.ndarray
    nonsense: np.ndarray

    @property
    def enough(self) -> bool:
        """Whether there are enough of them to fit probabilities."""
        return min(map(len, (self.vectors, self.unknown, self.nonsense))) >= LEAST


@dataclass(frozen=True)
class QueryTexts:
    """All query texts: embeddings [Q, D], kinds, halves, nearness to the background."""

    vectors: np.ndarray
    kind: np.ndarray
    half: np.ndarray
    near: np.ndarray

    def of(self, *kinds: str) -> np.ndarray:
        """Whether texts are of these kinds, [Q]."""
        return np.isin(self.kind, kinds)


@dataclass(frozen=True)
class Trials:
    """Best scores [T] of texts [T], whether the images match, and the weights of trials."""

    score: np.ndarray
    text: np.ndarray
    fits: np.ndarray
    weight: np.ndarray

    def where(self, chosen: np.ndarray) -> "Trials":
        """The trials for which `chosen` [T] is true."""
        return Trials(self.score[chosen], self.text[chosen], self.fits[chosen], self.weight[chosen])


def of_words(
    standard_scores: np.ndarray, has: np.ndarray, shares: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Trials (score, word) of words that match, and of words that none of 100 images has.

    Args:
        standard_scores: [n, W], standard scores.
        has: [n, W], whether an image has a caption with the word.
        shares: [n, W], whether several of its captions do.
        generator: draws galleries.
    """
    right, wrong = [], []
    for word in range(standard_scores.shape[1]):
        own, column = np.flatnonzero(has[:, word]), standard_scores[:, word]
        some = generator.permutation(np.flatnonzero(shares[:, word]))[:PER_WORD]
        for row in some:
            drawn = own[generator.random(len(own)) < REFERENCE / len(column)]
            right.append((max(column[row], column[drawn].max(initial=-np.inf)), word))
        lacking = np.flatnonzero(~has[:, word])
        if len(lacking):
            wrong.append(
                (best_of_gallery(column[:, None], lacking[:, None], REFERENCE, generator)[0], word)
            )
    return np.array(right).reshape(-1, 2), np.array(wrong).reshape(-1, 2)


def best_of_gallery(
    standard_scores: np.ndarray, pools: np.ndarray | None, size: int, generator: np.random.Generator
) -> np.ndarray:
    """The best score [m] of each text among `size` images of a pool, or of all.

    Args:
        standard_scores: [n, m].
        pools: [p, m], rows of the images to draw from for a text.
        size: number of images; the whole pool if it is smaller.
        generator: random generator.
    """
    count = len(standard_scores) if pools is None else len(pools)
    found = np.empty(standard_scores.shape[1])
    for text in range(standard_scores.shape[1]):
        drawn = generator.permutation(count)[:size]
        rows = drawn if pools is None else pools[drawn, text]
        found[text] = standard_scores[rows, text].max()
    return found


def fit_match_probability(
    texts: QueryTexts, trials: Trials
) -> tuple[MatchProbability, float, float]:
    """Fit probabilities; shares of captions accepted and rejected correctly, by cross-validation.

    Args:
        texts: of the kinds "caption", "word", "unknown" and "nonsense".
        trials: of these texts.
    """
    probes = [_probes(texts, half) for half in (0, 1)]
    padded = np.concatenate([texts.vectors, np.ones((len(texts.vectors), 1))], 1)
    # The probes of a text come from the other half, as they will for new texts.
    like = np.where(texts.half[:, None] == 0, padded @ probes[1], padded @ probes[0])
    halves = texts.half[trials.text]
    rates = []
    for half in (0, 1):
        known, fit = _coefficients(texts, trials, like, texts.half == half)
        judged = trials.where((halves != half) & texts.of("caption")[trials.text])
        positive = _log_odds(judged, texts, like, known, fit) >= 0
        rates.append([positive[judged.fits].mean(), 1 - positive[~judged.fits].mean()])
    known, fit = _coefficients(texts, trials, like, np.ones(len(texts.half), bool))
    mean = np.mean(probes, 0)
    shift = fit[1] * mean[:, 0]
    shift[-1] += fit[2]
    knows = mean @ known[1:3]
    knows[-1] += known[3]
    made = MatchProbability(max(float(fit[0]), 0.0), shift, np.concatenate([known[:1], knows]))
    kept, refused = map(float, np.mean(rates, 0))
    return made, kept, refused


def _probes(texts: QueryTexts, half: int) -> np.ndarray:
    """[D + 1, 2]: words against captions; captions and words against the rest."""
    own = texts.half == half
    seen = own & texts.of("caption", "word")
    single = _ridge(texts.vectors[seen], texts.of("word")[seen], 3.0)
    return np.stack([single, _ridge(texts.vectors[own], texts.of("caption", "word")[own], 10.0)], 1)


def _ridge(vectors: np.ndarray, positive: np.ndarray, penalty: float) -> np.ndarray:
    """Linear function [D + 1] close to 1 for positives and −1 for others, both sides weighted
    equally."""
    weight = np.where(positive, 1 / max(positive.sum(), 1), 1 / max((~positive).sum(), 1))
    weight *= len(weight) / weight.sum()
    design = np.concatenate([vectors, np.ones((len(vectors), 1))], 1)
    weighted = design * weight[:, None]
    square = weighted.T @ design + penalty * np.eye(design.shape[1])
    return np.asarray(np.linalg.solve(square, weighted.T @ np.where(positive, 1.0, -1.0)))


def _coefficients(
    texts: QueryTexts, trials: Trials, like: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of being known (nearness, both probes, 1) and matching (score, probe, 1)."""
    design = np.concatenate([texts.near[:, None], like], 1)[chosen]
    sizes = {kind: (texts.kind[chosen] == kind).sum() for kind in np.unique(texts.kind)}
    weight = np.array([1 / sizes[kind] for kind in texts.kind[chosen]])
    known = regress(design, texts.of("caption", "word")[chosen], weight)
    own = trials.where(chosen[trials.text])
    offset = -np.logaddexp(0, -(given_known(texts, like, known)[own.text]))
    features = np.stack([own.score, like[own.text, 0]], 1)
    return known, regress(features, own.fits, own.weight, offset)


def given_known(texts: QueryTexts, like: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Log-odds [Q] that a text is known.

    Args:
        texts: Q query texts.
        like: [Q, 2], what the probes of words and of sense say of the texts.
        known: coefficients [4] of nearness, both probes, and 1.
    """
    return np.asarray(texts.near * known[0] + like @ known[1:3] + known[3])


def _log_odds(
    trials: Trials, texts: QueryTexts, like: np.ndarray, known: np.ndarray, fit: np.ndarray
) -> np.ndarray:
    offset = -np.logaddexp(0, -given_known(texts, like, known)[trials.text])
    return np.asarray(fit[0] * trials.score + fit[1] * like[trials.text, 0] + fit[2] + offset)


def regress(
    features: np.ndarray,
    positive: np.ndarray,
    weight: np.ndarray,
    offset: np.ndarray | None = None,
) -> np.ndarray:
    """Logistic regression by Newton's method: coefficients [F + 1], the constant last.

    Args:
        features: [n, F].
        positive: [n].
        weight: [n], of the examples.
        offset: [n], fixed term of the log-odds.
    """
    weight = 1000 * weight / weight.sum()
    mean, spread = features.mean(0), np.maximum(features.std(0), 1e-6)
    design = np.concatenate([(features - mean) / spread, np.ones((len(features), 1))], 1)
    start = np.zeros(len(design)) if offset is None else offset
    found, ridge = np.zeros(design.shape[1]), 1e-2 * np.eye(design.shape[1])
    for _ in range(STEPS):
        chance = logistic(start + design @ found)
        slope = design.T @ (weight * (chance - positive)) + ridge @ found
        curve = (design * (weight * chance * (1 - chance))[:, None]).T @ design + ridge
        found -= np.linalg.solve(curve, slope)
    own = found[:-1] / spread
    return np.append(own, found[-1] - own @ mean)
