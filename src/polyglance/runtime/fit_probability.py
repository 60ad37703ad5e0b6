"""Fits match probabilities to captions, single words, and texts that no image matches.

A trial is a text and its best standard score among 100 images, all matching or none. A text's own
term of the log-odds is the same for all images, so the best image is known before fitting. Of words
that several of 100 images have, each matching image is a trial too, against as many of the closest
images that do not match: their best image says nothing about whether the others are shown.
"""

from dataclasses import dataclass, fields

import numpy as np

from polyglance.runtime.match_probability import REFERENCE, MatchProbability, logistic

LACKING = 0.75
"""Of single words without a match: share of words that no image has; the others are unknown."""
NONSENSE = 0.05
"""Of sentences without a match: share of nonsense texts; the others are captions."""
ALARM = 1.13
"""Cost of wrongly showing an image, relative to missing one."""
PER_WORD = 8
"""Largest number of trials per word."""
SEVERAL = 2
"""Least number of matching images in 100 for a word to be frequent."""
FREQUENT = 0.6
"""Weight of frequent words' matching images, relative to best images of words."""
PER_FREQUENT_WORD = 24
"""Largest number of a frequent word's matching images."""
PENALTY = 1.0
"""Of the ridge regressions on properties of words; chosen on val, as the other constants."""
KNOWN_KINDS = ("caption", "word", "translated")
"""Of texts that the model knows."""
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
    words. Words of `translated` [L, D], in languages without captions, are known, but which images
    have them is not.
    """

    vectors: np.ndarray
    has: np.ndarray
    shares: np.ndarray
    unknown: np.ndarray
    nonsense: np.ndarray
    translated: np.ndarray | None = None

    @property
    def enough(self) -> bool:
        """Whether there are enough of them to fit probabilities."""
        return min(map(len, (self.vectors, self.unknown, self.nonsense))) >= LEAST


@dataclass(frozen=True)
class QueryTexts:
    """All query texts: embeddings [Q, D], kinds, halves, nearness to the background; of words
    also what `typical_matches` says."""

    vectors: np.ndarray
    kind: np.ndarray
    half: np.ndarray
    near: np.ndarray
    typical: np.ndarray
    share: np.ndarray

    def of(self, *kinds: str) -> np.ndarray:
        """Whether texts are of these kinds, [Q]."""
        return np.isin(self.kind, kinds)


@dataclass(frozen=True)
class Trials:
    """Scores [T] of texts [T], whether the images match, and the weights of trials."""

    score: np.ndarray
    text: np.ndarray
    fits: np.ndarray
    weight: np.ndarray

    def where(self, chosen: np.ndarray) -> "Trials":
        """The trials for which `chosen` [T] is true."""
        return Trials(*(getattr(self, one.name)[chosen] for one in fields(self)))

    def with_others(self, others: "Trials") -> "Trials":
        """These trials, then others."""
        names = [one.name for one in fields(self)]
        return Trials(*(np.append(getattr(self, name), getattr(others, name)) for name in names))


def typical_matches(
    standard_scores: np.ndarray, kinds: np.ndarray, has: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mean score [Q] of a word's matching images, and the log share [Q] of images that have it.

    NaN for texts of which it is not known. No image has an unknown word, and few match a caption.

    Args:
        standard_scores: [n, Q], of all texts.
        kinds: [Q].
        has: [n, W], whether an image has a caption with the word.
        shares: [n, W], whether several of its captions do.
    """
    word, counts = kinds == "word", shares.sum(0)
    typical, share = np.full(len(kinds), np.nan), np.full(len(kinds), np.nan)
    total = (standard_scores[:, word] * shares).sum(0)
    typical[word] = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
    share[word] = np.log(has.mean(0) + 1 / len(has))
    share[(kinds == "unknown") | (kinds == "caption")] = -np.log(len(has))
    return typical, share


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


def of_frequent_words(
    standard_scores: np.ndarray,
    has: np.ndarray,
    shares: np.ndarray,
    texts: np.ndarray,
    generator: np.random.Generator,
) -> Trials:
    """Matching images of words that several of 100 images have, and as many that come closest.

    A word counts more the more images have it, but less than each of its images would.

    Args:
        standard_scores: [n, W].
        has: [n, W], whether an image has a caption with the word.
        shares: [n, W], whether several of its captions do.
        texts: [W], of the words.
        generator: draws images.
    """
    part = min(REFERENCE / len(has), 1.0)
    found: list[tuple[float, int, bool, float]] = []
    for word in np.flatnonzero(part * shares.sum(0) >= SEVERAL):
        column, matching = standard_scores[:, word], np.flatnonzero(shares[:, word])
        lacking = np.flatnonzero(~has[:, word])
        drawn = column[lacking[generator.random(len(lacking)) < part]]
        closest = np.sort(drawn)[-round(part * len(matching)) :]
        right = column[generator.permutation(matching)[:PER_FREQUENT_WORD]]
        for scores, fits in ((right, True), (closest, False)):
            weight = np.sqrt(part * len(matching)) / max(len(scores), 1)
            found += [(score, texts[word], fits, weight) for score in scores]
    columns = np.array(found).reshape(-1, 4).T
    score, text, fits, weight = columns[0], columns[1].astype(int), columns[2] > 0, columns[3]
    for one, cost in ((fits, FREQUENT), (~fits, ALARM * FREQUENT)):
        weight[one] *= cost / max(weight[one].sum(), 1e-6)
    return Trials(score, text, fits, weight)


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
        texts: of the kinds "caption", "word", "unknown", "nonsense" and perhaps "translated".
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
    shift = mean[:, SHIFTING] @ fit[1:-1]
    shift[-1] += fit[-1]
    knows = mean[:, KNOWING] @ known[1:3]
    knows[-1] += known[3]
    made = MatchProbability(max(float(fit[0]), 0.0), shift, np.concatenate([known[:1], knows]))
    kept, refused = map(float, np.mean(rates, 0))
    return made, kept, refused


SHIFTING, KNOWING = [0, 2, 3], [0, 1]
"""The probes that a match depends on, and those that being known depends on."""


def _probes(texts: QueryTexts, half: int) -> np.ndarray:
    """[D + 1, 4]: words against captions; captions and words against the rest; the typical score
    of a word's matching images; and the log share of images that have it."""
    own = texts.half == half
    seen = own & texts.of(*KNOWN_KINDS)
    typical, share = (own & np.isfinite(values) for values in (texts.typical, texts.share))
    return np.stack(
        [
            _separate(texts.vectors[seen], texts.of("word", "translated")[seen], 3.0),
            _separate(texts.vectors[own], texts.of(*KNOWN_KINDS)[own], 10.0),
            _predict(texts, texts.typical, typical),
            _predict(texts, texts.share, share),
        ],
        1,
    )


def _separate(vectors: np.ndarray, positive: np.ndarray, penalty: float) -> np.ndarray:
    """Linear function [D + 1] close to 1 for positives and −1 for others, both sides weighted
    equally."""
    weight = np.where(positive, 1 / max(positive.sum(), 1), 1 / max((~positive).sum(), 1))
    return _ridge(vectors, np.where(positive, 1.0, -1.0), weight, penalty)


def _predict(texts: QueryTexts, values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Linear function [D + 1] close to the values of texts; frequent words have more weight."""
    weight = np.exp(texts.share[chosen])
    usual = float(np.average(values[chosen], weights=weight))
    found = _ridge(texts.vectors[chosen], values[chosen] - usual, weight, PENALTY)
    found[-1] += usual
    return found


def _ridge(
    vectors: np.ndarray, target: np.ndarray, weight: np.ndarray, penalty: float
) -> np.ndarray:
    """Ridge regression: a linear function [D + 1] close to a target.

    Args:
        vectors: [n, D].
        target: [n].
        weight: [n], of any sum.
        penalty: relative to a mean weight of 1.
    """
    design = np.concatenate([vectors, np.ones((len(vectors), 1))], 1)
    weighted = design * (weight * len(weight) / weight.sum())[:, None]
    square = weighted.T @ design + penalty * np.eye(design.shape[1])
    return np.asarray(np.linalg.solve(square, weighted.T @ target))


def _coefficients(
    texts: QueryTexts, trials: Trials, like: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of being known (nearness, probes, 1) and of matching (score, probes, 1)."""
    design = np.concatenate([texts.near[:, None], like[:, KNOWING]], 1)[chosen]
    sizes = {kind: (texts.kind[chosen] == kind).sum() for kind in np.unique(texts.kind)}
    weight = np.array([1 / sizes[kind] for kind in texts.kind[chosen]])
    is_known = texts.of(*KNOWN_KINDS)[chosen]
    for one in (is_known, ~is_known):
        weight[one] /= weight[one].sum()
    known = regress(design, is_known, weight)
    own = trials.where(chosen[trials.text])
    offset = -np.logaddexp(0, -(given_known(texts, like, known)[own.text]))
    return known, regress(_features(own, like), own.fits, own.weight, offset)


def _features(trials: Trials, like: np.ndarray) -> np.ndarray:
    return np.concatenate([trials.score[:, None], like[trials.text][:, SHIFTING]], 1)


def given_known(texts: QueryTexts, like: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Log-odds [Q] that a text is known.

    Args:
        texts: Q query texts.
        like: [Q, 4], what the probes say of the texts.
        known: coefficients [4] of nearness, the probes of words and of sense, and 1.
    """
    return np.asarray(texts.near * known[0] + like[:, KNOWING] @ known[1:3] + known[3])


def _log_odds(
    trials: Trials, texts: QueryTexts, like: np.ndarray, known: np.ndarray, fit: np.ndarray
) -> np.ndarray:
    offset = -np.logaddexp(0, -given_known(texts, like, known)[trials.text])
    return np.asarray(_features(trials, like) @ fit[:-1] + fit[-1] + offset)


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
